# What workers and zygotes do without, and who ends first when memory runs out.

# What a process may do: its fields in /proc.
rights <- function(pid) {
  line <- function(file, name) {
    sub(paste0("^", name, "\\s*"), "", grep(paste0("^", name), read_proc(pid, file), value = TRUE))
  }
  core <- strsplit(line("limits", "Max core file size"), " +")[[1]][1]
  list(no_new_privs = line("status", "NoNewPrivs:"), core = core, oom = as.integer(read_proc(pid, "oom_score_adj")))
}

# Checks the processes of a server whose start is that of `server`; a session's own rights are `own`.
expect_modest <- function(server, own) {
  is_session <- !is.null(own)
  self <- rights(server$pid)
  expect(!is_session || identical(self, own), "the session is changed: ", toString(self))
  expect(is_session || (self$no_new_privs == "1" && self$core %in% c("0", "1")), "the server: ", toString(self))
  others <- setdiff(family()$pid, server$pid)
  expect(length(others) >= 2L, "no processes")
  above <- vapply(others, function(pid) {
    found <- rights(pid)
    expect(found$no_new_privs == "1" && found$core %in% c("0", "1"), "process ", pid, ": ", toString(found))
    found$oom - self$oom
  }, 1L)
  expect(all(above %in% c(300L, 500L)) && any(above == 500L), "oom_score_adj above the server's: ", toString(above))
}

test("processes of the program gain no rights, leave no dumps, and end before it when memory runs out", function() {
  server <- serve(workers = 2)
  wait_for_workers(server, 2)
  expect_modest(server, NULL)
  expect(ask(server, "/segfault")$status == "502", "another status")
  wait_for_workers(server, 2)
  expect_modest(server, NULL)
}, ways = 1)

for (way in c("fork", "spawn")) local({
  way <- way
  test(paste("the same of a session, which is not changed itself:", way), function() {
    server <- serve_session(sprintf("serve(workers = 2L, start = '%s')", way))
    expect_modest(server, rights(Sys.getpid()))
  })
})
