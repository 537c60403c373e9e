# A model whose inputs have types: what does not have them is refused before R is called, and what the handler gets
# needs no conversion.

library(drover)

model <- lm(mpg ~ wt + hp + factor(cyl), data = mtcars)

cars <- dr_data_frame(
  wt = dr_dbl(above = 0, description = "Weight in 1000 lbs"),
  hp = dr_int(min = 1, max = 2000, description = "Gross horsepower"),
  cyl = dr_int(min = 4, max = 8, default = 4L),
  .min_rows = 1, .max_rows = 1000
)

app <- dr_app()

dr_post(app, "/predict", function(body, digits) {
  body$cyl <- factor(body$cyl, c(4, 6, 8))
  list(mpg = I(round(unname(predict(model, body)), digits)))
},
body = cars, params = list(digits = dr_int(min = 0, max = 6, default = 1L)),
response = dr_schema(mpg = dr_array(dr_dbl())), summary = "Miles per gallon of cars")

dr_get(app, "/days", function(from, to) list(days = as.integer(to - from), weekday = format(from, "%u")),
  params = list(from = dr_date(), to = dr_date(default = as.Date("2026-12-31")))
)

# A form of a page.
dr_post(app, "/subscribe", function(body) paste0(body$email, ": ", toString(body$topics)),
  body = dr_form(
    email = dr_chr(pattern = "^[^@ ]+@[^@ ]+$", max_length = 100),
    topics = dr_array(dr_factor(c("releases", "security")), max_items = 2, default = "security")
  )
)

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
