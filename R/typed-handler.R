# Handlers that take values as arguments, by name. Neighbours: route-types.R (what is declared), typed-values.R (the
# values), app-compile.R (which has handlers made when the server starts).

# Which values a handler takes: NULL when it takes the request or nothing, as all handlers without types do.
# `types`: see route_types(); `placeholders`: names in the path.
handler_values <- function(handler, types, placeholders) {
  # as in nearly all routes: an app may have thousands
  if (!length(placeholders) && is.null(types$params) && is.null(types$body)) return(NULL)
  arguments <- vapply(types$params, `[[`, "", "argument", USE.NAMES = FALSE)
  known <- c(arguments, placeholders, if (!is.null(types$body)) "body")
  takes <- names(formals(args(handler)))
  if (identical(takes, "req")) return(NULL)
  values <- setdiff(takes, c("req", "..."))
  declares <- !is.null(types$params) || !is.null(types$body)
  # a function of one argument gets the request, under any name that is not a known value's
  is_typed <- any(values %in% known) || (declares && length(setdiff(takes, "...")) > 1L)
  if (is_typed) values
}

check_typed_handler <- function(handler, types, placeholders, call) {
  if (is.null(if (is.function(handler)) handler_values(handler, types, placeholders))) {
    return(check_request_handler(handler, call))
  }
  arguments <- vapply(types$params, `[[`, "", "argument", USE.NAMES = FALSE)
  known <- unique(c(arguments, placeholders, "req", if (!is.null(types$body)) "body"))
  unknown <- setdiff(arity(handler)$required, known)
  if (!length(unknown)) return(invisible())
  problem <- sprintf(
    "`handler` takes `%s`, which the route does not declare: it may take %s; %s", unknown[[1L]],
    paste0("`", known, "`", collapse = ", "), instead_of(unknown[[1L]])
  )
  stop_drover("argument", problem, call = call, argument = "handler")
}

# Where to find a value that a handler takes as its argument.
instead_of <- function(name) {
  if (name == "body") return("the body is `req$json`, in function(req), or an argument with `body = ` a schema")
  query <- "a value of the query is dr_query(req, \"%s\"), in function(req), or an argument with "
  sprintf(paste0(query, "`params = list(%s = dr_chr())`"), name, name)
}

# A handler that gets the request. One by name of something else most likely expects that, as functions of plumber do:
# it may be right all the same, and has a warning.
check_request_handler <- function(handler, call) {
  # the usual one
  if (typeof(handler) == "closure" && identical(names(formals(handler)), "req")) return(invisible())
  values <- if (is.function(handler)) setdiff(names(formals(args(handler))), "...")
  values <- values[!is_request_name(values)]
  if (length(values) && length(arity(handler)$required) > 1L && !"res" %in% values) {
    problem <- sprintf(
      "`handler` must be a function of the request, not function(%s): the route has no `%s`; %s",
      paste(names(formals(args(handler))), collapse = ", "), values[[1L]], instead_of(values[[1L]])
    )
    stop_drover("argument", problem, call = call, argument = "handler")
  }
  check_handler(handler, call = call)
  takes <- setdiff(names(formals(args(handler))), "...")
  if (!length(takes) || is.primitive(handler) || is_request_name(takes[[1L]])) return(invisible())
  text <- sprintf(
    "`handler` takes `%s`, and gets the request as that, since the path has no such placeholder: call it `req`; %s",
    takes[[1L]], instead_of(takes[[1L]])
  )
  warning(warningCondition(text, class = "drover_warning_handler", call = call))
}

# A handler of values as one of the request. What it takes is read before it is called: it may look at a value when its
# request is answered. `route`: see add_route().
typed_handler <- function(route) {
  handler <- route$handler
  taken <- handler_values(handler, route, route$param_names)
  if (is.null(taken)) return(with_request(handler))
  taken <- intersect(names(formals(args(handler))), c(taken, "req"))
  getters <- Filter(Negate(is.null), lapply(with_names(taken, taken), value_getter, route = route))
  called <- call_of_values(quote(handler), names(getters))
  body <- call("{", quote(values <- .Call(C_typed_values, getters, req)), called)
  eval(call("function", as.pairlist(alist(req = )), body)) # nolint
}

