# Starting a server in this session. Not for what the engine does (serve-session.R calls it), nor for what an app
# becomes (app-compile.R). Neighbours: settings-serve.R, settings-groups.R (the arguments), serve-processes.R (worker
# processes), serve-control.R (stopping and asking), serve-file.R (an app in a file).

#' Serve an app over HTTP
#'
#' Starts a server. At the console it returns, and the server runs beside the prompt until [dr_stop()] or the end of the
#' session. In a script, `Rscript app.R`, it serves until it is stopped; `block` says otherwise. Connections, HTTP,
#' routing and files are handled by threads of the engine.
#'
#' Sizes are in bytes and times in seconds, or strings with a unit: `"10MB"`, `"128kB"` (of 1000 bytes), `"1GiB"`,
#' `"64k"` (of 1024 bytes), and `"500ms"`, `"30s"`, `"2m"`, `"1h"`, `"1d"`.
#'
#' With `workers = 1` handlers run in the main thread of the session, one after the other, whenever it is idle, or
#' inside `dr_serve(block = TRUE)`; callbacks of the packages 'later' and 'promises' run in between.
#'
#' With more workers handlers run in processes of their own, as many at a time as there are workers, and the session is
#' free. The processes are forks of the session as it is when `dr_serve()` is called: they have its variables and
#' packages, and large ones are in memory once. What a handler changes, it changes in its own process. [dr_reload()]
#' makes new workers of the session as it is then.
#'
#' When this session serves already, the app replaces the one before: the port stays open, requests in flight are
#' answered first, and no request fails; so a file may be changed and sourced again. With other settings than before,
#' and in place of a server of [dr_run()], the server stops and starts again, and a message says so. Registrations in an
#' app that is served take effect with [dr_reload()] or another `dr_serve()`.
#'
#' When the server listens, a message says where: `drover listening on http://127.0.0.1:8080 (...)`.
#'
#' The order of a start: checks of all arguments, [dr_on_start()] hooks, `on_worker_start`, listening. When any of them
#' fails, the server does not start, and after a start hook has run the [dr_on_stop()] hooks run as well.
#'
#' While it blocks, Ctrl-C, SIGTERM and SIGQUIT stop the server as [dr_stop()] does, SIGHUP does what [dr_reload()] does
#' (that of a terminal that was closed stops the server), and SIGUSR1 opens log files again. After Ctrl-C or a signal
#' has stopped the server, a script goes on, and ends when it waits for something, such as in `repeat later::run_now()`.
#'
#' @param app An app, see [dr_app()]; or a router of the package 'plumber', or an app of Shiny, httpuv, Rook or
#'   Rserve, see [dr_rook()].
#' @param port The TCP port of addresses without one: a single integer in 0..65535; 0 takes a free one, which [dr_url()]
#'   tells.
#' @param threads Number of engine threads for connections: a single integer >= 1. One serves tens of thousands of
#'   requests per second.
#' @param workers Where handlers run. 1: in this session. A larger integer: in this many worker processes. Two integers,
#'   `c(min, max)`: in worker processes, more of them while requests wait, fewer when they are unused. `"auto"`: in
#'   one for each processor that this session may use, and in more while requests wait and handlers do, for a database
#'   or another server, instead of computing: up to `max_workers` of [dr_pool()]. At most 1024.
#' @param on_worker_start,on_worker_stop Functions without arguments, or `NULL`, that each worker calls before its first
#'   request and at its end; see [dr_on_worker_start()]. With `workers = 1` this session is the worker.
#' @param max_queue How many requests may wait for handlers or run in them; further ones get 503. Clients take turns,
#'   by address; when it is full, the one with most in it is refused first.
#' @param cpp_workers Number of threads for C handlers that are not inline ([dr_get_cpp()]): a single integer >= 1. With
#'   worker processes, each has this many. They are started when such a handler is first called.
#' @param upload_path A folder in which the server makes one of its own for bodies above `spool_above` and temporary
#'   files of R processes that it starts, and removes what servers that were killed have left there: a single string, or
#'   `NULL` for that of temporary files. It is created when missing.
#' @param ... Arguments of [dr_limits()], [dr_timeouts()] and [dr_pool()], for one release: a message says where they
#'   belong. What follows is given by name.
#' @param host The addresses to listen on: a character vector. The default is reached from this machine only;
#'   `"0.0.0.0"` and `"::"` listen on all interfaces. `"127.0.0.1:8000"` and `"[::1]:8000"` have a port of their own.
#'   `"unix:/run/app.sock"` is a socket in the file system, whose file is removed when the server ends;
#'   `"unix:/run/app.sock?mode=0666"` sets its permissions (0660 otherwise: user and group of the server). [dr_url()]
#'   tells the first.
#' @param block `TRUE` to serve until [dr_stop()] is called by a handler or hook or Ctrl-C is pressed, and only then
#'   return; `FALSE` to return at once. By default `TRUE` in a script, and `FALSE` at the console.
#' @param debug `TRUE` to send messages and tracebacks of errors to clients. Not for production.
#' @param log Where log lines go: `"stderr"`, `"none"`, or the path of a file, to which they are appended. At an R
#'   console R writes what goes to `"stderr"`, so that RStudio and Jupyter show it.
#' @param access_log Where a line is written for each request, the same as `log`; by default nowhere.
#' @param log_format How they are written: `"text"`, for people, or `"json"`, an object of JSON on each line, for
#'   programs. With `"json"`, what worker processes print is in the log, too, with the request that printed it.
#' @param log_level Least level of lines that are written: `"debug"`, `"info"`, `"warn"` or `"error"`. See [dr_log()].
#' @param access_log_format How: `"combined"`, which the tools for logs of web servers read, or `"json"`, an object of
#'   JSON on each line, with times in seconds.
#' @param otlp_endpoint The address of a collector of OpenTelemetry that spans of requests are sent to, as
#'   `"http://127.0.0.1:4318"`. `NULL`: the variable `OTEL_EXPORTER_OTLP_ENDPOINT` says so; without it, none are sent.
#' @param keep_failed How many requests that ended in a 500, a 502 or a timeout are kept in memory, for [dr_failed()]
#'   and [dr_replay()], and for `drover failed` and `drover replay`. 0: none. Values of credentials are replaced before.
#' @param keep_failed_size How much memory these may take, in bytes, or a string such as `"8MB"`; the oldest go first,
#'   and bodies above a quarter of it are left out.
#' @param keep_failed_age How long they are kept, in seconds, or a string such as `"1h"`.
#' @param keep_failed_redact What else is replaced: a character vector of names, which are meant wherever they are names
#'   of header fields, of fields of queries and forms, or of members of JSON; and of paths of JSON such as
#'   `"$.card.number"` or `"$.cards[*].number"`. Always replaced are `Authorization`, `Cookie`, `password`, `token` and
#'   the like.
#' @param jobs_store The path of a file where jobs ([dr_job()]) are kept, so that they outlive the server: it is made
#'   where it is not there, and one server at a time has it. `NULL`: they are kept in memory, and end with the server.
#' @param jobs_at_once How many jobs run at once: a whole number; 0 for one fewer than there are workers, and one where
#'   there is one.
#' @param max_jobs How many jobs may be accepted and not over; further ones are answered with 503.
#' @param max_jobs_size How much all jobs may take, with their requests and what has come of them, in bytes, or a string
#'   such as `"4GB"`; as long as they take more, further ones are answered with 503.
#' @param case_sensitive `TRUE` to tell upper and lower case in paths apart.
#' @param errors What the bodies of errors are that the server makes, those of [dr_abort()] among them. `"json"`:
#'   problem details (RFC 9457). `"text"`: a line of text. `"auto"`: JSON for clients whose `Accept` names JSON, text
#'   for those that name other types only; for those that take anything JSON when they send JSON, or when the app's last
#'   answer was JSON.
#' @param health `TRUE` to answer `/livez`, which says that the server runs, and `/readyz`, which says whether more
#'   requests should come: 200, or 503 with the reason when it is told to end, no worker is ready, or the queue is full.
#'   They are answered before the app, however busy R is.
#' @param metrics `TRUE` to count requests, times, connections and workers, and to tell the figures at `/metrics`, as
#'   OpenMetrics, or in the text format of Prometheus: before the app is asked, for whoever reaches the server, or,
#'   where there is `admin`, there only.
#' @param docs Which clients get the description of the app, see [dr_openapi()], at `/openapi.json` and `/openapi.yaml`,
#'   and the page of documentation at `/__docs__/`. The app's own answers at these paths take precedence, and policies
#'   that cover the paths, such as [dr_auth_basic()], apply. `TRUE`: all clients. `FALSE`: none. `"auto"`: clients on
#'   this machine, if `host` has addresses of this machine only and the server knows of no proxy before it
#'   (`trusted_proxies`, `proxy_protocol`, header fields that proxies add); and all clients of `admin`.
#' @param admin Another address, written as those of `host` are, for whoever runs the server: the dashboard,
#'   `/__drover__/`, `/livez`, `/readyz`, with `metrics`, `/metrics`, and what `docs` says are answered there, and
#'   nothing of the app is, also when there are as many connections as there may be. It is in cleartext, and not in the
#'   access log. `NULL`: there is none.
#' @param admin_token The path of a file with a token, of at least 16 characters in its first line, or `sha256:` and the
#'   hash of one: with the token, an operator may reload the app and replace workers on the dashboard. `NULL`: neither
#'   is possible.
#' @param agent_check An address, or a port of this machine, where balancers ask how much the server can take, as
#'   HAProxy does with `agent-check`: a single string. They get a line, `up ready 75%` for a queue that is 75 % free,
#'   `up drain` when the server is told to end, or `down`. `NULL`: there is none.
#' @param allowed_hosts Hosts that requests may be for, as their `Host` says: a character vector of names such as
#'   `"example.com"`, of `"*.example.com"` for all names that end so, or `"*"` for all. Numbers (`127.0.0.1`, `[::1]`),
#'   `localhost`, names that end in `.localhost` and the name of the machine are always allowed. Other requests get 421:
#'   otherwise a page of another site, whose owner points its name to this server, can have the browser of a user with
#'   access to the server read the server's answers. `NULL`: all, but for `drover dev`, which answers those of the
#'   machine.
#' @param trusted_proxies Proxies whose forwarding headers are trusted: a character vector of networks such as
#'   `"10.0.0.0/8"`, of addresses, and `"unix"` for those that connect through a unix socket. For their requests, the
#'   address of the client, the scheme and the host are those of `X-Forwarded-For`, `-Proto`, `-Host` and `-Port`, read
#'   from the right: for handlers, logs and limits. `NULL`: no proxy is trusted.
#' @param forwarded_fields What these proxies write: `"x-forwarded"` for those fields, `"forwarded"` for `Forwarded`
#'   (RFC 7239). The other kind is not read, as clients can send it through a proxy that does not know it.
#' @param base_path The path that the app is below for its clients, such as `"/app"`, where a proxy passes it on: a
#'   single string of letters, digits, `-`, `.`, `_`, `~` and slashes. Routes, policies and `req$path` are without it;
#'   `req$base_path`, redirects and cookies of the server, the description by OpenAPI and `SCRIPT_NAME` have it.
#'   Requests for other paths get 404, but for `/livez`, `/readyz` and `/metrics` where clients get them. `NULL`: none.
#' @param base_path_field The header field in which `trusted_proxies` say what they have taken off the path, such as
#'   `"X-Forwarded-Prefix"` or `"X-Script-Name"`: a single string. It has a path, or a URL whose path counts, and stands
#'   before `base_path`. `NULL`: no field is read.
#' @param underscores_in_headers What becomes of header fields with `_` in their names, such as `api_key`, which
#'   programs that name fields as `HTTP_API_KEY` take for `api-key`. `"refuse"`: the request gets 400. `"drop"`:
#'   handlers do not get them. `"allow"`: they do, but for those whose name with `-` is there as well, or is one of
#'   proxies or of HTTP itself, such as `x_forwarded_for`. `NULL`: they are dropped from what comes through a proxy
#'   (`trusted_proxies`, `proxy_protocol`, header fields that proxies add), which may have removed or set such a
#'   field, and allowed otherwise.
#' @param proxy_protocol Balancers that begin each connection with a header of PROXY protocol, version 1 or 2: networks
#'   as for `trusted_proxies`. From them the header is required, and names the address of the client; from others it is
#'   not read. `NULL`: there are none.
#' @param compress Whether to compress responses for clients that accept it, as `dr_compress(app)` does: see
#'   [dr_compress()] for what is compressed, and for apps and paths that are to have it otherwise. `FALSE` leaves it to
#'   the app, or to a proxy.
#' @param decompress `TRUE` to unpack compressed bodies of requests, as `dr_decompress(app)` does: see
#'   [dr_decompress()].
#' @param response_headers Header fields of all responses that have none of their name: a character vector such as
#'   `"Access-Control-Allow-Origin: *"`. Handlers' responses get them, files, and what the engine answers by itself,
#'   such as 404, 413 and 504, which no filter or middleware sees.
#' @param plumber How endpoints of routers of the package 'plumber' are answered. `"fast"`: those that are simple
#'   without its steps, which gives the same answers. `"full"`: all with them. `"verify"`: simple ones both ways, so
#'   handlers run twice; clients get plumber's answer, and the log says where the other one differs. `drover check`
#'   tells which are simple.
#' @param affinity Which of several worker processes has the requests of a client. `"none"`: any that is free.
#'   `"cookie"`: the one that had its first, by a cookie that names it (`drover-worker`), for apps that keep what they
#'   know of a visitor in variables of R; when that worker has ended, another. `"auto"`: by a cookie for apps of httpuv
#'   with WebSockets, which belong to the worker that took them, and any for all others.
#' @param on_client_gone What becomes of a handler in R when its client goes while it runs. `"finish"`: it runs to its
#'   end, or to its `timeout`. `"interrupt"`: it is interrupted as by Ctrl-C, and its `on.exit()` runs. `NULL`: handlers
#'   of GET and HEAD requests, which should change nothing, are interrupted, all others finish, and so do those of
#'   routers of 'plumber' and of apps of httpuv, Rook and Rserve, as they do there. A request that still waits when its
#'   client goes is dropped in any case. Routes may have another, see [dr_get()]. Handlers in C are told,
#'   and decide for themselves.
#' @param limits Limits of sizes and numbers: see [dr_limits()].
#' @param timeouts Limits of times: see [dr_timeouts()].
#' @param pool How worker processes start, and when they are replaced: see [dr_pool()].
#' @param tls Certificates and keys, for `https://`: see [dr_tls()] and, for development, [dr_tls_self_signed()].
#'   `NULL`: connections are in cleartext, as those by a socket in the file system always are.
#' @returns `NULL`, invisibly.
#' @section Errors:
#' * `drover_error_argument` when an argument is not as described, or a folder of [dr_static()] does not exist.
#' * `drover_error_running` in a handler.
#' * `drover_error_hook` when a start hook or `on_worker_start` fails; the field `parent` is their error, unless it was
#'   in a worker process: then the error is also of class `drover_error_worker`.
#' * `drover_error_system` when the system lacks something: memory, descriptors, processes.
#' * `drover_error_listen` when the address cannot be listened on, most often because the port is in use.
#'
#' An app without routes, static mounts and not-found handler gives a warning: it answers everything with 404.
#' @seealso [dr_run()] for an app in a file, [dr_stop()], [dr_reload()], [dr_status()], [dr_url()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/", function(req) "Hello")
#'
#' dr_serve(app, port = 0, block = FALSE)
#' dr_url()
#' dr_stop()
#'
#' dr_serve(
#'   app, port = 0, workers = 2, block = FALSE,
#'   timeouts = dr_timeouts(timeout = "10s"), limits = dr_limits(max_body = "2MB")
#' )
#' dr_status()
#' dr_stop()
#' @export
dr_serve <- function(app, port = 8080L, threads = 1L, workers = 1L, on_worker_start = NULL, max_queue = 1024L,
                     cpp_workers = 4L, upload_path = NULL, ..., host = "127.0.0.1", block = !interactive(),
                     debug = FALSE, log = "stderr", log_format = c("text", "json"),
                     log_level = c("info", "debug", "warn", "error"),
                     access_log = "none", access_log_format = c("combined", "json"), otlp_endpoint = NULL,
                     keep_failed = 0L, keep_failed_size = 8388608, keep_failed_age = 86400, keep_failed_redact = NULL,
                     jobs_store = NULL, jobs_at_once = 0L, max_jobs = 100000L, max_jobs_size = 1073741824,
                     case_sensitive = FALSE, errors = c("auto", "json", "text"),
                     health = FALSE, metrics = FALSE, docs = "auto", admin = NULL, admin_token = NULL,
                     agent_check = NULL, allowed_hosts = NULL, trusted_proxies = NULL,
                     forwarded_fields = c("x-forwarded", "forwarded"), base_path = NULL, base_path_field = NULL,
                     underscores_in_headers = NULL,
                     proxy_protocol = NULL, compress = TRUE, decompress = FALSE, response_headers = NULL,
                     plumber = c("fast", "full", "verify"), affinity = c("auto", "none", "cookie"),
                     on_client_gone = NULL,
                     on_worker_stop = NULL, limits = dr_limits(), timeouts = dr_timeouts(), pool = dr_pool(),
                     tls = NULL) {
  call <- sys.call()
  app <- as_app(app, call = call)
  old <- old_settings(..., call = call, fun = sys.function())
  given <- serving_arguments(environment(), old, call)
  if (is_loading()) return(register_app(app, on_worker_start, on_worker_stop, names(match.call())))
  check_loaded_app_has_workers(given$workers, call)
  end_testing()
  if (can_replace()) {
    if (!serves_file() && same_settings(given)) {
      replace_app(app, given, compile_app(app, call), on_worker_start, on_worker_stop, call)
      go_on(block, function() message("drover: ", server$url, " has the app as it is now"))
      return(invisible())
    }
    message("drover: ", if (serves_file()) {
      "the server of dr_run() stops, and one for this app starts"
    } else {
      "the settings are others: the server stops and starts again"
    })
    dr_stop()
  }
  check_nothing_runs(call)

  compiled <- compile_app(app, call)
  if (!length(compiled$handlers) && !length(compiled$natives) && !length(compiled$static)) {
    warning("`app` has no routes: every request will get 404")
  }
  config <- c(prepare_settings(given$settings), list(limits = given$limits))

  server$app <- app
  server$given <- given
  server$config <- config
  server$apps <- app_tree(app)
  server$graceful_timeout <- given$limits$graceful_timeout
  # at a console, the user looks at plots
  if (!interactive()) server$options <- options(device = null_device)
  hooks <- worker_hooks(app, on_worker_start, on_worker_stop)
  started <- FALSE
  on.exit(if (!started) end_serving())
  for (one in server$apps) {
    for (hook in one$on_start) run_start_hook(hook, "start hook", call)
  }
  if (identical(given$workers, 1L)) {
    server$worker_stop <- rev(hooks$stop)
    for (hook in hooks$start) run_start_hook(hook, "on_worker_start", call)
    listening <- engine_start(config, compiled)
  } else {
    listening <- serve_by_processes(app, config, given$pool, compiled, on_worker_start, on_worker_stop, call)
  }
  started <- TRUE
  server$places <- listening
  server$url <- listening$url
  app$port <- listening$port
  for (one in server$apps) one$serving <- TRUE
  go_on(block, function() announce(given$settings, threads, given$workers, compiled$counts, block))
  invisible()
}

