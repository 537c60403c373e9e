# TLS: the argument `tls` of dr_serve() and dr_run(). What each setting may be says the table (settings-table.R), where
# its name begins with `tls_`. Not for reading the files: the engine does that, and says what is wrong with them.
# Neighbours: settings-serve.R, src/tls.c.

#' HTTPS: certificates and keys
#'
#' Makes the argument `tls` of [dr_serve()] and [dr_run()]: with it all connections begin with TLS, and the server is
#' reached by `https://` and `wss://`.
#'
#' TLS 1.2 and 1.3 are spoken, and HTTP/1.1 or HTTP/2 on it, as the client prefers. A request that comes without TLS is
#' told where to come, by 308. Certificates and keys are read when the server starts, before it listens; when their
#' files change, which is noticed within half a minute, and with [dr_reload()] and SIGHUP they are read anew, for new
#' connections. When anything is wrong with them then, those from before are kept, and the log says why.
#'
#' Keys are in the memory of the process with the server: with [dr_run()] and the program `drover` no code of the app
#' runs there, with [dr_serve()] that is this session, of which its workers are forks.
#'
#' Handlers read in `req$scheme` and `req$tls` what was agreed on, see [request].
#'
#' @param cert The file of the server's certificate, in PEM: its own first, then those between it and the authority
#'   (`fullchain.pem` of certbot). A character vector for several: clients get the one that has the name they ask for,
#'   those that ask for no name or another one get the first.
#' @param key The file of its private key, in PEM; as many as there are certificates, in the same order. By default the
#'   keys are in the files of the certificates.
#' @param ... Must be empty: what follows is given by name.
#' @param key_password Where keys are encrypted: a file with the password in its first line, or as many as there are
#'   keys, in the same order. `NULL`: they are not.
#' @param client_ca Files with the authorities whose certificates clients are to have, in PEM: a character vector, or
#'   `NULL`.
#' @param client_auth Whether clients need one: `"required"`, without it there is no connection; `"optional"`, one that
#'   is there has to be right, and `req$tls` says whose it is; `"none"`. `NULL`: `"required"` with `client_ca`,
#'   otherwise `"none"`.
#' @param crl Files with lists of certificates that were revoked, in PEM: a character vector, or `NULL`. With some,
#'   there must be one of each authority on the way to a client's certificate.
#' @param min_version The oldest version of TLS: `"1.2"` or `"1.3"`.
#' @param hsts Tell browsers to come to this host by `https://` only, for this many seconds or a time such as `"180d"`,
#'   by the header field `Strict-Transport-Security` (RFC 6797). 0 for not: begin with a short time, it cannot be taken
#'   back.
#' @returns An object of class `dr_tls`, with paths that are absolute.
#' @section Errors: `drover_error_argument` when an argument is not as described. What is wrong with the files say
#'   [dr_serve()] and [dr_run()], by an error of the same class; a certificate that has expired, and a key that
#'   everybody can read, by a warning in the log.
#' @seealso [dr_tls_self_signed()] for development.
#' @examples
#' app <- dr_app()
#' dr_get(app, "/", function(req) list(scheme = req$scheme, protocol = req$tls$protocol))
#'
#' # as certbot leaves them
#' folder <- "/etc/letsencrypt/live/example.org"
#' tls <- dr_tls(file.path(folder, "fullchain.pem"), file.path(folder, "privkey.pem"), hsts = "1h")
#' tls
#'
#' dr_serve(app, port = 0, block = FALSE, tls = dr_tls_self_signed(tempfile()))
#' dr_url()
#' dr_stop()
#' @export
dr_tls <- function(cert, key = NULL, ..., key_password = NULL, client_ca = NULL, client_auth = NULL, crl = NULL,
                   min_version = c("1.2", "1.3"), hsts = 0) {
  call <- sys.call()
  check_dots_empty(..., call = call)
  check_files(cert, "cert", call = call)
  check_files(key, "key", null = TRUE, call = call)
  if (!is.null(key) && length(key) != length(cert)) {
    stop_argument("key", paste("as many files as `cert` has,", length(cert)), key, call)
  }
  check_files(key_password, "key_password", null = TRUE, call = call)
  if (length(key_password) > 1L && length(key_password) != length(cert)) {
    stop_argument("key_password", paste("one file, or as many as `cert` has,", length(cert)), key_password, call)
  }
  check_files(client_ca, "client_ca", null = TRUE, call = call)
  check_files(crl, "crl", null = TRUE, call = call)
  check_choice_or_null(client_auth, "client_auth", c("none", "optional", "required"), call)
  min_version <- check_choice(min_version, "min_version", c("1.2", "1.3"), call = call)
  hsts <- as_seconds(hsts)
  check_seconds(hsts, "hsts", zero = TRUE, call = call)
  structure(
    list(
      cert = absolute(cert), key = absolute(key), key_password = absolute(key_password),
      client_ca = absolute(client_ca), client_auth = client_auth, crl = absolute(crl), min_version = min_version,
      hsts = hsts
    ),
    class = "dr_tls"
  )
}

