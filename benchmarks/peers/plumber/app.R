# The app of the scenarios for plumber. Arguments: PORT STATIC_DIR.

library(plumber)

arguments <- commandArgs(trailingOnly = TRUE)

app <- pr() |>
  pr_get("/text", function() "Hello, world!", serializer = serializer_text()) |>
  pr_get("/json", function() list(ok = TRUE), serializer = serializer_unboxed_json()) |>
  pr_get("/user/<id>", function(id) id, serializer = serializer_text()) |>
  pr_post("/post", function(x, name) list(name = name, twice = x * 2), serializer = serializer_unboxed_json()) |>
  pr_static("/static", arguments[2]) |>
  pr_set_docs(FALSE)

pr_run(app, host = "127.0.0.1", port = as.integer(arguments[1]), quiet = TRUE)
