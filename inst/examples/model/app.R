# A model behind an API: fitted when the server starts, asked by POSTing JSON.

library(drover)

model <- NULL

app <- dr_app()

# A start hook runs before the server listens: whoever can connect finds the model there.
dr_on_start(app, function() {
  model <<- lm(mpg ~ wt + hp, data = mtcars)
  message("model fitted, R squared ", round(summary(model)$r.squared, 3))
})
dr_on_stop(app, function() message("model gone"))

dr_get(app, "/model", function(req) {
  list(formula = deparse(formula(model)), coefficients = as.list(round(coef(model), 4)))
})

# One car as an object, or several as an array of objects: a list or a data frame here. Any other JSON may come as well.
cars_of <- function(req) {
  sent <- req$json
  if (!is.list(sent)) dr_abort(422, "send {\"wt\": 2.5, \"hp\": 100}, or an array of such objects")
  missing <- setdiff(c("wt", "hp"), names(sent))
  if (length(missing)) dr_abort(422, paste("missing:", paste(missing, collapse = ", ")))
  if (!is.numeric(sent$wt) || !is.numeric(sent$hp)) dr_abort(422, "wt and hp must be numbers")
  if (length(sent$wt) != length(sent$hp)) dr_abort(422, "send as many values of wt as of hp")
  data.frame(wt = sent$wt, hp = sent$hp)
}

dr_post(app, "/predict", function(req) {
  cars <- cars_of(req)
  interval <- predict(model, cars, interval = "prediction", level = 0.9)
  # a data frame is sent as an array of objects, one for each row
  data.frame(round(interval, 2))
})

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
