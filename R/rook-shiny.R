# Apps of Shiny, as apps of httpuv: what shiny::runApp() does before it listens, done in each worker, and what it does
# in a loop afterwards, done when something of the app has run. Functions of Shiny do all of it; none is copied here.
# Neighbours: load-shiny.R, which finds such apps in files; rook-app.R and rook-websocket.R, which serve them;
# rook-shiny-paths.R, what workers tell each other.

# What is called of Shiny that it does not export; another version may lack some of it.
shiny_internals <- c(
  ".globals", "applyCapturedAppOptions", "callAppHook", "clearCurrentAppState", "createAppHandlers", "createUniqueId",
  "flushPendingSessions", "flushReact", "handlerManager", "initCurrentAppState", "isRunning", "scheduleTask",
  "setShowcaseDefault", "timerCallbacks", "workerId"
)

# `x` is a shiny.appobj.
shiny_app <- function(x) {
  check_shiny()
  fetch_shiny()
  state <- new.env(parent = emptyenv())
  state$folder <- paths_folder()
  # what the session has told Shiny, of which a process that is given the app knows nothing
  state$known <- known_paths()
  # folders of this process that have been asked for
  state$resources <- list()
  httpuv_app <- shiny_for_httpuv(x, state)
  # Shiny reads bodies as bytes
  app <- catch_all(rook_handler(httpuv_app, reads_text = FALSE))
  app$usual <- function() list(on_client_gone = "finish", max_body = shiny_max_body(), is_of_shiny = TRUE)
  app$further_statics <- function(prefix) {
    # Debian's package has links in it to files of others
    list(list(mount = paste0(prefix, "/shared"), dir = system.file("www", "shared", package = "shiny"), links = TRUE))
  }
  app <- with_websockets(app, httpuv_app, is_session = TRUE)
  dr_on_worker_start(app, function() begin_shiny(x, state))
  dr_on_worker_stop(app, function() end_shiny(x, state))
  dr_on_stop(app, function() unlink(state$folder, recursive = TRUE))
  app
}

check_shiny <- function() {
  if (!is_installed("shiny")) {
    stop_load("it is an app of Shiny, and the package 'shiny' is not installed: install.packages(\"shiny\")")
  }
  missing <- shiny_internals[!vapply(shiny_internals, exists, NA, envir = asNamespace("shiny"), inherits = FALSE)]
  if (!length(missing)) return(invisible())
  stop_load(
    "it is an app of Shiny, and drover does not know version ", format(utils::packageVersion("shiny")),
    " of that package, which has no ", and_list(paste0(missing, "()")), ": 1.7.4 is known to work"
  )
}

# Has all of Shiny, and of what it uses, in memory before there are workers: each visitor's would otherwise fetch it for
# itself, which takes time and memory that they can share. Collected twice, it is among what R takes to live long, and
# does not write to in most of its collections.
fetch_shiny <- function() {
  used <- setdiff(names(getNamespaceImports("shiny")), c("", "base"))
  for (package in c("shiny", used)) fetch_package(package)
}

# As runApp() does: server.R and the like call functions of Shiny without its name.
attach_shiny <- function() suppressPackageStartupMessages(library("shiny", character.only = TRUE))

# Shiny's limit for uploads: bytes, Inf for any.
shiny_max_body <- function() {
  most <- getOption("shiny.maxRequestSize", 5 * 1024^2)
  if (most <= 0) Inf else most
}

# What Shiny gives httpuv, with the steps of its loop behind each call.
shiny_for_httpuv <- function(x, state) {
  secret <- getOption("shiny.sharedSecret")
  options <- list(
    html_charset = "utf-8", headers = list("X-UA-Compatible" = "IE=edge,chrome=1"),
    validation = if (!is.null(secret)) c("==", "Shiny-Shared-Secret", secret) else character()
  )
  list(
    onHeaders = function(env) state$inner$onHeaders(env),
    call = function(env) {
      take_path(state, env$PATH_INFO)
      # its client does not wait for it
      on.exit(wake_shiny(state, 0))
      resource_answer(env, state, options) %||% state$inner$call(env)
    },
    onWSOpen = function(ws) {
      let_reconnect(ws)
      name_session(ws)
      on.exit(wake_shiny(state, 0))
      state$inner$onWSOpen(ws)
      # after Shiny's own: each message has its effect before the next one is read
      ws$onMessage(function(binary, message) run_shiny(state))
      ws$onClose(function() run_shiny(state))
      NULL
    },
    staticPaths = c(x$staticPaths, list(session = list(path = "", options = list(exclude = TRUE)))),
    staticPathOptions = options
  )
}

# The first message of Shiny tells the client the token of its session, which is in the paths of uploads and downloads:
# the server brings these to the worker that has the session.
name_session <- function(ws) {
  send <- ws$send
  ws$send <- function(message) {
    ws$send <- send
    token <- regmatches(message, regexec("\"sessionId\":\"([0-9a-f]+)\"", message))[[1L]]
    if (length(token)) ws$name <- token[[2L]]
    send(message)
  }
}

