# Settings in groups: the functions that make one, and how dr_serve() and dr_run() take them. What each may be says the
# table (settings-table.R), and what those may be that are no group's says settings-serve.R.

#' Limits of sizes and numbers
#'
#' Makes the argument `limits` of [dr_serve()] and [dr_run()]: how large requests may be, and how much may be open at a
#' time. What is above a limit is refused before R sees it.
#'
#' Sizes are in bytes, or strings with a unit: `"10MB"`, `"128kB"` (of 1000 bytes), `"1GiB"`, `"64k"` (of 1024 bytes).
#'
#' @param ... Must be empty: arguments are given by name.
#' @param max_body Longest body, in bytes; a longer one gets 413.
#' @param spool_above Bodies and files longer than this, in bytes, wait in a temporary file instead of in memory.
#' @param max_request_line Longest request line, in bytes; a longer one gets 414.
#' @param max_header_field,max_header_size Longest header field and longest header section, in bytes; longer ones get
#'   431.
#' @param max_headers Most header fields of a request; more get 431.
#' @param max_parts,max_fields Most parts of a multipart body, and most fields of a form or a query; more get 400.
#' @param max_json_depth Deepest nesting of a JSON body; a deeper one gets 400.
#' @param max_collisions Most different strings of one request that fall into one bucket of R's string cache beyond what
#'   chance brings about; more, which only an attack brings about, get 400.
#' @param max_connections Most connections at a time; further ones wait.
#' @param max_connections_per_address Most connections from one address at a time, or from one network of IPv6 (/64);
#'   further ones are closed at once. 0 for no limit. Those of `trusted_proxies` have none, as they are those of many.
#' @param max_async Most promises under way in a worker: handlers that have returned one and not answered yet. A worker
#'   with this many is given no requests until one of them has been settled; requests wait, or go to other workers. At
#'   most 2000.
#' @param max_streams Most HTTP/2 streams of a connection at a time.
#' @param max_state,max_state_entries,max_state_value How much memory the values of [dr_state()] may take, in bytes, how
#'   many there may be, and how long each may be, in bytes. What does not fit is an error where it is set.
#' @returns A list of class `dr_limits`, with sizes in bytes.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_timeouts()], [dr_pool()]
#' @examples
#' dr_limits(max_body = "10MB", max_parts = 20)
#' @export
dr_limits <- function(..., max_body = 1048576, spool_above = 131072, max_request_line = 65534L,
                      max_header_field = 65536L, max_header_size = 81920L, max_headers = 100L, max_parts = 100L,
                      max_fields = 1000L, max_json_depth = 64L, max_collisions = 2L, max_connections = 10000L,
                      max_connections_per_address = 0L, max_async = 1000L, max_streams = 100L,
                      max_state = 16777216, max_state_entries = 10000L, max_state_value = 65536L) {
  call <- sys.call()
  check_dots_empty(..., call = call)
  structure(make_group("limits", environment(), call), given = if (!missing(max_body)) "max_body")
}

