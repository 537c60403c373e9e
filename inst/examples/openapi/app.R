# An API that describes itself: open http://127.0.0.1:8080/__docs__/, or read /openapi.json.

library(drover)

stock <- new.env()
stock$items <- list(list(id = 1L, name = "hat", price = 12.5))

item <- list(
  name = dr_chr(min_length = 1, max_length = 80, description = "What it is called"),
  price = dr_dbl(min = 0, max = 1e6, description = "In euros")
)
stored <- c(list(id = dr_int(min = 1)), item)

find_item <- function(id) {
  found <- Filter(function(one) one$id == id, stock$items)
  if (!length(found)) dr_abort(404, paste("there is no item", id))
  found[[1L]]
}

api <- dr_app()

dr_get(api, "/items", function(limit) head(stock$items, limit),
  params = list(limit = dr_int(min = 1, max = 100, default = 10L, description = "At most so many")),
  response = dr_array(dr_schema(stored)), summary = "What is in stock", tags = "stock", operation_id = "list_items"
)

dr_get(api, "/items/<id:int>", function(id) find_item(id),
  params = list(id = dr_int(min = 1)), response = list("200" = dr_schema(stored)), summary = "One item", tags = "stock",
  operation_id = "get_item"
)

dr_post(api, "/items", function(body) {
  new <- c(list(id = length(stock$items) + 1L), body[c("name", "price")])
  stock$items <- c(stock$items, list(new))
  dr_json(new, status = 201L)
},
body = dr_schema(item), response = list("201" = dr_schema(stored)), summary = "Put something into stock",
tags = "stock", operation_id = "add_item", examples = list(scarf = list(name = "scarf", price = 9.9))
)

# Who may ask, and how often, is in the description as well.
dr_get(api, "/worth", function(req) list(worth = sum(vapply(stock$items, `[[`, 0, "price"))),
  response = dr_schema(worth = dr_dbl()), summary = "What all of it costs", tags = "stock", operation_id = "worth"
)
dr_auth_bearer(api, c(shop = "a-token-of-at-least-16-bytes"), routes = "/worth")
dr_rate_limit(api, 100000, "1m", routes = "/items")

app <- dr_app()
dr_about(app, "Stock", "1.0.0", "What a shop **has**, and what it costs.",
  contact = c(name = "Shop team", email = "shop@example.org"), license = c(name = "MIT License", identifier = "MIT"),
  tags = c(stock = "Items and their prices"), hide = "/internal"
)
dr_mount(app, "/v1", api)
dr_get(app, "/internal/count", function(req) list(items = length(stock$items)))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
