# {{name}}: `drover serve .`, then open http://127.0.0.1:8080; its description is at /__docs__/

library(drover)

app <- dr_app()

dr_get(app, "/", function(req) "Hello from {{name}}\n")

dr_get(app, "/square/<n:int>", function(n) list(n = n, square = n^2))

# Bodies that are not like this are refused before R is called.
dr_post(app, "/mean", function(body) list(mean = mean(body$numbers)),
  body = dr_object(numbers = dr_array(dr_dbl(), min_items = 1))
)

app