#' Limits of times
#'
#' Makes the argument `timeouts` of [dr_serve()] and [dr_run()]: how long clients, handlers and connections may take.
#'
#' Times are in seconds, or strings with a unit: `"500ms"`, `"30s"`, `"2m"`, `"1h"`, `"1d"`.
#'
#' @param ... Must be empty: arguments are given by name.
#' @param timeout Longest time from the arrival of a request to its answer, in seconds; then it gets 504, or 503 when
#'   its handler has not begun. 0 for never. Routes may have another, see [dr_get()].
#' @param queue_timeout Longest time that a request waits for R, in seconds; then it gets 503. 0, the default, for as
#'   long as its `timeout`.
#' @param session_idle_timeout Longest time that the visitor of an app of Shiny does nothing, in seconds; then the
#'   session ends, as when the page is closed. What the app sends by itself does not count. 0 for never.
#' @param kill_after How long after its interrupt a handler in a worker process may go on, in seconds, before the
#'   process is killed. Handlers are interrupted when `timeout` is over, and as `on_client_gone` says.
#' @param drain_delay How long the server goes on as before when it is told to end, in seconds. Only `/readyz` says so
#'   meanwhile, see `health` of [dr_serve()], so that a balancer that asks for it sends no more requests.
#' @param graceful_timeout How long [dr_stop()] waits for requests in flight, in seconds; 0 does not wait.
#' @param keep_alive Longest idle time between two requests of a connection, in seconds.
#' @param header_timeout From the first byte of a request to the end of its header section, in seconds.
#' @param body_timeout Longest pause within a body, in seconds.
#' @param min_body_rate Slowest body in bytes per second, over each span of `body_timeout` seconds; 0 allows any.
#' @param write_timeout Longest time without progress while a response is sent, in seconds.
#' @returns A list of class `dr_timeouts`, with times in seconds.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_limits()], [dr_pool()]
#' @examples
#' dr_timeouts(timeout = "2m", keep_alive = 15)
#' @export
dr_timeouts <- function(..., timeout = 30, queue_timeout = 0, session_idle_timeout = 0, kill_after = 2,
                        drain_delay = 0, graceful_timeout = 30, keep_alive = 75, header_timeout = 10,
                        body_timeout = 15, min_body_rate = 500, write_timeout = 30) {
  call <- sys.call()
  check_dots_empty(..., call = call)
  make_group("timeouts", environment(), call)
}

#' Worker processes: how they start, and when they are replaced
#'
#' Makes the argument `pool` of [dr_serve()] and [dr_run()]. How many there are is their argument `workers`.
#'
#' @param ... Must be empty: arguments are given by name.
#' @param start How worker processes come about. `"fork"`: as forks, within milliseconds and sharing memory. `"spawn"`:
#'   as fresh R processes, for what does not survive a fork, such as threads of other packages or a GPU. Those of
#'   [dr_serve()] get copies of the app, of the variables in the global environment and the packages that are attached;
#'   those of [dr_run()] load the file each. Memory is not shared. `"auto"`: as forks, unless the file of [dr_run()]
#'   has opened connections, children or threads, which forks must not share: then each worker loads the file, and a
#'   line of the log names what was found. Forks, also those of a session, cannot use what was opened before them.
#' @param pools How many workers there are for routes that name a pool, see `pool` of [dr_get()]: numbers by name, as
#'   `workers` of [dr_serve()] has them, such as `list(gpu = 1, fits = c(0, 2))`; or lines of text such as
#'   `"gpu=1,max_rss=8GB"`, with another `max_rss` than the other workers have. A pool of which nothing is said has one
#'   worker. Their workers come beside those of `workers`; the settings here hold for them, too.
#' @param sessions_per_worker How many sessions of an app of Shiny one worker has, a single whole number. Beside the
#'   workers for pages, workers are forked as visitors come, and each ends when its visitors have gone. `0` for no such
#'   workers: then all sessions are spread over `workers`, as they are with `workers = 1` and with `start = "spawn"`.
#' @param max_workers Most workers, those for sessions and those of `workers = "auto"` among them, a single whole number
#'   in 0..1024. Further visitors share the workers that have sessions. `0` for as many as the memory allows that is
#'   free when the server starts: one for each 128 MB, at most 200.
#' @param express Whether short requests pass long ones, `TRUE` or `FALSE`. Short are those whose handlers take 10 ms at
#'   most, or at most a sixteenth of what the longest take, up to 100 ms. Short and long requests that wait take turns;
#'   when all workers have been at theirs for 50 ms, one more is forked for short ones, which ends when it has not been
#'   needed for `max_age`. With `workers = 1`, and where workers are not forks, they only take turns. `FALSE`: all
#'   requests are answered in the order in which they came.
#' @param check_unused How often workers beyond the minimum are looked at, in seconds.
#' @param max_age How long a worker beyond the minimum may be unused, in seconds, before it is ended.
#' @param max_requests Replace a worker after about this many requests, 10 % more or less; 0 for never.
#' @param max_rss Replace a worker whose resident memory exceeds this many bytes; 0 for never.
#' @param max_lifetime Replace a worker after this time, in seconds; 0 for never.
#' @param start_timeout How long the start of a worker process may take, loading the app included, in seconds; 0 for as
#'   long as it likes. The log says every 30 seconds that the app is still on its way.
#' @returns A list of class `dr_pool`, with sizes in bytes and times in seconds.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_limits()], [dr_timeouts()]
#' @examples
#' dr_pool(max_rss = "2GB", max_requests = 10000)
#' @export
dr_pool <- function(..., start = c("auto", "fork", "spawn"), pools = NULL, sessions_per_worker = 1, max_workers = 0,
                    express = TRUE, check_unused = 10, max_age = 300, max_requests = 0, max_rss = 0, max_lifetime = 0,
                    start_timeout = 300) {
  call <- sys.call()
  check_dots_empty(..., call = call)
  pools <- pool_lines(pools, call)
  make_group("pool", environment(), call)
}

