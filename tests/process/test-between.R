# R that is busy with no request: a callback that a request, or nobody, has left behind.

between_app <- function() {
  write_app(c(
    "app <- dr_app()",
    "dr_get(app, '/leave/:name', function(req) {",
    "  name <- req$params$name", "  later::later(function() stand_at(name))", "  Sys.getpid()",
    # loading 'later' may take long
    "}, timeout = 600)",
    "dr_get(app, '/pid', function(req) Sys.getpid())", "app"
  ))
}

test("requests do not wait for R that is busy with no request while another worker is free", function() {
  server <- serve(between_app(), workers = "2-2", timeout = 600)
  wait_for_workers(server, 2)
  for (name in c("one", "two")) {
    busy <- ask(server, paste0("/leave/", name))$body
    expect(marked(server, name), "no callback")
    # it was the one that was asked last, so that it would be the next one, too
    pids <- vapply(1:5, function(i) ask(server, "/pid")$body, "")
    expect(!busy %in% pids && length(unique(pids)) == 1L, "they were answered by ", toString(pids))
    open_gate(server, name)
  }
})

test("another worker is started where none is free", function() {
  server <- serve(between_app(), workers = "1-2", timeout = 600)
  busy <- ask(server, "/leave/one")$body
  expect(marked(server, "one"), "no callback")
  pid <- ask(server, "/pid")$body
  expect(nzchar(pid) && pid != busy, "it was answered by ", pid)
})

test("a callback that does not return ends with its worker, once a request has waited in vain", function() {
  server <- serve(between_app(), workers = "1-1", timeout = 0.5, kill_after = 0.5)
  ask_begun(server, "/leave/one")
  expect(marked(server, "one"), "no callback")
  expect(ask(server, "/pid")$status == "503", "it was answered")
  expect(within(function() ask(server, "/pid")$status == "200"), "nobody answers")
  expect(logged(server, "a callback, such as one of later\\(\\), did not return"), "the log does not say why")
})

test("a worker sleeps once what was due has been called", function() {
  server <- serve(write_app(c(
    "app <- dr_app()",
    "dr_on_worker_start(app, function() later::later(function() note('called', Sys.getpid()), 0.2))",
    "dr_get(app, '/pid', function(req) Sys.getpid())", "app"
  )), workers = 2)
  pids <- wait_for_workers(server, 2)
  expect(within(function() setequal(note_lines(server, "called"), pids)), "not called: ", toString(pids))
  used <- function() sum(vapply(pids, function(pid) process_stat(pid)$cpu, 0))
  before <- used()
  let_pass(1.5)
  # two that look again and again use three seconds; that it is less on a busy machine can only hide it
  expect(used() - before < 0.5, "they have used ", used() - before, " s of processor time")
})
