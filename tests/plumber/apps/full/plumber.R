# Every feature of plumber that a request can reach, one endpoint each. Served by plumber itself and by drover; the
# requests are in ../../requests-full.R.

#* @apiTitle Everything
#* @apiDescription One endpoint for each
#*   feature.
#* @apiVersion 1.2.3
#* @apiTag numbers Those that count

state <- new.env()
state$here <- basename(getwd())
state$exits <- 0L

#* Says that it is there
#* @get /ping
function() list(ok = TRUE)

#* @get /ping-text
#* @serializer text
function() "pong"

#* The name comes back
#* @param name:str The name
#* @param n:int* How often
#* @tag numbers
#* @response 200 Fine
#* @get /greet
#* @post /greet
function(name = "you", n = 1) list(name = name, n = n, class = class(n))

#* @get /required
function(a, b) list(sum = as.numeric(a) + as.numeric(b))

#* @get /missing
function(a) if (missing(a)) "none" else a

#* @get /dots
#* @post /dots
function(first, ...) {
  rest <- list(...)
  list(first = if (missing(first)) NULL else first, names = names(rest), rest = rest[!names(rest) %in% c("req", "res")])
}

#* @get /reqres
function(req, res) {
  res$status <- 202
  res$setHeader("X-Method", req$REQUEST_METHOD)
  list(path = req$PATH_INFO, query = req$QUERY_STRING, args = names(req$args))
}

#* @get /env
function(req) {
  fields <- c("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "SCRIPT_NAME", "SERVER_NAME", "REMOTE_ADDR", "rook.version",
    "rook.url_scheme", "HTTP_HOST", "HTTP_USER_AGENT", "HTTP_X_LONG_NAME")
  list(
    fields = mget(fields, envir = req, ifnotfound = list(NULL)), headers = as.list(req$HEADERS),
    classes = c(class(req), class(req$httpuv.version), class(req$HEADERS), class(req$SERVER_PORT)),
    version = as.character(req$httpuv.version), args = req$args, names = sort(setdiff(ls(req), ".bodyData"))
  )
}

#* @get /wd
function() list(now = basename(getwd()), loading = state$here, file = file.exists("plumber.R"))

#* @get /typed/<n:int>
function(n) list(n = n, class = class(n))

#* @get /typed/<x:dbl>/half
function(x) list(x = x / 2, class = class(x))

#* @get /flag/<b:bool>
function(b) list(b = b, class = class(b))

#* @get /word/<w>
function(w) list(w = w)

#* @get /word/<w:chr>/twice
function(w) list(w = paste(w, w))

#* @get /many/<ns:[int]>
function(ns) list(ns = ns, class = class(ns))

#* @get /default/<n>
function(n = 10) list(n = n, class = class(n))

#* @get /file.<ext>
function(ext = "none") list(ext = ext)

#* @get /a.c
function() "a regular expression"

#* @get /first
function() "the first"

#* @get /first
function() "the second"

#* @use /verbs
function(req) list(method = req$REQUEST_METHOD)

#* @put /thing/<id>
function(id, req) list(put = id, body = req$body)

#* @delete /thing/<id>
function(id) list(deleted = id)

#* @patch /thing/<id>
function(id, req, res, ...) list(patched = id, with = list(...))

#* @head /head
function(res) {
  res$setHeader("X-Head", "yes")
  ""
}

#* @options /options
function(res) {
  res$setHeader("Access-Control-Allow-Methods", "GET, OPTIONS")
  list()
}

#* @post /body
function(req) list(args = req$args, body = req$body, raw = length(req$bodyRaw), text = req$postBody)

#* @post /precedence/<who>
function(req, who, ...) list(who = who, names = names(list(...)), path = req$argsPath, body = req$argsBody, query = req$argsQuery)

#* @post /sum
function(a, b) list(sum = a + b)

#* @post /json
#* @parser json list(simplifyVector = FALSE)
function(req) list(body = req$body)

#* @post /csvtext
#* @parser text
#* @serializer text
function(req) paste("got", req$body)

#* @post /octet
#* @parser octet
#* @serializer octet
function(req) req$body

