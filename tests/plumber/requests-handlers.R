# For apps/handlers, where every request needs the secret.

key <- c("Plumber-Shared-Secret" = "open sesame")
inside <- function(path, method = "GET", headers = character(), ...) ask(path, method, c(key, headers), ...)
strict <- "the engine refuses what is malformed before R sees it"

list(
  ask("/ping"), ask("/ping", headers = c("Plumber-Shared-Secret" = "wrong")), inside("/ping"), inside("/ping/"),
  inside("/slash"), inside("/slash/"), inside("/slash?x=1"), inside("/slash", "POST"), inside("/none"), inside("/none", "POST"),
  inside("/ping", "POST"), inside("/stop"), inside("/wd"), inside("/body", "POST", body = strrep("x", 900)),
  inside("/body", "POST", body = strrep("x", 1001)), ask("/body", "POST", body = strrep("x", 1001)),
  inside("/body", "POST", c("Content-Type" = "application/json"), body = "{"), inside("/strict/stop"), inside("/strict/none"),
  inside("/public/style.css"), inside("/public/none"), inside("/openapi.json"), inside("/__docs__/")
)