#' A certificate for development
#'
#' Makes the argument `tls` of [dr_serve()] and [dr_run()] with a certificate for `localhost`, `127.0.0.1` and `::1`,
#' which is made when it is first asked for, kept for this user, and made anew before it ends. Browsers warn of it,
#' unless they are told to trust the authority that it is from, the file in `attr(tls, "ca")`, whose key is not kept:
#' `curl --cacert`, `dr_ws_connect(ca = )`. `drover serve --tls-dev` uses the same.
#'
#' @param folder Where it is kept: a single string.
#' @returns What [dr_tls()] makes, with the attribute `ca`.
#' @section Errors: `drover_error_system` when the folder cannot be written.
#' @examples
#' tls <- dr_tls_self_signed(tempfile())
#' attr(tls, "ca")
#' @export
dr_tls_self_signed <- function(folder = file.path(tools::R_user_dir("drover", "cache"), "tls")) {
  call <- sys.call()
  check_string(folder, "folder", call = call)
  folder <- absolute(folder)
  problem <- .Call(C_tls_make, folder)
  if (!is.null(problem)) {
    stop_drover("system", sprintf("no certificate can be made in %s: %s", folder, problem), call = call)
  }
  tls <- dr_tls(file.path(folder, "dev.pem"), file.path(folder, "dev.key"))
  attr(tls, "ca") <- file.path(folder, "dev-ca.pem")
  tls
}

check_files <- function(x, arg, null = FALSE, call = sys.call(-1L)) {
  if (is.null(x) && null) return(invisible())
  if (is.character(x) && length(x) && !anyNA(x) && all(nzchar(x))) return(invisible())
  stop_argument(arg, paste0(if (null) "NULL or ", "the path of a file, or a vector of paths"), x, call)
}

# Links are kept as they are: they are how certificates are renewed.
absolute <- function(paths) {
  paths <- path.expand(paths %||% character())
  ifelse(startsWith(paths, "/"), paths, file.path(getwd(), paths))
}

# As the engine takes it: lists even where there is one file.
tls_fields <- function(tls, call) {
  if (is.null(tls)) return(NULL)
  if (!inherits(tls, "dr_tls")) stop_argument("tls", "NULL or what dr_tls() makes", tls, call)
  fields <- unclass(tls)
  attr(fields, "ca") <- NULL
  files <- c("cert", "key", "key_password", "client_ca", "crl")
  fields[files] <- lapply(fields[files], as.list)
  Filter(Negate(is.null), fields)
}

#' @export
format.dr_tls <- function(x, ...) {
  shown <- Filter(length, unclass(x))
  values <- vapply(shown, function(value) paste(format(value, scientific = FALSE), collapse = ", "), "")
  c("<dr_tls>", paste0("  ", format(names(values)), "  ", values))
}

#' @export
print.dr_tls <- function(x, ...) {
  writeLines(format(x, ...))
  invisible(x)
}
