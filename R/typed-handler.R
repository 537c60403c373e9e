# Handlers that take values as arguments, by name. Neighbours: route-types.R (what is declared), typed-values.R (the
# values), compile.R (which has handlers made when the server starts).

# Which values a handler takes: NULL when it takes the request or nothing, as all handlers without types do.
# `types`: see route_types(); `placeholders`: names in the path.
handler_values <- function(handler, types, placeholders) {
  takes <- names(formals(args(handler)))
  values <- setdiff(takes, c("req", "..."))
  arguments <- vapply(types$params, `[[`, "", "argument", USE.NAMES = FALSE)
  known <- c(arguments, placeholders, if (!is.null(types$body)) "body")
  declares <- !is.null(types$params) || !is.null(types$body)
  is_typed <- if (length(setdiff(takes, "...")) > 1L) {
    declares || any(values %in% known)
  } else {
    # what takes one argument gets the request, whatever its name is, unless it is declared
    declares && any(values %in% known)
  }
  if (is_typed) values
}

check_typed_handler <- function(handler, types, placeholders, call) {
  if (is.null(if (is.function(handler)) handler_values(handler, types, placeholders))) {
    return(check_handler(handler, call = call))
  }
  arguments <- vapply(types$params, `[[`, "", "argument", USE.NAMES = FALSE)
  known <- unique(c(arguments, placeholders, "req", if (!is.null(types$body)) "body"))
  unknown <- setdiff(arity(handler)$required, known)
  if (!length(unknown)) return(invisible())
  problem <- sprintf(
    "`handler` takes `%s`, which the route does not declare: it may take %s", unknown[[1L]],
    paste0("`", known, "`", collapse = ", ")
  )
  stop_drover("argument", problem, call = call, argument = "handler")
}

# A handler of values as one of the request. What it takes is read before it is called: it may look at a value when its
# request is answered. `route`: see add_route().
typed_handler <- function(route) {
  handler <- route$handler
  taken <- handler_values(handler, route, route$param_names)
  if (is.null(taken)) return(with_request(handler))
  taken <- intersect(names(formals(args(handler))), c(taken, "req"))
  getters <- Filter(Negate(is.null), lapply(stats::setNames(nm = taken), value_getter, route = route))
  # a call with names only, as tracebacks show it
  values <- lapply(names(getters), function(name) call("[[", quote(values), name))
  called <- as.call(c(quote(handler), stats::setNames(values, names(getters))))
  body <- call("{", quote(values <- read_values(getters, req)), called)
  eval(call("function", as.pairlist(alist(req = )), body)) # nolint
}

# What the getters give. The query is read once, and only if one of them wants it.
read_values <- function(getters, req, query = query_fields(req)) lapply(getters, function(get) get(req, query))

# A function of the request and its query that gives what an argument of this name is; NULL for what is the handler's
# own.
value_getter <- function(name, route) {
  if (name == "req") return(function(req, query) req)
  if (name == "body" && !is.null(route$body)) return(body_getter(route$body))
  at <- match(name, vapply(route$params, `[[`, "", "argument"))
  if (!is.na(at)) return(param_getter(names(route$params)[[at]], route$params[[at]]))
  # a placeholder that has no other type than the path's
  if (name %in% route$param_names) function(req, query) req$params[[name]]
}

param_getter <- function(name, param) {
  read <- text_reader(param$schema$r)
  default <- default_value(param$schema$r)
  texts <- switch(param[["in"]],
    path = function(req, query) req$params[[name]],
    query = function(req, query) named_texts(query, name),
    header = {
      name <- tolower(name)
      function(req, query) req$headers[[name]]
    },
    cookie = function(req, query) req$cookies[[name]]
  )
  function(req, query) {
    given <- texts(req, query)
    if (is.null(given)) default else read(given)
  }
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
    return(function(req, query) form_values(req$form, texts, defaults))
  }
  function(req, query) {
    if (r$kind == "any") return(req$json %||% default)
    bytes <- req$raw
    if (!length(bytes)) return(default)
    limits <- engine$json_limits
    parsed <- .Call(C_json_parse, bytes, FALSE, limits$max_json_depth, limits$max_collisions)
    if (is.character(parsed)) stop_field(400L, parsed)
    read(parsed[[1L]])
  }
}

form_values <- function(form, texts, defaults) {
  values <- list()
  for (name in names(texts)) {
    given <- named_texts(form, name)
    if (!is.null(given)) values[[name]] <- texts[[name]](given) else values[name] <- defaults[name]
  }
  values[names(texts) %in% c(names(form), names(defaults))]
}
