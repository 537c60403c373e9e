# Routes whose handlers take several requests at a time. The engine hands a worker what waits for the route at once,
# src/rust/crates/dispatch/src/dispatcher/batches.rs; the first of them is the request that the worker runs, the others
# are answered beside it, as promises are. Neighbours: typed-values.R (what the handler gets), worker-loop.R.

#' Handlers that take several requests at a time
#'
#' Makes the argument `batch` of [dr_post()] and its like: a worker that becomes free takes all requests that wait for
#' the route, up to `max_size`, and calls the handler once for all of them. For what costs little more for many rows
#' than for one, such as [predict()]. A request that finds a worker free is a batch of its own: none waits for others,
#' unless `max_wait` says so.
#'
#' Where the route has `body = ` a [dr_object()] or [dr_schema()], the handler gets a data frame with a row for each
#' request, in the order in which they came; with another `body`, a list of its values; without, a list of requests. It
#' returns as many: a vector or a list with an element for each, or a data frame with a row for each. What is returned
#' for a request is answered as a handler of one request would have returned it.
#'
#' When the handler fails, it is called again for each request alone, so that one bad row fails alone: it should do
#' nothing but compute. When it returns another number of values, all get 500, and the log has one line.
#'
#' Each request has its own deadline, id and lines in logs. One that is over, or whose client has left, before the batch
#' begins is not in it. The handler is interrupted at the deadline of the first; the others are answered with 503 then.
#' It is not interrupted when clients leave.
#'
#' Middleware ([dr_use()]) and [dr_session()] are called with one request, so they may not be around such a route: mount
#' an app of its own beside them. What the server does without R, as [dr_auth_bearer()] and [dr_rate_limit()], is done
#' for each request.
#'
#' @param max_size Most requests at a time: a whole number from 1 to 1000.
#' @param max_bytes Most bytes of all together, with their headers, or a string as `"1MB"`. The first may have more.
#' @param max_wait How long the first request of a batch waits for others, until there are `max_size`, in seconds or a
#'   string such as `"5ms"`: 60 s at most, to the millisecond. For several workers and few requests, where batches would
#'   be small otherwise: each request may take that much longer.
#' @returns A list of class `dr_batch`.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @examples
#' model <- glm(am ~ wt + hp, data = mtcars, family = binomial)
#' app <- dr_app()
#' dr_post(app, "/predict", function(rows) predict(model, rows, type = "response"),
#'   body = dr_schema(wt = dr_dbl(), hp = dr_dbl()), batch = dr_batch(max_size = 64)
#' )
#' app
#' @export
dr_batch <- function(max_size = 32L, max_bytes = "8MB", max_wait = 0) {
  call <- sys.call()
  if (!is_whole(max_size) || max_size < 1 || max_size > 1000) {
    stop_argument("max_size", "a whole number from 1 to 1000", max_size, call)
  }
  max_bytes <- as_bytes(max_bytes)
  check_size(max_bytes, "max_bytes", 1, call = call)
  max_wait <- as_seconds(max_wait)
  check_seconds_or_none(max_wait, "max_wait", call = call)
  if (max_wait > 60) stop_argument("max_wait", "at most 60 seconds", max_wait, call)
  structure(class = "dr_batch", list(
    max_size = as.numeric(max_size), max_bytes = min(as.numeric(max_bytes), 2^40), max_wait = as.numeric(max_wait)
  ))
}

# Of the arguments of dr_get(), when there is a batch.
check_batch <- function(handler, more, call) {
  if (!inherits(more$batch, "dr_batch")) stop_argument("batch", "NULL or what dr_batch() returns", more$batch, call)
  check_takes(handler, "handler", 1L, "one argument, the batch", call = call)
  if (identical(more$on_client_gone, "interrupt")) {
    problem <- "`on_client_gone` must not be \"interrupt\" with a `batch`: others are in it, too"
    stop_drover("argument", problem, call = call, argument = "on_client_gone")
  }
}