# session$allowReconnect(TRUE) has a page connect again by itself if its socket is that of one of Shiny's own hosts. A
# plain socket can do the same here: "force" says so.
let_reconnect <- function(ws) {
  send <- ws$send
  ws$send <- function(message) {
    is_said <- is.character(message) && identical(as.vector(message), "{\"allowReconnect\":true}")
    send(if (is_said) "{\"allowReconnect\":\"force\"}" else message)
  }
}

# In a worker, before its first request: what runApp() does before it listens.
begin_shiny <- function(x, state) {
  attach_shiny()
  shiny <- asNamespace("shiny")
  if (shiny$isRunning()) {
    stop("another app of Shiny runs in this process: Shiny has one at a time, so serve each by a server of its own")
  }
  # made of the system's randomness: tokens of forks, which have it from one process, would be the same
  assign("ownSeed", fresh_seed(), envir = shiny$.globals)
  .Call(C_rest_lightly)
  options(pool.scheduler = shiny$scheduleTask)
  # messages of errors are for the log
  if (is.null(getOption("shiny.sanitize.errors"))) options(shiny.sanitize.errors = !is_debugging())
  shiny$initCurrentAppState(x)
  shiny::shinyOptions(appToken = shiny$createUniqueId(8), testmode = getOption("shiny.testmode", FALSE))
  shiny$applyCapturedAppOptions(x$appOptions)
  shiny$workerId("")
  shiny$setShowcaseDefault(as.numeric(identical(x$options$display.mode, "showcase")))
  assign("IncludeWWW", TRUE, envir = shiny$.globals)
  assign("stopped", FALSE, envir = shiny$.globals)
  if (!is.null(x$onStart)) x$onStart()
  handlers <- shiny$createAppHandlers(x$httpHandler, x$serverFuncSource)
  shiny$handlerManager$addHandler(handlers$http, "/", tail = TRUE)
  shiny$handlerManager$addWSHandler(handlers$ws, "/", tail = TRUE)
  state$inner <- shiny$handlerManager$createHttpuvApp()
  # Shiny tells its server so of a folder that is added while the app runs
  shiny::shinyOptions(server = list(setStaticPath = function(..., .list = NULL) give_paths(state, c(list(...), .list))))
  for (prefix in setdiff(names(state$known), names(known_paths()))) add_path(prefix, state$known[[prefix]])
  give_paths(state, known_paths())
  shiny$callAppHook("onAppStart", NULL)
  engine$after_callbacks <- function() run_shiny(state)
  wake_shiny(state, 0)
}

# What .Random.seed is with R's usual generators, of the system's randomness throughout: set.seed() leaves 2^32 of them.
fresh_seed <- function() {
  device <- file("/dev/urandom", "rb", raw = TRUE)
  on.exit(close(device))
  # the kinds: Mersenne Twister, inversion and rejection; how many words are used up; the words
  c(10403L, 624L, readBin(device, "integer", 624L))
}

# At the end of a worker, in the reverse order.
end_shiny <- function(x, state) {
  shiny <- asNamespace("shiny")
  engine$after_callbacks <- NULL
  if (!is.null(state$cancel)) state$cancel()
  shiny$callAppHook("onAppStop", NULL)
  if (!is.null(x$onStop)) x$onStop()
  shiny$.globals$onStopCallbacks$invoke()
  shiny$handlerManager$clear()
  shiny$clearCurrentAppState()
}

# One turn of Shiny's loop: timers that are due, what depends on what has changed, and what sessions are sent of it.
run_shiny <- function(state) {
  shiny <- asNamespace("shiny")
  tryCatch(
    {
      shiny$timerCallbacks$executeElapsed()
      shiny$flushReact()
      shiny$flushPendingSessions()
    },
    error = function(error) log_line("error", paste("Shiny failed:", describe_condition(error)))
  )
  if (isTRUE(shiny$.globals$stopped)) {
    assign("stopped", FALSE, envir = shiny$.globals)
    log_line("warn", "stopApp() was called: it ends no server of drover, which goes on; session$close() ends a session")
  }
  due <- shiny$timerCallbacks$timeToNextEvent() / 1000
  if (is.finite(due)) wake_shiny(state, max(due, 0))
}

# Has Shiny's loop turn after `seconds` at the latest. One callback at a time.
wake_shiny <- function(state, seconds) {
  at <- elapsed() + seconds
  if (!is.null(state$cancel)) {
    if (state$at <= at) return(invisible())
    state$cancel()
  }
  state$at <- at
  state$cancel <- later::later(function() {
    state$cancel <- NULL
    run_shiny(state)
  }, seconds)
  invisible()
}
