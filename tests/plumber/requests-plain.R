# For apps/plain, in all ways.

bytes <- as.raw(c(0:255, 0))
broken <- "plumber answers with what is no body, and httpuv says so; here the log does"
invalid <- "bytes that are no UTF-8 become U+FFFD in JSON"
reader <- "numbers beyond a double and depths of more than 64 are errors to this package's reader"
not_allowed <- "plumber means to say what is allowed, and says nothing"
other <- function(path, method) ask(path, method, own_differs = not_allowed, only = "allow")
strict <- "the engine refuses what is malformed before R sees it"
values <- c("null", "empty", "na", "numbers", "integers", "text", "factor", "frame", "matrix", "nested", "date", "time", "raw",
  "complex", "boxed", "json", "lm", "none")

c(list(
  # paths
  ask("/ping"), ask("/ping?x=1"), ask("/ping?"), ask("/ping/"), ask("/PING"), ask("//ping"), ask("/p%69ng"), ask("/ping%20"),
  ask("/ping-text"), ask("/ping-text?%zz"), ask("/ping-text?%E9=%E9"), ask("/dotted.json"), ask("/dottedxjson"), ask("/dotted/json"),
  ask("/word/hello"), ask("/word/list"), ask("/word/a%20b"), ask("/word/%C3%A9"), ask("/word/a+b"), ask("/word/a%2Fb"), ask("/word/"),
  ask("/WORD/hello"), ask("/word/hello/"), ask("/word/hello?w=query"), ask("/typed/7"), ask("/typed/-7"), ask("/typed/7.5"), ask("/typed/.5"),
  ask("/typed/1e3"), ask("/typed/true"), ask("/typed/T"), ask("/typed/1"), ask("/typed/99999999999"), ask("/typed/other"), ask("/typed/x"),
  ask("/typed/7/"), ask("/many/1,2,3"), ask("/many/1"), ask("/many/1,"), ask("/many/1,x"), ask("/default/5"), ask("/default/x"),
  ask("/two/x/and/3"), ask("/two/x/and/3?c=1&a=2"), ask("/two/x/and/y"), ask("/two/x/and/3", "PUT"), json("/two/x/and/3", '{"c":[1,2],"b":9}', "PUT"),
  ask("/part/one.csv"), ask("/part/one.txt"), ask("/slash"), ask("/slash/"), ask("/slash//"), ask("/twice"), ask("/none"),
  # arguments
  ask("/args"), ask("/args?name=Ada"), ask("/args?name=Ada&n=3"), ask("/args?name=&n="), ask("/args?name"), ask("/args?name=a&name=b"),
  ask("/args?na=Ada"), ask("/args?NAME=Ada"), ask("/args?name=A+B%20C"), ask("/args?name=%C3%A9"), ask("/args?name=%E9", fast_differs = invalid), ask("/args?name=%zz"),
  ask("/args?name=a%26b%3Dc"), ask("/args?name=a=b"), ask("/args?name==b"), ask("/args?name=b="), ask("/args?=x"), ask("/args?&&name=x&&"),
  ask("/args?name=a;n=2"), ask("/args?name[]=1"), ask("/args?req=1&res=2"), ask("/args?unknown=1"), ask("/args??name=x"), ask("/args?n=%2B1"),
  ask("/args?a=1&b=2&name=x&c=3&name=y&n=2&n=3&n=4"), json("/args", '{"name":"Json","n":5}'), form("/args", "name=Form&n=5"),
  json("/args?name=query", '{"name":"body"}'), json("/args", "[1,2]"), json("/args", "null"), json("/args", '"text"'), json("/args", '{"name":'),
  json("/args", ""), json("/args", '{"name":null}'), ask("/required?a=1&b=2"), ask("/required?a=1"), ask("/required"), ask("/required?a=x&b=2"),
  ask("/missing"), ask("/missing?a=1"), ask("/dots?first=1&second=2&third=3&second=4"), ask("/dots"), ask("/dots?a"), ask("/dots?.x=1&a%20b=2"),
  ask("/dots?%C3%A9=3"), json("/dots", '{"first":{"deep":[1,2]},"x":null}'), json("/dots", "[1,2]"), json("/dots?x=1", '{"x":2,"y":3,"y":4}'),
  ask("/all?b=1&a=2"), ask("/all"), ask("/res"), ask("/res?n=2"), ask("/both?a=1&a=2&b=x"), ask("/both", headers = c(Cookie = "a=1; b=two%20words; c; d=e=f")),
  ask("/both", headers = c(Cookie = "")), ask("/both", headers = c(Cookie = ";;a=1;")), json("/both?q=1", '{"x":[1,2],"q":"body"}'), form("/both", "x=1&y=a+b&x=2"),
  # methods
  ask("/verbs"), ask("/verbs", "POST"), ask("/verbs", "PUT"), ask("/verbs", "DELETE"), ask("/verbs", "HEAD"), ask("/verbs", "OPTIONS"),
  ask("/verbs", "PATCH"), other("/verbs", "PROPFIND"), other("/ping", "HEAD"), other("/ping", "POST"), other("/ping", "DELETE"), other("/ping", "OPTIONS"),
  other("/ping", "PROPFIND"), other("/two/x/and/3", "POST"), ask("/none", "POST"), ask("/ping", "GET", c("Content-Type" = "application/json"), "{\"a\":"),
  ask("/ping-text", "GET", c("Content-Type" = "application/json"), "{\"a\":1}"),
  # what matches OPTIONS is a path, though it be a catch-all
  ask("/preflight/x", "OPTIONS"), other("/preflight/x", "GET"), other("/preflight/x/y", "POST"), ask("/preflight/orders", "POST"),
  other("/preflight/orders", "GET"), ask("/preflight", "GET"),
  # status, headers, whole responses
  ask("/status/201"), ask("/status/204"), ask("/status/304"), ask("/status/404"), ask("/status/500"), ask("/status/299"), ask("/whole"), other("/whole", "HEAD"),
  # bodies
  ask("/body", "POST"), json("/body", "{}"), json("/body", "[]"), json("/body", "1"), json("/body", "[1,2,3]"), json("/body", '[{"a":1},{"a":2}]'),
  json("/body", '{"a":1,"b":[1,"x",null],"c":{"d":true}}'), json("/body", "not json"), json("/body", '{"a":1,"a":2}'), json("/body", '{"é":"ü"}'),
  json("/body", '{"":1}'), json("/body", "  {\"a\": 1}\n"), json("/body", '{"a":1e400,"b":12345678901234567890}', own_differs = reader), json("/body", "[[1,2],[3,4]]"),
  json("/body", paste0(strrep("[", 100), strrep("]", 100)), own_differs = reader), json("/body", paste0("[", strrep("1,", 20000), "1]")),
  typed("/body", "application/json; charset=utf-8", '{"a":1}'), typed("/body", "APPLICATION/JSON", '{"a":1}'), typed("/body", "application/jsonx", '{"a":1}'),
  typed("/body", "application/json;charset=latin1", '{"a":"é"}'), typed("/body", "text/json", '{"a":1}'), typed("/body", "application/problem+json", '{"a":1}'),
  form("/body", "a=1&b=two&a=3"), form("/body", "a+b=%C3%A9+x"), form("/body", "a"), form("/body", "%zz=1"), ask("/body", "POST", body = '{"a":1}'),
  ask("/body", "POST", body = "[1]"), ask("/body", "POST", body = "a=1&b=2"), ask("/body", "POST", body = "plain words"),
  typed("/body", "text/plain", "some text\nof two lines\n"), typed("/body", "image/png", bytes), typed("/body", "application/octet-stream", bytes),
  typed("/body", "application/json", as.raw(c(0x7b, 0xff, 0x7d))),   json("/sum", '{"a":1,"b":2}'), json("/sum", '{"a":1}'), form("/sum", "a=1&b=2"), json("/sum?a=1", '{"b":2}'), json("/test", '{"n":10}'), json("/test", '{"m":10}'),
  typed("/octets", "application/octet-stream", bytes),
  # values
  ask("/unboxed/one"), ask("/unboxed/two"), ask("/unboxed/text"), ask("/digits"), ask("/typedjson"), ask("/text/number"),
  ask("/text/several"), ask("/text/none", differs = broken), ask("/text/latin1"), ask("/text/named"), ask("/text/na"), ask("/text/factor"),
  ask("/text/utf8"), ask("/text/large"),
  ask("/text/large", headers = c("Accept-Encoding" = "gzip"), differs = "other bytes of the same text",
    only = c("content-length", "transfer-encoding")), ask("/html"), ask("/html-number", differs = broken), ask("/content"), ask("/cat"), ask("/print"),
  ask("/null"), ask("/values/function", own_differs = "functions are refused: their source is not for clients"), ask("/values/environment", differs = broken), ask("/values/own", differs = broken), ask("/values/table", differs = broken),
  # errors and promises
  ask("/stop"), ask("/stop-status"), ask("/warn"), ask("/promise?x=2"), ask("/promise?x=a"), ask("/later"), ask("/rejected"), ask("/where"),
  ask("/values/latin1", fast_differs = invalid)
), lapply(values, function(value) ask(paste0("/values/", value))))
