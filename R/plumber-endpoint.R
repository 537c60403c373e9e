# What the fast path knows of an endpoint of plumber. Neighbours: plumber-routes.R, which endpoints these are;
# plumber-fast.R, which answers them.

# What a fast handler has to know of an endpoint, as plumber-run.R has it. `hidden`: what may answer its paths before
# it, see plan_router(); `mount`: the path at which its router is mounted; `root`: the router that is served.
fast_endpoint <- function(endpoint, pr, root, mount, hidden) {
  own <- private_of(endpoint)
  serializer <- endpoint$serializer %||% private_of(root)$default_serializer
  parsers <- endpoint$parsers %||% private_of(pr)$default_parsers
  attr(parsers, "plain_json") <- has_plain_json(parsers)
  c(handler_shape(endpoint$getFunc()), list(
    envir = own$envir, path = paste0(mount, endpoint$path), mount = mount, regex = own$regex, hidden = hidden,
    parsers = parsers, parse = function(bytes, type) asNamespace("plumber")$parse_body(bytes, type, parsers),
    serializer = serializer, writer = known_serializer(serializer), root = root,
    new_res = function() asNamespace("plumber")$PlumberResponse$new(serializer),
    # they may be set anew at any time
    fail = function(req, res, error) private_of(pr)$errorHandler(req, res, error),
    fail_last = function(req, res, error) private_of(root)$errorHandler(req, res, error)
  ))
}

# Whether JSON is read as jsonlite does by default: parser_json() without arguments.
has_plain_json <- function(parsers) {
  parser <- parsers$fixed[["application/json"]]
  if (!is.function(parser) || !identical(parser, parsers$alias$json)) return(FALSE)
  model <- asNamespace("plumber")$parser_json()
  read <- environment(parser)$parse_fn
  is.function(read) && identical(body(read), body(environment(model)$parse_fn)) &&
    identical(body(parser), body(model)) && eval(quote(...length()), environment(read)) == 0L
}
