# Processes of visitors: an app of Shiny forks a worker for each session, beside those for pages.

serve_visitors <- function(...) serve(shiny_file, ...)

# A page with the process that computes for it, as `pid`.
visit <- function(server, name, ...) {
  page <- shiny_page(server, c("pid", "greeting"), name = name, ...)
  page$pid <- as.integer(output_of(page, "pid"))
  becomes(page, "greeting", paste0("Hello, ", name, "!"))
  page
}

pids_of <- function(pages) vapply(pages, function(page) page$pid, 0L)

visits <- function(server, n) lapply(seq_len(n), function(i) visit(server, paste0("visitor", i)))

greets <- function(page, name) {
  set_inputs(page, name = name)
  becomes(page, "greeting", paste0("Hello, ", name, "!"))
}

test("each visitor has a process, which ends with the visitor, and two are free beside these", function() {
  needs_shiny()
  server <- serve_visitors(workers = "1-3", max_workers = 20)
  first <- wait_for_workers(server, 2)
  pages <- visits(server, 5)
  pids <- pids_of(pages)
  expect(!anyDuplicated(pids), "two visitors have one process: ", toString(pids))
  expect(any(pids %in% first), "none was ready before its visitor")
  # those that a crowd has called for stay for a while
  expect(within(function() length(workers(server)) %in% 7:8), "other workers: ", toString(workers(server)))
  ws_leave(pages[[1L]])
  expect(within(function() !pids[[1L]] %in% workers(server)), "its process goes on without a visitor")
  expect(noted_line(server, "^ended visitor1$"), "the session does not end")
  next_one <- visit(server, "next")
  expect(!next_one$pid %in% pids, "a visitor has what another has left")
  for (page in pages[-1L]) greets(page, "still there")
  for (page in c(pages[-1L], list(next_one))) ws_leave(page)
  expect(within(function() length(workers(server)) <= 3L && !any(pids %in% workers(server))), "processes are left")
})

test("a visitor who computes for long holds up neither other visitors nor pages", function() {
  needs_shiny()
  server <- serve_visitors(workers = "1-3", max_workers = 20)
  pages <- visits(server, 3)
  set_inputs(pages[[1L]], busy = "gate")
  expect(marked(server, "gate"), "it does not compute")
  for (page in pages[-1L]) greets(page, "meanwhile")
  expect(ask(server, "/")$status == "200", "no page")
  last <- visit(server, "another")
  expect(!last$pid %in% pids_of(pages), "two visitors have one process")
  open_all_gates(server)
  greets(pages[[1L]], "again")
})

test("a process that is killed ends the session of its visitor, and of no other", function() {
  needs_shiny()
  server <- serve_visitors(workers = "1-3", max_workers = 20)
  pages <- visits(server, 3)
  send_signal(pages[[2L]]$pid, tools::SIGKILL)
  expect(identical(ws_code(pages[[2L]]), 1012), "another code")
  for (page in pages[-2L]) greets(page, "still there")
  expect(download(server, pages[[2L]])$status == "404", "a session that is lost")
  back <- visit(server, "back")
  expect(!back$pid %in% pids_of(pages), "it is with another visitor")
})

test("above max_workers visitors share processes, and pages have one without visitors", function() {
  needs_shiny()
  server <- serve_visitors(workers = "1-2", max_workers = 4)
  pages <- visits(server, 8)
  expect(length(unique(pids_of(pages))) == 3L, "not in three processes: ", toString(pids_of(pages)))
  expect(all(table(pids_of(pages)) %in% 2:3), "they are not spread: ", toString(table(pids_of(pages))))
  expect(length(workers(server)) == 4L, "there are ", length(workers(server)), " workers")
  for (pid in unique(pids_of(pages))) {
    set_inputs(pages[[match(pid, pids_of(pages))]], busy = paste0("gate", pid))
    expect(marked(server, paste0("gate", pid)), "it does not compute")
  }
  expect(ask(server, "/")$status == "200", "visitors hold up pages")
  open_all_gates(server)
  for (page in pages) greets(page, "after all")
})

test("several sessions for a worker fill it before the next, and with one worker or by themselves all are shared", function() {
  needs_shiny()
  server <- serve_visitors(workers = "1-3", max_workers = 20, sessions_per_worker = 2)
  expect(identical(unname(c(table(pids_of(visits(server, 4))))), c(2L, 2L)), "not two for each")
  server <- serve_visitors(workers = 1)
  expect(length(unique(pids_of(visits(server, 3)))) == 1L, "one worker is not one")
  server <- serve_visitors(workers = 2, start = "spawn")
  expect(length(unique(pids_of(visits(server, 4)))) == 2L, "more processes, which each load the app")
}, ways = 1L)

