# What a server that was killed has left on disk, and the next one.

# Begins an upload that does not end before end_sockets(), of which the server has a file in the folder.
spool <- function(server, folder) {
  before <- length(files_in(folder))
  con <- socketConnection("127.0.0.1", server$port, open = "r+b", blocking = TRUE, timeout = 30)
  open_sockets[[length(open_sockets) + 1L]] <<- list(con = con)
  head <- "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n"
  writeBin(c(charToRaw(head), raw(800e3)), con)
  expect(within(function() length(files_in(folder)) > before), "nothing is spooled")
}

left_in <- function(folder) list.files(folder, recursive = TRUE, all.files = TRUE, include.dirs = TRUE, no.. = TRUE)

for (way in c("drover serve", "dr_serve(workers = 1L)", "dr_serve(workers = 2L)")) local({
  way <- way
  test(paste("what a killed server has left goes with the next, what one has that lives stays:", way), function() {
    folder <- tempfile("uploads-")
    start <- function() {
      if (way == "drover serve") return(serve(workers = 1, upload_path = folder, body_timeout = 600, min_body_rate = 0))
      serve_session(sprintf("serve(%s, upload_path = %s, body_timeout = 600, min_body_rate = 0)",
        sub("dr_serve\\((.*)\\)", "\\1", way), deparse(folder)))
    }
    killed <- start()
    modes <- file.info(c(folder, list.files(folder, full.names = TRUE)))$mode
    expect(length(modes) == 2L && all(modes == as.octmode("700")), "the folder is for others, too: ", toString(modes))
    spool(killed, folder)
    dead <- left_in(folder)
    alive <- start()
    spool(alive, folder)
    expect(all(dead %in% left_in(folder)), "what a living server has is removed")
    send_signal(killed$pid, tools::SIGKILL)
    exit_status(killed)
    # its processes hold its folder as long as they live
    expect(within(function() !killed$pid %in% unlist(family()[c("pid", "parent")])), "it lives")
    mine <- setdiff(left_in(folder), dead)
    expect(never(function() !all(dead %in% left_in(folder)), 1), "it was removed by somebody else")
    last <- start()
    expect(!any(dead %in% left_in(folder)), "left: ", toString(intersect(dead, left_in(folder))))
    expect(all(dirname(mine)[dirname(mine) != "."] %in% left_in(folder)), "what a living server has is removed")
    end_sockets()
    for (server in list(alive, last)) {
      send_signal(server$pid, tools::SIGTERM)
      expect(!is.na(exit_status(server)), "it does not end")
    }
    expect(!length(left_in(folder)), "left: ", toString(left_in(folder)))
  })
})

test("temporary files of R processes that are killed go with their server, or with the next", function() {
  folder <- tempfile("temporary-")
  dir.create(folder)
  begin <- function(...) serve(workers = 1, env = c(TMPDIR = folder), ...)
  sessions <- function() list.files(folder, "^Rtmp", recursive = TRUE, include.dirs = TRUE)
  spawned <- begin(start = "spawn")
  expect(length(sessions()) == 1L, "R has its files elsewhere: ", toString(sessions()))
  first <- sessions()
  send_signal(zygotes(spawned), tools::SIGKILL)
  expect(within(function() length(sessions()) == 1L && sessions() != first), "left: ", toString(sessions()))
  forked <- begin(start = "fork")
  send_signal(zygotes(forked), tools::SIGKILL)
  expect(logged(forked, "the zygote is there again"), "no other zygote")
  for (server in list(spawned, forked)) send_signal(server$pid, tools::SIGKILL)
  for (server in list(spawned, forked)) exit_status(server)
  expect(within(function() !nrow(family())), "they live")
  expect(length(sessions()) > 1L, "nothing is left")
  last <- begin()
  expect(length(sessions()) == 1L, "left: ", toString(sessions()))
  send_signal(last$pid, tools::SIGTERM)
  expect(exit_status(last) == 0L, "another status")
  expect(!length(list.files(folder)), "left: ", toString(list.files(folder)))
}, ways = 1)

test("a session that ends without dr_stop() leaves nothing", function() {
  temporary <- tempfile("tmp-")
  dir.create(temporary)
  server <- launch(c(file.path(R.home("bin"), "Rscript"), "--vanilla", write_app(c(
    "app <- dr_app()", "dr_get(app, '/', function(req) 'x')", "dr_serve(app, port = 0L, block = FALSE)",
    "quit('no', 3L)"
  ))), env = c(TMPDIR = temporary), ready = NULL)
  expect(identical(exit_status(server), 3L), "another exit status")
  expect(!length(list.files(temporary)), "left: ", toString(list.files(temporary)))
})
