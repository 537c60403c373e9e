# Bodies that would keep an app busy for long before it sees them: strings built to share a hash, of which R takes a
# second for each 10,000, or records with a key each, of which jsonlite takes six seconds for 9,000. This package's own
# readers refuse them (the crate `fields`); apps of other servers read bodies by themselves, so here the reader is asked
# first. Neighbour: rook-app.R.

# Below this many bytes there are too few strings to matter.
guarded_from <- 16384L

# An error, answered with 400, for a body that this package's readers refuse for its strings, depth or number of fields.
# What is malformed is for the app to say; but if `strict`, as jsonlite reads it next: it reads more than JSON, and has
# no bounds of its own.
guard_body <- function(req, body, strict = FALSE) {
  if (length(body) < guarded_from) return(invisible())
  tryCatch(
    if (is_urlencoded(req)) req$form else if (strict || looks_like_json(body)) req$json,
    drover_error_body = function(error) if (strict || grepl(refused_for, conditionMessage(error))) stop(error)
  )
  invisible()
}

# Whether plumber has jsonlite read a body of this type.
is_json_to_plumber <- function(type, body) {
  if (is.null(type)) looks_like_json(body) else grepl("json", type, fixed = TRUE)
}

refused_for <- "collide in R's string cache|nested too deep|has more than [0-9]+ fields"

# By its first byte that is no space, as plumber has it for bodies without a type.
looks_like_json <- function(body) {
  start <- first_of(body, 64L)
  start <- start[!start %in% as.raw(c(9L, 10L, 13L, 32L))]
  length(start) > 0L && start[[1L]] %in% charToRaw("{[")
}