# The settings of a group, which are the variables of `frame`.
make_group <- function(group, frame, call) {
  # the number of workers is an argument of dr_serve() itself
  names <- setdiff(settings_of(group), "workers")
  values <- lapply(names, function(name) check_setting(name, frame[[name]], call))
  structure(with_names(values, names), class = c(paste0("dr_", group), "dr_settings"))
}

#' @export
format.dr_settings <- function(x, ...) {
  values <- vapply(unclass(x), format, "", scientific = FALSE, digits = 15L)
  c(paste0("<", class(x)[[1L]], ">"), paste0("  ", format(names(values)), "  ", values))
}

#' @export
print.dr_settings <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
}

# The functions above that make groups, by the names of the groups.
group_makers <- c(limits = "dr_limits", timeouts = "dr_timeouts", pool = "dr_pool")

# The groups as dr_serve() and dr_run() got them, with the settings put in that were arguments of theirs until 0.1.0 and
# still may be: those in `old`, a named list.
settle_groups <- function(groups, old, call) {
  for (group in names(groups)) {
    maker <- group_makers[[group]]
    given <- groups[[group]]
    if (!inherits(given, maker)) stop_argument(group, paste0("what ", maker, "() makes"), given, call)
  }
  table <- settings_table()
  for (name in names(old)) {
    group <- table[name, "Group"]
    groups[[group]][name] <- list(check_setting(name, old[[name]], call))
    attr(groups[[group]], "given") <- union(attr(groups[[group]], "given"), name)
  }
  if (length(old)) tell_moved(names(old), table[names(old), "Group"], called(call))
  lapply(groups, unclass)
}

# Says once for each setting where it is now.
tell_moved <- function(names, groups, what) {
  new <- !names %in% settings$told
  settings$told <- c(settings$told, names[new])
  for (group in unique(groups[new])) {
    moved <- names[new & groups == group]
    given <- paste(moved, "= ...", collapse = ", ")
    message(sprintf(
      "drover: %1$s(%2$s) is deprecated: write %1$s(%3$s = %4$s(%2$s)); the next release does not take the old way",
      if (nzchar(what)) what else "dr_serve", given, group, group_makers[[group]]
    ))
  }
}

# What `...` of dr_serve() and dr_run() holds: settings that have moved into groups, as a named list. Anything else is
# an error.
old_settings <- function(..., call, fun) {
  check_names(call, fun)
  dots <- list(...)
  table <- settings_table()
  moved <- table$Name[table$Group %in% names(group_makers) & table$Name != "workers"]
  wrong <- if (is.null(names(dots))) seq_along(dots) else which(!names(dots) %in% moved)
  if (!length(wrong)) return(dots)
  name <- names(dots)[wrong[[1L]]]
  if (length(name) && nzchar(name)) stop_name(name, c(setdiff(names(formals(fun)), "..."), moved), call)
  stop_drover("argument", "`...` must be empty; it holds an unnamed argument", call = call, argument = "...")
}
