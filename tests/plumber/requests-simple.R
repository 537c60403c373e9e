# For apps/simple.

root <- "the root of a router leads to its docs page, where it has no endpoint"

list(
  ask("/ping"), ask("/", differs = root), ask("/", "POST"), ask("/serializer"), json("/lists", '{"a":[1,2]}'), json("/lists", '[{"a":1},{"a":2}]'), json("/lists", "{"), ask("/attach"),
  ask("/attach-text"), ask("/png"), ask("/forwards"), ask("/forwards-by-another"), ask("/session"), ask("/router"),
  multipart("/args", list(disposition("a"), "text"), list(c(disposition("f", "b.txt"), "Content-Type: text/plain"), "words")),
  # mounts
  ask("/child/ping"), ask("/child/ping?x=1"), ask("/child/ping/"), ask("/child/7"), ask("/child/7?x=1"), ask("/child/x"), ask("/child/stop"), ask("/child/text"),
  ask("/child/none"), ask("/child"), ask("/child/"), ask("/child/ping", "POST"), ask("/guarded/ping"), ask("/guarded/none"), ask("/childping"),
  ask("/openapi.json"), ask("/openapixjson"), ask("/__docs__/")
)