#* @post /multi
#* @parser multi
#* @parser json
#* @parser text
#* @parser octet
function(req) lapply(req$body, function(part) list(
  names = names(part), filename = part$filename, type = part$content_type, n = length(part$value), parsed = part$parsed
))

#* @post /upload
#* @parser multi
#* @parser octet
#* @parser text
function(f, note = "none") list(names = names(f), bytes = lengths(f), note = note)

#* @post /yaml
#* @parser yaml
function(req) req$body

#* @post /none
#* @parser none
function(req) list(body = length(req$body), raw = length(req$bodyRaw))

#* @post /rds
#* @parser rds
function(req) list(sum = sum(req$body$x))

#* @get /json
function() list(a = 1, b = c(1, 2), c = NULL, d = NA, e = "é", f = list(g = TRUE), h = 1:3 / 3, i = factor("z"))

#* @get /unboxed
#* @serializer unboxedJSON
function() list(a = 1, b = c(1, 2), c = NULL, d = NA, t = as.POSIXct(0, tz = "UTC", origin = "1970-01-01"))

#* @get /digits
#* @serializer json list(digits = 2, na = "string")
function() list(pi = pi, na = NA)

#* @get /frame
function() head(cars, 3)

#* @get /html
#* @serializer html
function() "<h1>Hello</h1>"

#* @get /content
#* @serializer contentType list(type = "application/x-thing")
function() "thing"

#* @get /rdsout
#* @serializer rds
function() list(x = 1:3)

#* @get /yamlout
#* @serializer yaml
function() list(a = 1, b = "x")

#* @get /format
#* @serializer format
function() c(a = 1, b = 2.5)

#* @get /print
#* @serializer print
function() list(a = 1, b = letters[1:3])

#* @get /cat
#* @serializer cat
function() c("one", "two", "three")

#* @get /null
#* @serializer null
function() "raw string"

#* @get /short
#* @json
function() "short"

#* @get /shorthtml
#* @html
function() "<p>short</p>"

#* @get /nothing
function() NULL

#* @get /bytes
#* @serializer octet
function() as.raw(0:255)

#* @get /large
#* @serializer text
function(n = 1000) strrep("0123456789", as.integer(n))

#* @get /attachment
#* @serializer text
function() as_attachment("one,two\n", "data.csv")

#* @get /attach
#* @serializer contentType list(type = "text/csv")
function() as_attachment("one,two\n")

#* @get /png
#* @serializer png
function() plot(1:3)

#* @get /png-small
#* @serializer png list(width = 120, height = 80)
function() plot(1:3)

#* @get /jpeg
#* @serializer jpeg
function() plot(1:3)

#* @get /svg
#* @serializer svg
function() plot(1:3)

#* @get /pdf
#* @serializer pdf
function() plot(1:3)

#* @get /bmp
#* @serializer bmp list(width = 20, height = 20)
function() {
  par(mar = rep(0, 4))
  plot.new()
}

#* @get /noplot
#* @serializer png
function() "no plot"

#* @get /badplot
#* @serializer png
function() stop("no plot today")

#* @get /res
function(res) {
  res$status <- 418
  res$setHeader("Content-Type", "text/x-teapot")
  res$body <- "short and stout"
  res
}

#* @get /status/<code:int>
function(code, res) {
  res$status <- code
  list(code = code)
}

#* @get /headers
function(res) {
  res$setHeader("X-One", "1")
  res$setHeader("X-Many", "a")
  res$setHeader("X-Many", "b")
  res$setHeader("X-Number", 1.5)
  res$setHeader("Cache-Control", "no-cache")
  list()
}

#* @get /redirect
function(res) {
  res$status <- 303
  res$setHeader("Location", "/ping?x=1&y=2")
  res$body <- ""
  res
}

#* @get /cookies
function(req) as.list(req$cookies)

#* @get /set-cookies
function(res) {
  res$setCookie("plain", "a value; with=signs")
  res$setCookie("path", "x", path = "/p", http = TRUE, secure = TRUE, same_site = "Lax")
  res$removeCookie("gone")
  list()
}

#* @get /visits
function(req) {
  count <- if (is.null(req$session$visits)) 0 else req$session$visits
  req$session$visits <- as.numeric(count) + 1
  list(visits = req$session$visits)
}

