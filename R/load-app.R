# Loading an app from a file, in a process of its own: never in the session that serves it. Neighbours: load-kind.R
# (what the file is), load-plumber.R, worker-zygote.R, serve-file.R.

# list(app, on_worker_start, on_worker_stop) of a file, folder or expression, see find_app(). Code is evaluated in the
# global environment. It finds this package attached: it needs no library(drover). `arguments` are those of the app, in
# a process of its own; NULL in somebody's session, which has its own.
load_file <- function(given, kind = "auto", arguments = NULL) {
  if (!"package:drover" %in% search()) attachNamespace("drover")
  found <- find_app(given, kind)
  loading$file <- found$path %||% "the expression"
  on.exit(end_loading())
  if (!is.null(arguments)) be_started_for(found, arguments)
  if (is.null(found$path) || identical(normalizePath(given), found$path)) return(load_found(found))
  # for a folder or a _server.yml, the message names the file that fails
  withCallingHandlers(load_found(found), drover_error_load = function(error) {
    stop_load(basename(found$path), ": ", conditionMessage(error))
  })
}

# The same, of what find_app() has found.
load_found <- function(found) {
  if (!is.null(found$path)) enter_folder(found$path)
  before <- ls(globalenv(), all.names = TRUE)
  value <- switch(found$kind,
    plumber = load_plumber(found$path), annotations = annotated_app(found$path), shiny = load_shiny(found$path),
    document = load_document(found$path), plumber2 = load_plumber2(found$path),
    rds = load_rds(found$path), expression = load_expression(found$text), load_script(found$path)
  )
  registered <- registered_with(value)
  if (is.null(registered) && found$kind == "script") {
    value <- app_of_script(value, setdiff(ls(globalenv(), all.names = TRUE), before), found$path)
    if (is_fire(value)) registered <- registered_with(value)
  }
  if (!is.null(registered)) return(registered)
  if (!is_servable(value)) {
    hint <- call_it(value, found$text %||% "make_app")
    stop_load("it gives ", describe(value), ", which is no app: it must be ", servable, hint)
  }
  list(app = as_app(value))
}

# What there is to serve when the file is at its end, without looking at what it has made, unless that is its own
# server.
registered_with <- function(value) {
  if (is_fire(value)) ignite(value)
  register_rook()
  register_httpuv(at_end = TRUE)
  loading$registered
}

# From now on commandArgs() is as after `Rscript FILE ARGUMENTS`, or `Rscript -e EXPRESSION ARGUMENTS`: what this
# process was started with is between the package and its program. The path is absolute, as the working directory
# changes.
be_started_for <- function(found, arguments) {
  what <- if (is.null(found$path)) c("-e", found$text) else paste0("--file=", found$path)
  .Call(C_zygote_arguments, c(
    commandArgs()[[1L]], "--no-echo", "--no-restore", what, if (length(arguments)) c("--args", arguments)
  ))
}

# list(own, app): words of the package, and behind "--" those of the app.
split_arguments <- function(words) {
  end <- match("--", words, nomatch = length(words) + 1L)
  list(own = first_of(words, end - 1L), app = words[-seq_len(end)])
}

load_script <- function(file) {
  # an entrypoint expects plumber attached, as for users of plumb()
  if (grepl("^entrypoint[.]r$", basename(file), ignore.case = TRUE) && is_installed("plumber")) attach_plumber()
  evaluate_file(file)
}

# What a script has made: its last value, or else one of the variables that people give apps, or the only app that it
# has. `variables` are those that it has set. A last value that is a function may just be its last helper.
app_of_script <- function(value, variables, file) {
  is_made <- function(x) is_servable(x) || is_fire(x)
  if (is_made(value) && !is.function(value)) return(value)
  variable <- function(name) get0(name, globalenv(), inherits = FALSE)
  for (name in c("app", "pr")) if (is_made(variable(name))) return(variable(name))
  request <- as_rserve_function(variable(".http.request"))
  if (!is.null(request)) return(request)
  is_app <- function(name) inherits(variable(name), c("dr_app", "Fire")) || is_plumber(variable(name))
  made <- Filter(is_app, variables)
  if (length(made) == 1L) return(variable(made))
  if (is_servable(value)) return(value)
  if (length(made)) {
    named <- and_list(paste0("`", made, "`"))
    stop_load("it makes several apps, ", named, ": end it with the one to be served, or call that `app`")
  }
  stop_load(
    "it makes no app: its last value, or its variable `app` or `pr`, must be ", servable, "; or it must call ",
    "dr_serve() or pr_run(), define .http.request(url, query, body, headers), or have annotations of plumber, such as ",
    "#* @get /path. Its last value is ", describe(value), call_it(value),
    misspelt_annotation(file)
  )
}

load_rds <- function(file) {
  tryCatch(readRDS(file), error = function(error) stop_load("it cannot be read: ", conditionMessage(error)))
}

load_expression <- function(text) load_by(eval(str2lang(text), globalenv()))

# What the file names is beside it, wherever the server was started: while it is loaded, and in the workers.
enter_folder <- function(file) {
  tryCatch(setwd(dirname(file)), error = function(error) {
    stop_load("its folder cannot be entered: ", conditionMessage(error))
  })
}

# The file's last value. An error names the line, as far as it is known.
evaluate_file <- function(file) {
  expressions <- parse_file(file)
  starts <- vapply(attr(expressions, "srcref"), `[[`, 0L, 1L)
  calls <- NULL
  below <- sys.nframe()
  value <- NULL
  for (i in seq_along(expressions)) {
    loading$ahead <- expressions[seq(i, length(expressions))]
    loading$line <- starts[[i]]
    value <- until_registered(tryCatch(
      withCallingHandlers(eval(expressions[[i]], globalenv()), warning = function(warning) {
        tell_warning(sprintf("%s, line %d: %s", basename(file), starts[[i]], load_problem(warning)), warning)
      }, error = function(error) {
        stack <- sys.calls()
        first <- which(call_names(stack) == "eval" & seq_along(stack) > below)[2L]
        if (loading$trace) calls <<- load_trace(stack, first, expressions[[i]], basename(file), starts[[i]])
      }),
      error = function(error) {
        stop_load(paste(c(sprintf("line %d: %s", starts[[i]], load_problem(error)), calls), collapse = "\n"))
      }
    ))
    came_from(file, starts[[i]])
    settle_rook(expressions[-seq_len(i)])
    if (!is.null(loading$registered)) break
  }
  value
}

# From now on, as `drover dev` asks for it: files that are sourced keep their lines.
trace_loading <- function() {
  options(keep.source = TRUE)
  loading$trace <- TRUE
}