# The call of a function with elements of `values`, as tracebacks show it: with names only.
call_of_values <- function(fun, names) {
  as.call(c(fun, with_names(lapply(names, function(name) call("[[", quote(values), name)), names)))
}

# Where a value may be, by the numbers in src/request.h.
PLACES <- c(path = 1L, query = 2L, header = 3L, cookie = 4L, request = 5L)

# How a value is read of a request: natively, as the kind (see src/typed.c) that it has at a place, where it is there
# once; and by `get`, a function of the request, where it is not, or `place` is 0.
new_getter <- function(get, place = 0L, name = "", kind = 0L, default = NULL) {
  list(unname(place), enc2utf8(name), kind, default, get)
}

# What an argument of this name is; NULL for what is the handler's own.
value_getter <- function(name, route) {
  if (name == "req") return(new_getter(function(req) req, PLACES[["request"]]))
  if (name == "body" && !is.null(route$body)) return(body_getter(route$body))
  at <- match(name, vapply(route$params, `[[`, "", "argument"))
  if (!is.na(at)) return(param_getter(names(route$params)[[at]], route$params[[at]]))
  # a placeholder that has no other type than the path's
  if (name %in% route$param_names) new_getter(function(req) req$params[[name]], PLACES[["path"]], name, AS_IT_IS)
}

# The kind of a value that has its type already.
AS_IT_IS <- 5L

param_getter <- function(name, param) {
  r <- param$schema$r
  read <- text_reader(r)
  default <- default_value(r)
  place <- param[["in"]]
  if (place == "header") name <- tolower(name)
  texts <- switch(place,
    path = function(req) req$params[[name]], query = function(req) named_texts(query_fields(req), name),
    header = function(req) req$headers[[name]], cookie = function(req) req$cookies[[name]]
  )
  get <- function(req) {
    given <- texts(req)
    if (is.null(given)) default else read(given)
  }
  # an empty text may be NA
  kind <- if (isTRUE(r$nullable)) 0L else single_kind(r)
  if (kind) new_getter(get, PLACES[[place]], name, kind, default) else new_getter(get)
}

# All texts of a name; NULL when there is none.
named_texts <- function(fields, name) {
  found <- unlist(unclass(fields)[names(fields) == name], use.names = FALSE)
  if (length(found)) found
}

# The fields of the query alone. `req$query` has those of a form behind them, which have not been judged.
query_fields <- function(req) {
  query <- unclass(req$query)
  query[seq_len(length(query) - length(form_behind(req)))]
}

form_behind <- function(req) {
  type <- req$headers[["content-type"]]
  if (!is.null(type) && grepl("urlencoded", type, ignore.case = TRUE)) req$form
}

body_getter <- function(body) {
  r <- body$schema$r
  read <- reader_of(r)
  default <- default_value(r)
  if (body$content_type != "application/json") {
    texts <- lapply(r$fields, text_reader)
    defaults <- default_values(r$fields, lapply(r$fields, reader_of))
    return(new_getter(function(req) form_values(req$form, texts, defaults)))
  }
  if (r$kind == "any") return(new_getter(function(req) req$json %||% default))
  new_getter(function(req) {
    bytes <- req$raw
    if (length(bytes)) read(body_as_lists(bytes)) else default
  })
}

form_values <- function(form, texts, defaults) {
  values <- list()
  for (name in names(texts)) {
    given <- named_texts(form, name)
    if (!is.null(given)) values[[name]] <- texts[[name]](given) else values[name] <- defaults[name]
  }
  values[names(texts) %in% c(names(form), names(defaults))]
}

# A body as dr_from_json(simplify = FALSE) has it.
body_as_lists <- function(bytes) {
  limits <- engine$json_limits
  parsed <- .Call(C_json_parse, bytes, FALSE, limits$max_json_depth, limits$max_collisions)
  if (is.character(parsed)) stop_field(400L, parsed)
  parsed[[1L]]
}
