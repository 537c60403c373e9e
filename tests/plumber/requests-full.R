# For apps/full.

bytes <- as.raw(c(0:255, 0))
saved <- local({
  file <- tempfile()
  saveRDS(list(x = 1:10), file)
  readBin(file, "raw", file.size(file))
})
broken <- "plumber answers with what is no body, and httpuv says so; here the log does"
root <- "the root of a router leads to its docs page, where it has no endpoint"
strict <- "the engine refuses what is malformed before R sees it"

list(
  # routes and arguments
  ask("/ping"), ask("/ping-text"), ask("/ping?x=1"), ask("/ping?"), ask("/ping/"), ask("/PING"), ask("//ping"),
  ask("/", differs = root), ask("/nothing/here"), ask("/none?x=<script>", differs = strict),
  ask("/greet"), ask("/greet?name=Ada"), ask("/greet?name=Ada&n=3"), ask("/greet?name=&n="), ask("/greet?name"),
  ask("/greet?name=Ada&name=Bea"), ask("/greet?na=Ada"), ask("/greet?NAME=Ada"), ask("/greet?name=A+B%20C"),
  ask("/greet?name=%C3%A9"), ask("/greet?name=%E9"), ask("/greet?name=%zz"), ask("/greet?name=a%26b%3Dc"),
  ask("/greet?name=a=b"), ask("/greet?=x"), ask("/greet?&&name=x&&"), ask("/greet?name=a;n=2"), ask("/greet?name[]=1"),
  ask("/greet?req=1&res=2"), ask("/greet?unknown=1&other=2"),
  json("/greet", '{"name":"Json","n":5}'), form("/greet", "name=Form&n=5"), json("/greet?name=query", '{"name":"body"}'),
  ask("/required?a=1&b=2"), ask("/required?a=1"), ask("/required"), ask("/required?a=x&b=2"), ask("/missing"),
  ask("/missing?a=1"), ask("/dots?first=1&second=2&third=3&second=4"), ask("/dots"), ask("/dots?a"),
  json("/dots", '{"first":{"deep":[1,2]},"x":null}'), ask("/dots?.x=1&a%20b=2&%C3%A9=3"),
  ask("/reqres?a=1&b=2"), ask("/env", headers = c("User-Agent" = "me", "X-Long-Name" = "a value")),
  ask("/env?a=1&a=2", headers = c("Accept" = "*/*", "Accept-Language" = "de, en;q=0.5")), ask("/wd"),
  ask("/env", headers = list("X-Same" = "1", "X-Same" = "2"), differs = "values of a repeated field are joined by \", \"", only = "body"),
  # paths
  ask("/typed/7"), ask("/typed/-7"), ask("/typed/7.5"), ask("/typed/x"), ask("/typed/99999999999"), ask("/typed/7/"),
  ask("/typed/1.5/half"), ask("/typed/-.5/half"), ask("/typed/1e3/half"), ask("/flag/true"), ask("/flag/F"), ask("/flag/1"),
  ask("/flag/yes"), ask("/word/hello"), ask("/word/a%20b"), ask("/word/%C3%A9"), ask("/word/a+b"), ask("/word/a%2Fb"),
  ask("/word/a.b-c_d~e"), ask("/word/hello/twice"), ask("/word/"), ask("/many/1,2,3"), ask("/many/1"), ask("/many/1,x"),
  ask("/default/5"), ask("/default/x"), ask("/file.csv"), ask("/file."), ask("/a.c"), ask("/abc"), ask("/first"),
  ask("/word/%zz", differs = strict), ask("/word/%00", differs = strict), ask("/word/%ff", differs = strict),
  ask("/word/hello?w=query"), ask("/programmed/12"), ask("/programmed/x"), ask("/both"), ask("/both", "POST"),
  # methods
  ask("/verbs"), ask("/verbs", "POST"), ask("/verbs", "PUT"), ask("/verbs", "DELETE"), ask("/verbs", "HEAD"),
  ask("/verbs", "OPTIONS"), ask("/verbs", "PATCH"), ask("/verbs", "PROPFIND"), ask("/ping", "HEAD"), ask("/ping", "POST"),
  ask("/ping", "DELETE"), ask("/ping", "OPTIONS"), ask("/ping", "PROPFIND"), ask("/none", "POST"), ask("/none", "HEAD"),
  ask("/none", "OPTIONS"), ask("/thing/3", "PUT"), json("/thing/3", '{"a":1}', "PUT"), ask("/thing/3", "DELETE"),
  json("/thing/a", '{"b":[1,2]}', "PATCH"), ask("/thing/3"), ask("/head", "HEAD"), ask("/head"), ask("/options", "OPTIONS"),
  ask("/options"), ask("/typed/7", "PUT"), ask("/child/ping", "POST"), ask("/ping", "TRACE", differs = "TRACE is refused by the engine"),
  # bodies
  ask("/body", "POST"), json("/body", "{}"), json("/body", "[]"), json("/body", "null"), json("/body", "1"),
  json("/body", "\"text\""), json("/body", "[1,2,3]"), json("/body", '[{"a":1},{"a":2}]'), json("/body", '{"a":1,"b":[1,"x",null],"c":{"d":true}}'),
  json("/body", '{"a":'), json("/body", "not json"), json("/body", ""), json("/body", '{"a":1,"a":2}'), json("/body", '{"é":"ü"}'),
  json("/body", '{"":1}'), json("/body", "  {\"a\": 1}\n"), json("/body", "{\"a\":\"line1\\nline2\"}"),
  typed("/body", "application/json; charset=utf-8", '{"a":1}'), typed("/body", "APPLICATION/JSON", '{"a":1}'),
  typed("/body", "text/json", '{"a":1}'), typed("/body", "application/problem+json", '{"a":1}'),
  form("/body", "a=1&b=two&a=3"), form("/body", "a+b=%C3%A9+x"), form("/body", "a"), form("/body", ""), form("/body", "%zz=1"),
  ask("/body", "POST", body = '{"a":1}'), ask("/body", "POST", body = "a=1&b=2"), ask("/body", "POST", body = "plain words"),
  typed("/body", "text/plain", "some text\nof two lines\n"), typed("/body", "text/html", "<p>"), typed("/body", "image/png", bytes),
  typed("/body", "application/octet-stream", bytes), typed("/body", "application/x-unknown", "x"),
  typed("/body", "application/json", as.raw(c(0x7b, 0xff, 0x7d))),
  json("/precedence/path?who=query&b=query", '{"who":"body","b":"body","c":"body"}'), json("/precedence/path", '{"who":"body"}'),
  json("/sum", '{"a":1,"b":2}'), json("/sum", '{"a":1}'), form("/sum", "a=1&b=2"), json("/sum?a=1", '{"b":2}'), json("/sum", '{"a":"x","b":2}'),
  json("/json", '{"a":[1,2]}'), json("/json", '{"a":'), form("/json", "a=1"), typed("/csvtext", "text/csv", "a,b\n1,2\n"),
  typed("/csvtext", "text/plain", "words"), json("/csvtext", "{}"), typed("/octet", "application/octet-stream", bytes),
  typed("/octet", "text/plain", "x", differs = broken), json("/none", '{"a":1}'), typed("/yaml", "application/x-yaml", "a: 1\nb: [x, y]\n"),
  typed("/yaml", "application/x-yaml", "a: [1"), typed("/rds", "application/rds", saved), typed("/rds", "application/rds", "no rds"),
  multipart("/multi", list(disposition("a"), "text"), list(c(disposition("j"), "Content-Type: application/json"), '{"x":[1,2]}'),
    list(c(disposition("f", "b.bin"), "Content-Type: application/octet-stream"), bytes)),
  multipart("/multi", list(c(disposition("f", "t.txt"), "Content-Type: text/plain"), "a file\r\nof text")),
  multipart("/upload", list(c(disposition("f", "one.bin"), "Content-Type: application/octet-stream"), bytes), list(disposition("note"), "hi")),
  multipart("/upload", list(c(disposition("f", "1.bin"), "Content-Type: application/octet-stream"), bytes),
    list(c(disposition("f", "2.bin"), "Content-Type: application/octet-stream"), as.raw(1:3))),
  multipart("/multi"), multipart("/multi", list(disposition("a"), "x"), end = FALSE), typed("/multi", "multipart/form-data", "no boundary"),
  multipart("/body", list(disposition("a"), "1"), list(disposition("a"), "2"), differs = broken),
  typed("/octet", "application/octet-stream", as.raw(rep(0:255, 2000))), form("/body", paste0("a=", strrep("x", 50000))),
  json("/body", paste0("[", strrep("1,", 20000), "1]")),
  # serializers
  ask("/json"), ask("/unboxed"), ask("/digits"), ask("/frame"), ask("/html"), ask("/content"), ask("/rdsout"), ask("/yamlout"),
  ask("/format"), ask("/print"), ask("/cat"), ask("/null"), ask("/short"), ask("/shorthtml"), ask("/nothing", differs = broken), ask("/bytes"),
  ask("/large?n=10"), ask("/large?n=50000"), ask("/large?n=0"), ask("/large?n=x"), ask("/attachment"), ask("/attach"),
  ask("/png"), ask("/png-small"), ask("/jpeg"), ask("/svg"), ask("/pdf"), ask("/bmp"), ask("/noplot"), ask("/badplot"),
  ask("/unserializable", differs = broken), ask("/function"),
  # res, headers, cookies
  ask("/res"), ask("/res", "HEAD"), ask("/status/201"), ask("/status/204"), ask("/status/304"), ask("/status/404"), ask("/status/500"),
  ask("/status/299"), ask("/headers"), ask("/redirect"), ask("/cookies"), ask("/cookies", headers = c(Cookie = "a=1; b=two%20words; c")),
  ask("/cookies", headers = c(Cookie = "")), ask("/set-cookies"), ask("/cookies", cookies = TRUE),
  ask("/visits"), ask("/visits", cookies = TRUE), ask("/visits", cookies = TRUE), ask("/visits", headers = c(Cookie = "session=forged_cookie")),
  # errors
  ask("/stop"), ask("/stop-status"), ask("/warn"), ask("/condition"), ask("/rejected"),
  # promises
  ask("/promise?x=2"), ask("/promise?x=a"), ask("/later"), ask("/promised-plot"),
  # filters and hooks
  ask("/ping", headers = c("X-Gate" = "closed")), ask("/ping", headers = c("X-Gate" = "broken")), ask("/ping", headers = c("X-Gate" = "promise")),
  ask("/ping", headers = c("X-Gate" = "text")), ask("/open"), ask("/open", headers = c("X-Gate" = "closed")), json("/open?q=1", '{"b":2}'),
  ask("/foremost?x=1"), ask("/none", headers = c("X-Gate" = "closed")), ask("/greet?name=x", headers = c("X-Hook" = "value")),
  ask("/greet?name=x", headers = c("X-Hook" = "after")),
  # mounts
  ask("/child/ping"), ask("/child/"), ask("/child"), ask("/child/stop"), ask("/child/none"), json("/child/echo", '{"a":1}'), ask("/plain/"),
  ask("/plain/x"), ask("/childping"), ask("/child/ping?x=1", headers = c("X-Hook" = "value")),
  # files
  ask("/files/style.css"), ask("/files/"), ask("/files"), ask("/files/index.html"), ask("/files/none.css"), ask("/files/bytes.bin"),
  ask("/files/with%20space.txt"), ask("/files/style.css", "HEAD"), ask("/files/style.css", "POST"), ask("/public/style.css"),
  ask("/files/../plumber.R"), ask("/files/%2e%2e/plumber.R"), ask("/files/..%2fplumber.R"), ask("/files/style.css?v=1"),
  ask("/files/style.css", headers = c("If-Modified-Since" = "Sun, 01 Jan 2090 00:00:00 GMT")),
  ask("/files/style.css", headers = c(Range = "bytes=0-3")),
  # docs
  ask("/openapi.json"), ask("/openapi.json", headers = c(Referer = "http://example.com/__docs__/")), ask("/__docs__/"),
  ask("/__docs__/index.html"), ask("/__docs__"), ask("/__swagger__/"), ask("/__swagger__/index.html"), ask("/__docs__/swagger-ui.css"),
  ask("/__docs__/none.js"), ask("/openapi.json", "HEAD")
)
