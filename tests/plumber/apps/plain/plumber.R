# Endpoints that drover answers without plumber's steps, and without plumber where it is not installed. Requests:
# ../../requests-plain.R.

#* @get /ping
function() list(ok = TRUE)

#* @get /ping-text
#* @serializer text
function() "pong"

#* @get /dotted.json
function() "the point is any character"

#* @get /dottedxjson
function() "never reached"

#* @options /preflight/.*
function() "a catch-all for OPTIONS"

#* @post /preflight/orders
function() "made"

#* @get /word/<w>
function(w) list(w = w)

#* @get /word/list
function() "never reached either"

#* @get /typed/<n:int>
function(n) list(n = n, class = class(n))

#* @get /typed/<x:dbl>
function(x) list(x = x, class = class(x))

#* @get /typed/<b:bool>
function(b) list(b = b, class = class(b))

#* @get /typed/other
function() "a literal after the placeholders"

#* @get /many/<ns:[int]>
function(ns) list(ns = ns)

#* @get /default/<n>
function(n = 10) list(n = n, class = class(n))

#* @get /two/<a>/and/<b:int>
#* @put /two/<a>/and/<b:int>
function(a, b, c = "none") list(a = a, b = b, c = c)

#* @get /part/<name>.csv
function(name) list(name = name)

#* @get /slash/
function() "with a slash"

#* @get /slash
function() "without"

#* @get /twice
function() "the first"

#* @get /twice
function() "the second"

#* @get /args
#* @post /args
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

#* @get /all
function(...) names(list(...))

#* @get /res
function(res, n = 1) {
  res$status <- 202
  res$setHeader("X-One", "1")
  res$setHeader("X-Many", "a")
  res$setHeader("X-Many", "b")
  res$setCookie("plain", "a value; with=signs", path = "/p", http = TRUE)
  list(n = n)
}

#* @get /both
#* @post /both
function(req, res) {
  res$setHeader("X-Method", req$REQUEST_METHOD)
  list(
    path = req$PATH_INFO, query = req$QUERY_STRING, args = req$args, cookies = req$cookies, body = req$body,
    raw = length(req$bodyRaw), text = req$postBody, class = c(class(req), class(res)),
    names = sort(ls(req)), more = req$argsPath
  )
}

#* @use /verbs
function(req) list(method = req$REQUEST_METHOD)

#* @get /status/<code:int>
function(code, res) {
  res$status <- code
  list(code = code)
}

#* @get /whole
function(res) {
  res$status <- 418
  res$setHeader("Content-Type", "text/x-teapot")
  res$body <- "short and stout"
  res
}

#* @post /body
function(req) list(args = req$args, body = req$body, raw = length(req$bodyRaw))

#* @post /sum
function(a, b) list(sum = a + b)

#* @post /test
function(res, n, wait = 0) {
  if (missing(n)) {
    res$status <- 400
    return(list(error = "Missing parameter - n"))
  }
  Sys.sleep(wait)
  list(n = n)
}

#* @post /octets
#* @parser octet
#* @serializer octet
function(req) req$body

#* @get /values/<which>
function(which) {
  switch(which,
    null = NULL, empty = list(), na = NA, numbers = c(1, 2.5, 1 / 3, 1e-7, 1e10, 123456789.123456, -0.00004, 1e16, NA, Inf),
    integers = c(1L, NA), text = "ü", latin1 = "\xe9", factor = factor("a"), frame = head(cars, 3), matrix = matrix(1:4, 2),
    nested = list(a = list(b = 1, c = NULL), d = c(x = 1)), date = as.Date("2026-01-02"), time = as.POSIXct(0, tz = "UTC", origin = "1970-01-01"),
    raw = as.raw(1:3), complex = 1 + 2i, boxed = jsonlite::unbox("x"), json = structure("{}", class = "json"),
    own = structure(list(a = 1), class = "mine"), table = table(c("a", "b")), lm = lm(dist ~ speed, cars)$coefficients,
    "function" = mean, environment = globalenv()
  )
}

#* @get /unboxed/<which>
#* @serializer unboxedJSON
function(which) switch(which, one = list(a = 1.23456, b = "x", c = NULL, d = NA), two = list(1:2, I(3)), text = "only")

#* @get /digits
#* @serializer json list(digits = 2, na = "string", null = "null")
function() list(pi = pi, na = NA, null = NULL)

#* @get /typedjson
#* @serializer unboxedJSON list(type = "application/vnd.api+json")
function() list(a = 1)

#* @get /text/<which>
#* @serializer text
function(which) {
  latin1 <- "\xe9"
  Encoding(latin1) <- "latin1"
  switch(which,
    number = 1.5, several = c("a", "b"), none = character(), latin1 = latin1, named = c(a = "x"), na = NA_character_,
    factor = factor("f"), utf8 = "é", large = strrep("0123456789", 50000)
  )
}

#* @get /html
#* @serializer html
function() "<h1>Hello</h1>"

#* @get /html-number
#* @serializer html
function() 7

#* @get /content
#* @serializer contentType list(type = "application/x-thing")
function() "thing"

#* @get /cat
#* @serializer cat
function() c("one", "two")

#* @get /print
#* @serializer print
function() list(a = 1)

#* @get /null
#* @serializer null
function() "as it is"

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

#* @get /where
function() list(now = basename(getwd()), frame = environmentName(topenv(parent.frame())))
