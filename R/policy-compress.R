# Compression of responses, and of bodies of requests. Not for files ahead of time: command-compress.R. Neighbour:
# policy.R.

#' Compress responses, and unpack compressed requests
#'
#' `dr_compress()` has responses below the paths that it covers compressed for clients that say in `Accept-Encoding`
#' that they take it. That is done where the response is made: in the worker process, after its handler has returned, so
#' that no other connection waits for it. Without it that is done as by `dr_compress(app)`, unless the server has
#' `compress = FALSE`: see [dr_serve()]. `dr_decompress()` unpacks bodies of requests that clients have compressed
#' (`Content-Encoding`): handlers see them as if they had been sent as they are. That is done only where an app says so,
#' or the setting `decompress` of [dr_serve()].
#'
#' @section What is compressed: Bodies of the types in `types`, from `min_size` on, when that makes them smaller. Not:
#'   responses with the status 204, 205, 206 or 304; what a handler has compressed itself (`Content-Encoding`); what
#'   says `Cache-Control: no-transform`; what has `Content-Range`, `Accept-Ranges` or a digest of its bytes. Files of
#'   [dr_static()] and [dr_file()] are not either: compress them ahead of time, with [dr_compress_files()].
#'
#'   Streams ([dr_stream()]) are compressed with gzip, and flushed after each piece, so that an event is with its client
#'   at once. What handlers in C answer is compressed by the thread that answers; of inline ones in a session that runs
#'   its handlers itself only up to 64 kB.
#'
#'   `Vary: Accept-Encoding` is in every response that is compressed for some clients. A strong `ETag` becomes a weak
#'   one: compare `If-None-Match` without regard to `W/`.
#'
#'   A response that [dr_cache()] keeps is kept as it is, and compressed once for each encoding that clients accept,
#'   beside the handlers and the requests of others. Brotli packs best, and takes too long for a response that is made
#'   for one client: only what is kept is sent in it, from shortly after its second request on.
#'
#' @section Secrets: The length of a compressed response reveals its content to an attacker that can make a browser send
#'   requests, and listen to the responses, if the response also repeats a part of the request (the BREACH attack).
#'   Therefore nothing is compressed for requests with `Cookie`, `Authorization` or a client certificate, nor are
#'   responses with `Set-Cookie`, unless `credentials` is `TRUE`: for routes whose responses repeat nothing of the
#'   request, or have no secrets.
#'
#' @section Compressed requests: A body that is not what its field says gets 400; another encoding than those in
#'   `encodings`, or several, 415 with `Accept-Encoding`. `max_body` of [dr_limits()] holds for the unpacked body, and
#'   one that unpacks to more than 1 MB and `max_ratio` times its size gets 413. `req$headers` has no `content-encoding`
#'   then, and the length of the unpacked body.
#'
#' @section Several policies: A policy covers paths, see [dr_cors()]; when several cover a request the closest one
#'   counts alone.
#'
#' @param app An app, see [dr_app()].
#' @param encodings For `dr_compress()`: out of `"br"`, `"zstd"` and `"gzip"`, the one first that a client gets that
#'   likes all of them; `"br"` (brotli) is for what [dr_cache()] keeps. For
#'   `dr_decompress()`: out of `"gzip"`, `"zstd"` and
#'   `"deflate"` (the format of zlib). A character vector.
#' @param types Media types that are compressed: a character vector of types such as `"text/csv"`, `"text/*"` or
#'   `"*+json"`. `NULL` for text, JSON, XML, JavaScript, YAML, WebAssembly and streams of events.
#' @param min_size Shorter bodies are sent as they are: a single number of bytes, or a size such as `"2kB"`.
#' @param level How hard to try: a named numeric vector, `br` in 1 to 11, `zstd` in 1 to 19 and `gzip` in 1 to 9.
#' @param credentials `TRUE` to compress also for clients with credentials, see Secrets.
#' @param routes Paths below which it holds: a character vector, such as `"/api"`, with placeholders as in [dr_get()];
#'   `NULL` for all paths of the app.
#' @param max_ratio How many times its size a body may unpack to: a single integer.
#' @returns `app`, invisibly; it is changed in place.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_compress_files()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/data", function(req) mtcars)
#' dr_post(app, "/rows", function(req) list(rows = NROW(req$json)))
#' dr_compress(app)
#' dr_decompress(app, "gzip", routes = "/rows")
#' @export
dr_compress <- function(app, encodings = c("br", "zstd", "gzip"), types = NULL, min_size = 1024,
                        level = c(br = 5, zstd = 1, gzip = 2), credentials = FALSE, routes = NULL) {
  check_registrar(app)
  call <- sys.call()
  encodings <- check_encodings(encodings, c("br", "zstd", "gzip"), call)
  types <- check_types(types, call)
  min_size <- as_bytes(min_size)
  check_size(min_size, "min_size", max = 1e9, call = call)
  level <- check_levels(level, call)
  check_flag(credentials, "credentials")
  rule <- list(
    encodings = encodings, types = types, min_size = min_size, brotli = level[["br"]], zstd = level[["zstd"]],
    gzip = level[["gzip"]], credentials = credentials
  )
  add_policy(app, list(compress = rule), routes, call)
}

#' @rdname dr_compress
#' @export
dr_decompress <- function(app, encodings = c("gzip", "zstd", "deflate"), max_ratio = 100, routes = NULL) {
  check_registrar(app)
  call <- sys.call()
  encodings <- check_encodings(encodings, c("gzip", "zstd", "deflate"), call)
  check_count(max_ratio, "max_ratio", max = 1e6, call = call)
  add_policy(app, list(decompress = list(encodings = encodings, max_ratio = max_ratio)), routes, call)
}

check_encodings <- function(x, known, call) {
  right <- paste("out of", paste0("\"", known, "\"", collapse = ", "), "without repetition: a character vector")
  if (!is.character(x) || !length(x) || anyDuplicated(x)) stop_argument("encodings", right, x, call)
  check_strings(x, "encodings", right, function(x) x %in% known, call)
}

# Patterns of media types, as the engine has them: none for the usual ones.
check_types <- function(x, call) {
  if (is.null(x)) return(list())
  right <- "NULL or media types such as \"text/csv\", \"text/*\" or \"*+json\": a character vector"
  if (!length(x)) stop_argument("types", right, x, call)
  word <- "[!-)+.0-:<-~-]+"
  check_strings(x, "types", right, function(x) grepl(sprintf("^(%s/(%s|[*])|[*][+]%s)$", word, word, word), x), call)
}

# Levels that are not given are the usual ones.
check_levels <- function(x, call) {
  usual <- c(br = 5, zstd = 1, gzip = 2)
  most <- c(br = 11, zstd = 19, gzip = 9)
  right <- "a named numeric vector such as c(zstd = 1), of whole numbers, br in 1..11, zstd in 1..19, gzip in 1..9"
  fits <- is.numeric(x) && length(x) && !is.null(names(x)) && all(names(x) %in% names(usual)) &&
    !anyDuplicated(names(x)) && all(vapply(x, is_whole, NA)) && all(x >= 1 & x <= most[names(x)])
  if (!isTRUE(fits)) stop_argument("level", right, x, call)
  usual[names(x)] <- x
  usual
}