# The handler of a batch as one of the request that the worker runs; the others are taken along and answered here.
batched_handler <- function(route) {
  handler <- route$handler
  values <- batch_values(route)
  has_params <- length(route$param_names) > 0L
  most <- route$batch$max_size - 1
  run <- function(read) batch_parts(handler(values$whole(read)), length(read))
  function(req) {
    first <- values$one(req)
    along <- .Call(C_worker_take_along, most)
    if (!length(along)) return(run(list(first))[[1L]])
    others <- batch_answers(along)
    # a batch that does not come to its end
    on.exit(others$refuse(503L))
    read <- vector("list", length(along))
    others$each(seq_along(along), function(i) {
      if (has_params) .Call(C_worker_params, along[[i]])
      read[i] <<- list(values$one(along[[i]]))
    })
    waiting <- others$open()
    parts <- tryCatch(run(c(list(first), read[waiting])), error = function(condition) {
      if (inherits(condition, "drover_error_batch")) {
        others$refuse(500L)
        stop(condition)
      }
      text <- "a batch of %d failed, and is run one by one: %s"
      log_line("warn", sprintf(text, length(waiting) + 1L, describe_condition(condition)), request = TRUE)
      NULL
    })
    part <- function(i) if (is.null(parts)) run(read[i])[[1L]] else parts[[match(i, waiting) + 1L]]
    others$each(waiting, function(i) others$send(i, part(i)))
    if (is.null(parts)) run(list(first))[[1L]] else parts[[1L]]
  }
}

# What the handler gets: `one` is a function of a request, `whole` one of what that has given for each.
batch_values <- function(route) {
  if (is.null(route$body)) return(list(one = identity, whole = identity))
  r <- route$body$schema$r
  kinds <- vapply(r$fields, `[[`, "", "kind")
  if (r$kind == "object" && route$body$content_type == "application/json" && all(kinds %in% column_kinds)) {
    # a column at a time
    none <- if ("default" %in% names(r)) plain_default(r)
    one <- function(req) if (length(bytes <- req$raw)) body_as_lists(bytes) else none
    return(list(one = one, whole = frame_reader(r)))
  }
  list(one = body_getter(route$body), whole = if (r$kind == "object") rows_of else identity)
}

# The answers to requests that were taken along, each of which is to be given once.
batch_answers <- function(reqs) {
  waits <- rep(TRUE, length(reqs))
  number <- .Call(C_worker_state)[[3L]]
  send <- function(i, response) {
    waits[[i]] <<- FALSE
    .Call(C_worker_settle, attr(reqs[[i]], "cell"), response)
  }
  # Calls act(i) for each of `which`; one for which that fails is answered so. Handlers are set up once for all that go
  # well.
  each <- function(which, act) {
    n <- 0L
    repeat {
      failed <- tryCatch(
        withCallingHandlers(error = note_trace, while (n < length(which)) {
          n <- n + 1L
          act(which[[n]])
        }),
        error = identity
      )
      if (is.null(failed)) return(invisible())
      i <- which[[n]]
      on_error <- engine$on_error[[number]]
      send(i, failure_response(failed, take_trace(), on_error, reqs[[i]], attr(reqs[[i]], "cell")))
    }
  }
  list(
    each = each, send = send, open = function() which(waits),
    # answers those that have no answer yet
    refuse = function(status) for (i in which(waits)) send(i, problem_of(status, "", list()))
  )
}

# Lists of values by name as rows of a data frame. What is not there is missing.
rows_of <- function(values) {
  names <- unique(unlist(lapply(values, names)))
  columns <- lapply(with_names(names, names), function(name) {
    cells <- lapply(values, `[[`, name)
    is_single <- vapply(cells, function(cell) is.null(cell) || is.atomic(cell) && length(cell) == 1L, NA)
    if (!all(is_single)) return(cells)
    cells[vapply(cells, is.null, NA)] <- NA
    do.call(c, cells)
  })
  structure(columns, class = "data.frame", row.names = .set_row_names(length(values)))
}

# What a handler has returned for each of `n` requests.
batch_parts <- function(result, n) {
  if (is.data.frame(result)) {
    if (nrow(result) == n) return(lapply(seq_len(n), function(i) lapply(result, `[[`, i)))
    given <- count_of(nrow(result), "row")
  } else {
    is_vector <- is.atomic(result) && !is.null(result) || is.list(result) && !is.object(result)
    if (is_vector && length(result) == n) {
      return(if (is.object(result)) lapply(seq_len(n), function(i) result[[i]]) else as.list(unname(result)))
    }
    given <- if (is_vector) count_of(length(result), "value") else describe(result)
  }
  problem <- sprintf("the handler of a batch of %d must return %s, not %s", n, count_of(n, "value"), given)
  stop_drover("batch", problem, call = NULL)
}
