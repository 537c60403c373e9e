# The C handlers of tests/handlers, installed once per run, and a server that has all of them.
# Not for registration: test-app-cpp.R needs no server.

handlers_source <- function() {
  folder <- normalizePath(file.path(testthat::test_path(), "..", "handlers"), mustWork = FALSE)
  if (!file.exists(file.path(folder, "DESCRIPTION"))) testthat::skip("tests/handlers is not here")
  folder
}

# A library that has the package; the same for all tests of a run, as far as its runner has a place for what they share.
handlers_library <- local({
  library <- NULL
  function() {
    if (is.null(library)) {
      shared <- getOption("drover.tests.made_once", function(name, make) {
        folder <- tempfile(name)
        dir.create(folder)
        make(folder)
        folder
      })
      library <<- shared("handlers", install_handlers)
    }
    library
  }
})

install_handlers <- function(library) {
  copy <- tempfile("handlers-source-")
  dir.create(copy)
  # a copy, so that nothing is built in the tree
  file.copy(handlers_source(), copy, recursive = TRUE)
  ran <- processx::run(
    file.path(R.home("bin"), "R"), c("CMD", "INSTALL", "--no-test-load", "-l", library, file.path(copy, "handlers")),
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep), MAKEFLAGS = "-j2"),
    error_on_status = FALSE, stderr_to_stdout = TRUE
  )
  if (ran$status != 0L) stop("tests/handlers cannot be installed:\n", ran$stdout)
}

# For the length of a test, packages are found there, by this session and by the servers that it starts.
local_handlers <- function(frame = parent.frame()) withr::local_libpaths(handlers_library(), "prefix", frame)

# The handlers of a kind by name: what handlers.h lists.
handlers_of <- function(kind) {
  header <- readLines(file.path(handlers_source(), "src", "handlers.h"))
  start <- grep(paste0("^#define ", kind, "\\(X\\)"), header)
  end <- start
  while (endsWith(header[[end]], "\\")) end <- end + 1L
  text <- header[start:end]
  found <- regmatches(text, gregexpr("X\\([a-z_]+\\)", text))
  gsub("X\\(|\\)", "", unlist(found))
}

# Lines that make an app of all of them: /NAME on the pool, /inline/NAME where that is possible, by GET and by POST.
cpp_app_lines <- function() {
  drover <- handlers_of("DROVER_HANDLERS")
  unary <- handlers_of("UNARY_HANDLERS")
  streams <- handlers_of("STREAM_HANDLERS")
  vector <- function(names) paste(deparse(names), collapse = " ")
  c(
    "app <- dr_app()",
    "package <- 'drover.handlers'",
    sprintf("for (name in %s) for (register in c(dr_get_cpp, dr_post_cpp)) {", vector(drover)),
    "  register(app, paste0('/', name), package, name)",
    "  register(app, paste0('/inline/', name), package, name, inline = TRUE)",
    "}",
    sprintf("for (name in %s) for (register in c(dr_get_cpp, dr_post_cpp)) {", vector(unary)),
    "  register(app, paste0('/', name), package, name)",
    "  register(app, paste0('/inline/', name), package, name, inline = TRUE)",
    "}",
    sprintf("for (name in %s) dr_get_cpp_stream(app, paste0('/', name), package, name)", vector(streams)),
    "dr_get_cpp_stream(app, '/typed', package, 'old_stream', 'application/x-ndjson')",
    "dr_post_cpp(app, '/echo/:id/<n:int>', package, 'h_echo')",
    "dr_post_cpp(app, '/inline-echo/:id/<n:int>', package, 'h_echo', inline = TRUE)",
    "dr_post_cpp(app, '/old-echo/:id/<n:int>', package, 'old_echo')",
    "dr_get(app, '/r', function(req) 'from R')",
    "dr_get(app, '/r/stand/<name>', function(req) { stand_at(req$params$name); 'stood' })",
    "dr_use(app, function(req, nxt) { message('middleware: ', req$path); nxt() })"
  )
}

# Where handlers run: in the session that serves, or in one worker process of it.
cpp_places <- c("session", "worker process")

# See local_server(). `more`: further lines of the app.
local_cpp_server <- function(place, ..., more = character(), frame = parent.frame()) {
  local_handlers(frame)
  workers <- if (place == "session") 1L else c(1L, 1L)
  local_server(c(cpp_app_lines(), more), workers = workers, ..., frame = frame)
}

# What the functions of the table returned in the last handler that notes it.
codes <- function(server) http_json(server, "/h_codes")$codes
DROVER <- c(ok = 0L, gone = 1L, full = 2L, done = 3L, invalid = 4L)
