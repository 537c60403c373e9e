# Values that all workers of a server see. The engine has them, src/rust/crates/shared_state; here is what R makes of
# them. Not for what runs in this process: state.R.

#' State that all workers share
#'
#' Counters, flags and other small values that all workers of a server see at once: what `<<-` cannot be, as each worker
#' has variables of its own. The server has them in memory. They outlive workers and reloads, and end with the server;
#' what must outlive that belongs into a database.
#'
#' @param name Which state, a string. All that ask for the same name have the same values; packages take their own.
#' @returns A list of class `dr_state` with these functions. `key` is a string of UTF-8, of at most 1024 bytes together
#'   with `name`; `ttl` is the lifetime of a value in seconds, or a string as `"10m"`, and `NULL` for no end.
#'
#'   | | |
#'   |---|---|
#'   | `get(key, default = NULL)` | the value, or `default` when there is none |
#'   | `set(key, value, ttl = NULL)` | sets it |
#'   | `add(key, by = 1, ttl = NULL)` | adds to a number and gives the sum; `ttl` is for a new one, which was 0 |
#'   | `cas(key, expected, new, ttl = NULL)` | sets `new` if the value is `expected`; says whether it was |
#'   | `update(key, fn, default = NULL, ttl = NULL)` | sets `fn(value)`, and gives it |
#'   | `delete(key)` | deletes it, and says whether it was there |
#'   | `keys()` | the keys that there are, sorted |
#'
#'   `cas()` and `update()` lose nothing that another worker does meanwhile, nor does `add()`. What `cas()` expects is
#'   compared by [identical()]; a value that is not there counts as `NULL`. `update()` calls `fn` again when another
#'   worker has changed the value, so `fn` should do nothing else. Both keep the lifetime of a value unless `ttl` is
#'   given.
#'
#' @section Values: A single number is kept as such. Other values are copied as by [serialize()], so that they come back
#'   as they were, with types, names and classes: vectors, lists, data frames, `NULL`. Functions, environments, formulas
#'   and external pointers are refused: they would take along what they can see, or nothing.
#' @section Bounds: [dr_limits()] has `max_state`, `max_state_entries` and `max_state_value`. What does not fit is an
#'   error, and what is there stays: only values whose `ttl` is over make room.
#' @section Where it works: In handlers, hooks, callbacks, tasks and at the top of an app's file, in every way of
#'   starting. In a session without a server it is the session's own.
#' @section Errors: `drover_error_argument` when an argument is not as described, or a value may not be kept;
#'   `drover_error_full` when there is no room; `drover_error_system` when the system has no memory.
#' @seealso [dr_limits()]
#' @examples
#' state <- dr_state("visits")
#' state$add("hits")
#' state$set("maintenance", TRUE, ttl = "10m")
#' state$get("maintenance", default = FALSE)
#' state$update("last", function(last) c(list(Sys.Date()), last[seq_len(min(9L, length(last)))]))
#' state$cas("owner", NULL, "worker 1")
#' state$keys()
#' for (key in state$keys()) state$delete(key)
#' @export
dr_state <- function(name) {
  if (!is_string(name) || !validUTF8(name) || !nzchar(name) || nchar(name, "bytes") > 256L) {
    if (is_string(name)) name <- charToRaw(name)
    stop_argument("name", "a string of UTF-8 with 1 to 256 bytes", name, sys.call())
  }
  name <- enc2utf8(name)
  structure(class = "dr_state", list(
    get = function(key, default = NULL) {
      value <- read_state(name, key, sys.call())
      if (value$version) value$value else default
    },
    set = function(key, value, ttl = NULL) {
      state_set(name, key, value, ttl %||% Inf, -1, sys.call())
      invisible(value)
    },
    add = function(key, by = 1, ttl = NULL) {
      call <- sys.call()
      if (!is.numeric(by) || length(by) != 1L || is.object(by)) stop_argument("by", "a single number", by, call)
      state_result(.Call(C_shared_state_add, name, key, by, lifetime(ttl %||% Inf, call)), call)
    },
    cas = function(key, expected, new, ttl = NULL) {
      call <- sys.call()
      repeat {
        is <- read_state(name, key, call)
        if (!identical(is$value, expected)) return(FALSE)
        if (state_set(name, key, new, ttl, is$version, call)) return(TRUE)
      }
    },
    update = function(key, fn, default = NULL, ttl = NULL) {
      call <- sys.call()
      check_takes(fn, "fn", 1L, "one argument, the value", call = call)
      repeat {
        is <- read_state(name, key, call)
        new <- fn(if (is$version) is$value else default)
        if (state_set(name, key, new, ttl, is$version, call)) return(new)
      }
    },
    delete = function(key) state_result(.Call(C_shared_state_delete, name, key), sys.call()),
    keys = function() sort(state_result(.Call(C_shared_state_keys, name), sys.call()), method = "radix")
  ))
}

#' @export
print.dr_state <- function(x, ...) {
  cat("<dr_state> of ", count_of(length(x$keys()), "value"), "\n", sep = "")
  invisible(x)
}

# Whether it was set. `ttl` NULL: the lifetime stays; `version`: only if it is this one, see drv_call_state_set().
state_set <- function(name, key, value, ttl, version, call) {
  is_number <- length(value) == 1L && is.null(attributes(value)) && (is.double(value) || is.integer(value))
  if (!is_number) {
    found <- not_data(value)
    if (!is.null(found)) {
      stop_drover("argument", sprintf(
        "`value` must be data, as vectors, lists and data frames are: it has %s", describe(found)
      ), call = call, argument = "value")
    }
    value <- serialize(value, NULL, xdr = FALSE, version = 2L)
  }
  state_result(.Call(C_shared_state_set, name, key, value, lifetime(ttl, call), version), call)
}

# In seconds; negative for that of the value before.
lifetime <- function(ttl, call) {
  if (is.null(ttl)) return(-1)
  if (identical(ttl, Inf)) return(ttl)
  seconds <- as_seconds(ttl)
  check_seconds(seconds, "ttl", call = call)
  seconds
}

# The first part of a value that is no data, or NULL.
not_data <- function(value) {
  if (is.list(value)) {
    for (part in unclass(value)) {
      found <- not_data(part)
      if (!is.null(found)) return(found)
    }
  } else if (!is.null(value) && !is.atomic(value) || isS4(value)) {
    return(value)
  }
  if (!is.null(attributes(value))) not_data(unname(attributes(value)))
}

# What the engine has: list(value, version), 0 for none.
read_state <- function(name, key, call) {
  both <- .Call(C_shared_state_get, name, key)
  if (is.character(both[[2L]])) state_result(both, call)
  value <- both[[1L]]
  list(value = if (is.raw(value)) unserialize(value) else value, version = both[[2L]])
}

# What the engine says, unless it is an error.
state_result <- function(result, call) {
  if (!is.list(result)) return(result)
  what <- c("argument", "full", "system")[[result[[1L]]]]
  stop_drover(what, result[[2L]], call = call, argument = if (what == "argument") "key")
}
