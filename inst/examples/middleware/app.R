# Code around handlers: a request log, a token that must be given, a header on each response, and one form for errors.

library(drover)

app <- dr_app()

# The first middleware is the outermost. What nxt() gives is a response even when something further in has failed.
dr_use(app, function(req, nxt) {
  started <- proc.time()[["elapsed"]]
  response <- nxt()
  milliseconds <- 1000 * (proc.time()[["elapsed"]] - started)
  message(sprintf("%s %s %s in %.0f ms", req$method, req$path, response$status, milliseconds))
  response
})

# Who may come in. What a middleware puts into the request is there for everything further in.
users <- c("token-of-ada" = "ada", "token-of-grace" = "grace")
dr_use(app, function(req, nxt) {
  if (req$path == "/") return(nxt())
  token <- sub("^Bearer ", "", req$headers$authorization)
  if (!length(token) || !token %in% names(users)) {
    dr_abort(401, "a valid token is needed", headers = list("WWW-Authenticate" = "Bearer"))
  }
  req$user <- users[[token]]
  dr_set_header(nxt(), "X-User", req$user)
})

# Every error of a handler or a middleware, dr_abort() among them, comes here.
dr_on_error(app, function(req, err) {
  if (inherits(err, "drover_error_http")) {
    return(dr_json(list(error = conditionMessage(err)), status = err$status, headers = err$headers))
  }
  message("error in ", req$method, " ", req$path, ": ", conditionMessage(err))
  dr_json(list(error = "something went wrong", id = req$id), status = 500L)
})

dr_not_found(app, function(req) list(error = paste("there is nothing at", req$path)))

dr_get(app, "/", function(req) "public\n")
dr_get(app, "/account/:part", function(req) list(user = req$user, part = dr_param(req, "part")))
dr_get(app, "/broken", function(req) stop("the database password is hunter2"))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