check_nothing_runs <- function(call) {
  if (in_process()) {
    stop_drover("running", "this is a process of a server: it cannot start another one", call = call)
  }
  # server$graceful_timeout is also there while the start hooks of another dr_serve() run
  if (engine_running() || !is.null(server$graceful_timeout)) {
    again <- if (serves_file()) ", or dr_reload() to read its file again"
    stop_drover(
      "running", paste0("a server is already running in this session: call dr_stop() first", again), call = call
    )
  }
}

# `counts`: how many there are of what, by name.
announce <- function(settings, threads, workers, counts, block) {
  shown <- c(
    bound = bound_to(settings$host),
    server$places$apart,
    threads = as.integer(threads), workers = workers_text(workers),
    vapply(counts, format, "", scientific = FALSE)
  )
  message(sprintf(
    "drover listening on %s (%s)%s", and_list(server$places$urls), paste0(names(shown), "=", shown, collapse = ", "),
    if (block && isatty(stderr())) "; Ctrl-C stops" else ""
  ))
}

# An app in a file may be loaded when it is asked for. This one is there.
check_loaded_app_has_workers <- function(workers, call) {
  if (workers[[1L]] > 0L) return(invisible())
  right <- "a single integer in 1..1024, or two, c(min, max) with 1 <= min <= max, or \"auto\""
  stop_argument("workers", right, workers, call)
}

# As people gave it, from what as_workers() has made of it.
workers_text <- function(workers) {
  if (workers[[length(workers)]] == 0L) "auto" else paste(unique(as.integer(workers)), collapse = "-")
}

# What is bound, where that is more than the URLs say.
bound_to <- function(host) {
  all <- grepl("^(0[.]0[.]0[.]0|::|\\[::\\])(:[0-9]+)?$", host)
  if (!any(all)) return(NULL)
  ports <- port_of_url(server$places$urls[all])
  paste0(ifelse(grepl("::", host[all], fixed = TRUE), "[::]", "0.0.0.0"), ":", ports, collapse = ", ")
}
