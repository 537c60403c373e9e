# How values become bodies on the fast path of plumber: its serializers that this package has native ones for, told by
# what they are made of. Neighbour: plumber-run.R.

# A function of a value that gives its response, or NULL when only the serializer itself can. Of those that
# src/plain_endpoint.c has, too, the attributes are `native`, its number there, and `type`.
known_serializer <- function(serializer) {
  none <- function(value) NULL
  headers <- if (is.function(serializer)) environment(serializer)$headers
  is_known <- length(headers) == 1L && is_string(headers[["Content-Type"]]) &&
    is_like(serializer, "serializer_content_type", "text/plain")
  if (!is_known) return(none)
  type <- headers[["Content-Type"]]
  write <- environment(serializer)$serialize_fn
  home <- environment(write)
  model <- function(name) environment(get(name, asNamespace("plumber"))())$serialize_fn
  if (identical(body(write), body(model("serializer_json")))) return(json_writer(type, eval(quote(list(...)), home)))
  if (identical(write, identity)) return(text_writer(type))
  is_text <- identical(body(write), body(model("serializer_text"))) && identical(home$serialize_fn, as.character) &&
    eval(quote(...length()), home) == 0L
  if (is_text) text_writer(type) else none
}

# Whether a function is of those that plumber's function of a name makes.
is_like <- function(fn, name, ...) {
  is.function(fn) && identical(body(fn), body(get(name, asNamespace("plumber"))(...)))
}

# With the arguments of toJSON().
json_writer <- function(type, arguments) {
  force(type)
  unboxes <- arguments$auto_unbox %||% FALSE
  is_usual <- !length(setdiff(names(arguments), "auto_unbox")) && (isTRUE(unboxes) || isFALSE(unboxes))
  if (type == "application/json" && is_usual) {
    writer <- function(value) .Call(C_json_reply, value, 200L, list(), unboxes, 4L)
    return(structure(writer, native = if (unboxes) 3L else 2L, type = type))
  }
  if (!"digits" %in% names(arguments)) arguments$digits <- 4L
  if (is.null(names(arguments)) || !all(nzchar(names(arguments)))) return(function(value) NULL)
  function(value) {
    text <- .Call(C_json_write, value, arguments, list(list(), integer(), list()))
    if (is.character(text)) .Call(C_plain_response, text, 200L, list(), type)
  }
}

# Of strings only, which these serializers leave as they are; and plumber sends the bytes that they have.
text_writer <- function(type) {
  force(type)
  structure(function(value) .Call(C_text_reply, value, type), native = 1L, type = type)
}

# A serializer of plumber's by its name, for when plumber is not there: list(write, writer, type), a function of a
# value, `req`, `res` and a function for errors, one like known_serializer()'s, and the Content-Type, if there is one.
# NULL for those that need plumber.
own_serializer <- function(alias, arguments) {
  text <- "text/plain; charset=UTF-8"
  type <- arguments$type
  arguments$type <- NULL
  printed <- function(show) {
    function(value) paste(utils::capture.output(do.call(show, c(list(value), arguments))), collapse = "\n")
  }
  switch(alias,
    json = own_json(type %||% "application/json", arguments),
    unboxedJSON = own_json(type %||% "application/json", utils::modifyList(list(auto_unbox = TRUE), arguments)),
    text = own_type(type %||% text, function(value) do.call(as.character, c(list(value), arguments)), TRUE),
    html = own_type(type %||% "text/html; charset=UTF-8", identity, TRUE),
    contentType = if (is_string(type)) own_type(type, identity, TRUE),
    octet = own_type(type %||% "application/octet-stream", function(value) {
      if (is.raw(value)) value else stop("The Octet-Stream serializer received non-raw data", call. = FALSE)
    }),
    format = own_type(type %||% text, function(value) do.call(format, c(list(value), arguments))),
    print = own_type(type %||% text, printed(print)),
    cat = own_type(type %||% text, printed(cat)),
    rds = own_type(type %||% "application/rds", function(value) {
      do.call(serialize, c(list(value, NULL), utils::modifyList(list(ascii = FALSE, version = 2L), arguments)))
    }),
    null = list(write = identity_serializer, writer = function(value) NULL)
  )
}

identity_serializer <- function(value, req, res, errorHandler) {
  res$body <- value
  res$toResponse()
}

# `is_text`: strings are left as they are.
own_type <- function(type, convert, is_text = FALSE) {
  write <- function(value, req, res, errorHandler) {
    res$setHeader("Content-Type", type)
    identity_serializer(convert(value), req, res, errorHandler)
  }
  list(write = write, writer = if (is_text) text_writer(type) else function(value) NULL, type = type)
}

own_json <- function(type, arguments) {
  list(
    write = own_type(type, function(value) to_json(value, utils::modifyList(list(digits = 4L), arguments), NULL))$write,
    writer = json_writer(type, arguments), type = type
  )
}
