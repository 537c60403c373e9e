# The app of test-jobs.R: handlers of jobs, which leave marks and stand at gates.

library(drover)

app <- dr_app()

sys.source(Sys.getenv("GATES"), globalenv())

dr_get(app, "/text", function(req) "text")

# says which job it is, and what it was sent
dr_job(app, "/echo/<name>", function(req) {
  note("ran", req$job$id)
  list(name = req$params$name, job = req$job$id, attempt = req$job$attempt, body = req$body, cookie = req$headers$cookie,
    type = req$headers$`content-type`)
}, max_body = "20MB")

# stands at the gate of its name
dr_job(app, "/held/<name>", function(req) {
  name <- req$params$name
  note(paste0("begun-", name), Sys.getpid())
  on.exit(note("left", name))
  dr_progress(1, 2, "half")
  stand_at(name)
  note("ended", name)
  list(pid = Sys.getpid(), attempt = req$job$attempt)
})

# the same, one at a time
dr_job(app, "/single/<name>", function(req) {
  stand_at(req$params$name)
  "done"
}, at_once = 1)

# fails until its last attempt
dr_job(app, "/flaky", function(req) {
  if (req$job$attempt < 3) stop("a secret")
  "at last"
}, retries = 2, backoff = 0.05)
dr_job(app, "/fails", function(req) stop("a secret"))
dr_job(app, "/refuses", function(req) dr_abort(422, "no such column"), retries = 9)
dr_job(app, "/slow", function(req) {
  on.exit(note("left", "slow"))
  repeat sqrt(2)
}, timeout = 0.3)
dr_job(app, "/kills", function(req) {
  note("killed", req$job$id)
  tools::pskill(Sys.getpid(), tools::SIGKILL)
})
dr_job(app, "/typed", function(n) list(twice = 2 * n), params = list(n = dr_int(min = 1)))
dr_job(app, "/long", function(req) as.raw(rep_len(0:255, 6e6)))
dr_job(app, "/file", function(req) {
  file <- tempfile(fileext = ".csv")
  writeLines(c("a,b", "1,2"), file)
  dr_file(file)
})
dr_job(app, "/stream", function(req) {
  dr_stream(function(state, cancelled) {
    state <- state + 1
    list(chunk = if (state <= 3) paste0("piece ", state, "\n"), state = state, done = state == 3)
  }, state = 0)
})
dr_job(app, "/nothing", function(req) NULL)
dr_job(app, "/unserialisable", function(req) list(a = globalenv()))

# has another one run
dr_post(app, "/asks/<name>", function(req) {
  dr_enqueue(paste0("/echo/", req$params$name), json = list(x = 1), key = req$query$key)
})
dr_job(app, "/first/<name>", function(req) dr_enqueue(paste0("/echo/", req$params$name)))

# for clients with a token
guarded <- dr_app()
dr_job(guarded, "/job", function(req) req$auth$user)
dr_auth_bearer(guarded, c(ann = "the-token-of-ann-is-long"))
dr_mount(app, "/guarded", guarded)
keyed <- dr_app()
dr_job(keyed, "/job", function(req) list(user = req$auth$user, key = req$headers[["x-key"]]))
dr_auth_key(keyed, c(bob = "the-key-of-bob-is-long-too"), header = "X-Key")
dr_mount(app, "/keyed", keyed)

app