#* @get /stop
function() stop("a secret reason")

#* @get /stop-status
function(res) {
  res$status <- 400
  stop("with a status")
}

#* @get /warn
function() {
  warning("careful")
  list(warned = TRUE)
}

#* @get /condition
function() stop(structure(class = c("custom", "error", "condition"), list(message = "of a class", call = NULL)))

#* @get /unserializable
function() globalenv()

#* @get /function
function() mean

#* @get /promise
function(x = 1) promises::then(promises::promise_resolve(as.numeric(x)), function(x) list(x = x + 1))

#* @get /later
#* @serializer text
function(res) promises::promise(function(resolve, reject) later::later(function() {
  res$setHeader("X-Later", "yes")
  resolve("later")
}, 0.05))

#* @get /rejected
function() promises::promise_reject("a secret rejection")

#* @get /promised-plot
#* @serializer svg
function() promises::then(promises::promise_resolve(3), function(n) plot(seq_len(n)))

#* @filter stamp
function(req, res) {
  res$setHeader("X-Filter", paste("seen", req$PATH_INFO))
  plumber::forward()
}

#* @filter gate
function(req, res) {
  if (identical(req$HTTP_X_GATE, "closed")) {
    res$status <- 401
    return(list(error = "the gate is closed"))
  }
  if (identical(req$HTTP_X_GATE, "broken")) stop("the gate is broken")
  if (identical(req$HTTP_X_GATE, "promise")) return(promises::then(promises::promise_resolve(1), function(x) plumber::forward()))
  req$passed <- TRUE
  plumber::forward()
}

#* @filter textgate
#* @serializer text
function(req) if (identical(req$HTTP_X_GATE, "text")) "closed, in text" else plumber::forward()

#* @preempt gate
#* @get /open
function(req) list(passed = is.null(req$passed))

#* @preempt __first__
#* @get /foremost
function(req, res) list(filtered = !is.null(res$headers[["X-Filter"]]), args = length(req$args))

#* @preempt gate
#* @post /open
function(req) list(args = req$args)

#* @assets ./public /files
list()

#* @assets ./public
list()

#* @plumber
function(pr) {
  data <- new.env()
  child <- plumber::pr()
  child <- plumber::pr_get(child, "/ping", function(req) list(child = TRUE, path = req$PATH_INFO))
  child <- plumber::pr_get(child, "/stop", function() stop("in the child"))
  child <- plumber::pr_post(child, "/echo", function(req, res, ...) list(...))
  child <- plumber::pr_set_error(child, function(req, res, err) {
    res$status <- 500
    list(child_error = conditionMessage(err))
  })
  child <- plumber::pr_set_404(child, function(req, res) {
    res$status <- 404
    list(child404 = req$PATH_INFO)
  })
  plain <- plumber::pr_get(plumber::pr(), "/", function() "plain root")
  pr <- plumber::pr_mount(pr, "/child", child)
  pr <- plumber::pr_mount(pr, "plain", plain)
  pr <- plumber::pr_cookie(pr, strrep("0123456789abcdef", 4), name = "session")
  pr <- plumber::pr_get(pr, "/programmed/<id:int>", function(id) list(id = id), serializer = plumber::serializer_unboxed_json())
  pr <- plumber::pr_handle(pr, c("GET", "POST"), "/both", function(req) req$REQUEST_METHOD)
  pr <- plumber::pr_hook(pr, "preroute", function(data, req, res) data$began <- req$PATH_INFO)
  pr <- plumber::pr_hook(pr, "postroute", function(data, req, res, value) {
    res$setHeader("X-Began", data$began)
    value
  })
  pr <- plumber::pr_hook(pr, "preserialize", function(req, value) {
    if (identical(req$HTTP_X_HOOK, "value")) list(hooked = value) else value
  })
  pr <- plumber::pr_hook(pr, "postserialize", function(req, value) {
    if (identical(req$HTTP_X_HOOK, "after")) value$headers <- c(value$headers, list("X-After" = "yes"))
    value
  })
  plumber::pr_hook(pr, "exit", function() state$exits <- state$exits + 1L)
}
