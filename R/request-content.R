# What a request of R's own has as its body and its query. Neighbours: test-client.R, job-enqueue.R.

# list(bytes, type) of what is sent.
sent_content <- function(body, json, form, has_json, call) {
  given <- c(body = !is.null(body), json = has_json && !is.null(json), form = !is.null(form))
  if (sum(given) > 1L) {
    problem <- sprintf("give one of `%s`", paste(names(given)[given], collapse = "` and `"))
    stop_drover("argument", problem, call = call, argument = names(given)[given][[2L]])
  }
  if (given[["json"]]) {
    return(list(bytes = charToRaw(enc2utf8(dr_to_json(json, auto_unbox = TRUE))), type = "application/json"))
  }
  if (given[["form"]]) {
    return(list(bytes = charToRaw(sent_pairs(form, "form", call)), type = "application/x-www-form-urlencoded"))
  }
  if (is.null(body)) return(list(bytes = raw()))
  if (is.raw(body)) return(list(bytes = body, type = "application/octet-stream"))
  check_string(body, "body", call = call)
  list(bytes = charToRaw(enc2utf8(body)), type = "text/plain; charset=utf-8")
}

# `a=1&b=x%20y`
sent_pairs <- function(values, arg, call) {
  right <- "a named list, or a named vector, of strings, numbers and logicals"
  if (is.null(names(values)) || !all(nzchar(names(values)))) stop_argument(arg, right, values, call)
  values <- unlist(as.list(values))
  if (!is.atomic(values)) stop_argument(arg, right, values, call)
  escape <- function(x) vapply(enc2utf8(as.character(x)), utils::URLencode, "", reserved = TRUE, USE.NAMES = FALSE)
  paste0(escape(names(values)), "=", escape(values), collapse = "&")
}
