# Apps written for httpuv or Rook, served as they are: one route for all paths and methods. Neighbours: rook-request.R
# and rook-response.R, what such an app is given and answers; rook-static.R, its folders; rook-rhttpd.R, several apps of
# Rook; rook-rserve.R; rook-websocket.R; plumber-app.R; load-object.R, which tells what an object is.

# One handler for all requests, unless the app is given other routes and static mounts.
catch_all <- function(handler) {
  app <- dr_app()
  app$rest <- handler
  # none of the servers that such apps are for ends a handler because its client has gone
  app$usual <- function() list(on_client_gone = "finish")
  app
}

# `app` has `call`, and maybe `onHeaders` and `staticPaths`; one for WebSockets alone has no `call`. Its functions are
# looked up for each request, as by httpuv: an object may change them. `adapt`: what else is done to the environment of
# a request, with that and the depth. `reads_text`: whether it may read bodies as JSON or forms.
rook_handler <- function(app, adapt = NULL, reads_text = TRUE) {
  force(app)
  force(adapt)
  force(reads_text)
  constants <- rook_constants()
  static <- rook_static(app)
  for_rook <- is_for_rook(app)
  has_head <- !is.null(member(app, "onHeaders"))
  has_call <- !is.null(member(app, "call"))
  of_plumber <- is_plumber(app)
  function(req, depth = mount_depth(req$route)) {
    env <- rook_request(req, depth, constants)
    if (for_rook) env$QUERY_STRING <- sub("^[?]", "", env$QUERY_STRING)
    if (!is.null(adapt)) adapt(env, req, depth)
    if (length(static)) {
      answer <- static_answer(static, env)
      if (!is.null(answer)) return(answer)
    }
    # onHeaders() of a router only looks at `maxRequestSize`
    if (has_head && !(of_plumber && isTRUE(engine$max_body_given))) {
      answer <- app$onHeaders(env)
      if (length(answer)) return(rook_response(answer))
    }
    if (!has_call) return(plain_answer(404L, "Not Found"))
    body <- req$raw
    if (length(body)) {
      if (reads_text) {
        guard_body(req, body, strict = of_plumber && is_json_to_plumber(req$headers[["content-type"]], body))
      }
      env$rook.input <- rook_input(body)
    }
    value <- app$call(env)
    if (for_rook) value <- one_string(value)
    answered <- if (of_plumber) function(value) plumber_response(value, env) else rook_response
    if (is_promise(value)) value$then(answered) else answered(value)
  }
}

# See pass_aborts().
plumber_response <- function(value, env) {
  if (is.null(env$drover_abort)) rook_response(value) else stop(env$drover_abort)
}

# Whether an app is put together from the parts of the package Rook: these read requests, and write answers, as Rook's
# own server has them, where that is not as httpuv has them.
is_for_rook <- function(app) {
  if (is_plumber(app)) return(FALSE)
  call <- member(app, "call")
  isNamespaceLoaded("Rook") || (is.function(call) && "Rook" %in% all.names(body(call)))
}

# An answer whose body is several strings, as one.
one_string <- function(value) {
  body <- if (is.list(value)) value[["body"]]
  if (is.character(body) && length(body) > 1L && is.null(names(body))) value$body <- paste(body, collapse = "")
  value
}