test("visitors who come and go at once leave nothing behind", function() {
  needs_shiny()
  server <- serve_visitors(workers = "1-3", max_workers = 6)
  for (round in 1:3) {
    pages <- lapply(1:12, function(i) ws(server, "/websocket/"))
    # half of them vanish without a word
    for (i in seq_along(pages)) if (i %% 2L) ws_leave(pages[[i]]) else close(pages[[i]]$con)
    expect(length(workers(server)) <= 7L, "more processes than there may be: ", length(workers(server)))
  }
  expect(within(function() length(workers(server)) <= 3L), "processes are left: ", toString(workers(server)))
  greets(visit(server, "after"), "all is well")
})

test("after a reload ten sessions end on the old code, and others begin on the new, within the bound", function() {
  needs_shiny()
  app <- tempfile("app-", fileext = ".R")
  file.copy(shiny_file, app)
  server <- launch(command_of(app, workers = "1-3", max_workers = 14))
  pages <- visits(server, 10)
  writeLines(sub("Hello, ", "Goodbye, ", readLines(app), fixed = TRUE), app)
  send_signal(server$pid, tools::SIGHUP)
  expect(logged(server, "generation 2 serves"), "it is not reloaded")
  for (page in pages) greets(page, "there again")
  new <- lapply(1:3, function(i) shiny_page(server, c("pid", "greeting"), name = "Grace"))
  for (page in new) becomes(page, "greeting", "Goodbye, Grace!")
  expect(length(workers(server)) <= 15L, "more processes than there may be: ", length(workers(server)))
  expect(all(pids_of(pages) %in% workers(server)), "a session from before has lost its process")
  for (page in pages) close(page$con)
  expect(within(function() !any(pids_of(pages) %in% workers(server))), "old processes are left")
  expect(within(function() length(zygotes(server)) == 1L), "the old zygote is left")
  for (page in new) {
    set_inputs(page, name = "all")
    becomes(page, "greeting", "Goodbye, all!")
  }
}, ways = 1)

test_every_way("a session whose visitor does nothing ends, whatever its app sends", function(start) {
  needs_shiny()
  server <- start(shiny_file, session_idle_timeout = 1)
  # the app goes on telling it the time
  idle <- shiny_page(server, "ticks", name = "Ada")
  expect(ws_code(idle) == 1001, "another code")
  expect(noted_line(server, "^ended Ada$"), "it is not told: ", toString(notes(server)))
})

test("drover status and the dashboard list sessions, with the worker that each has", function() {
  needs_shiny()
  server <- serve_visitors(workers = "1-3", max_workers = 20, admin = "127.0.0.1:0")
  pages <- visits(server, 2)
  shown <- run_to_end(c(drover_program(), "status", as.character(server$pid)))$log
  at <- grep("^2 sessions$", shown)
  expect(length(at) == 1L, paste(shown, collapse = "\n"))
  expect(grepl("client +worker +age +idle", shown[[at + 1L]]), shown[[at + 1L]])
  rows <- strsplit(trimws(shown[at + 2:3]), " +")
  expect(all(vapply(rows, `[[`, "", 1L) == "127.0.0.1"), "other clients: ", toString(shown))
  expect(setequal(vapply(rows, `[[`, "", 2L), pids_of(pages)), "other workers: ", toString(shown))
  for (page in pages) greets(page, "again")
  sent <- start_client("curl", c("-sN", "--max-time", "60", paste0(admin_of(server)$url, "/__drover__/events")), stdout = "|")
  on.exit(sent$kill())
  lines <- character()
  expect(within(function() length(grep("^data: ", lines <<- c(lines, sent$read_output_lines()))) > 0L), "no event")
  of_workers <- json(sub("^data: ", "", grep("^data: ", lines, value = TRUE)[[1L]]))$snapshot$workers
  have <- lengths(lapply(of_workers$sessions, unlist)) > 0L
  expect(setequal(of_workers$pid[have], pids_of(pages)), "the dashboard has others: ", toString(of_workers$pid[have]))
  # what a visitor says counts
  sessions <- do.call(rbind, of_workers$sessions[have])
  expect(all(sessions$idle < sessions$age), "they have said nothing: ", deparse1(sessions))
  for (page in pages) ws_leave(page)
  gone <- function() !any(grepl("session", run_to_end(c(drover_program(), "status", as.character(server$pid)))$log))
  expect(within(gone), "they are still listed")
})
