# Tools for language models, by the Model Context Protocol: functions, a picture, a long computation that reports its
# progress, and a route of the app.
#
#   drover serve app.R --workers 2
#   python3 client.py http://127.0.0.1:8080/mcp    a client of the package `mcp`; or name that address in your assistant
#   python3 client.py drover mcp app.R             the same with a server of the client's own; or name that command

library(drover)

app <- dr_app()
fitted <- lm(dist ~ speed, cars)

dr_get(app, "/stopping-distance", function(speed) {
  list(feet = unname(predict(fitted, list(speed = speed))))
}, params = list(speed = dr_dbl(min = 1, max = 60, description = "in mph")),
operation_id = "stopping_distance", summary = "The stopping distance in feet of a car of 1920, by its speed in mph")

summarise <- dr_tool(
  function(column) {
    values <- mtcars[[as.character(column)]]
    list(n = length(values), mean = mean(values), sd = sd(values))
  },
  "summarise_cars", "Mean and standard deviation of a column of the data set mtcars, cars of 1974",
  list(column = dr_factor(names(mtcars))), read_only = TRUE
)

histogram <- dr_tool(
  function(column, bins) {
    dr_png(hist(mtcars[[as.character(column)]], breaks = bins, main = as.character(column), xlab = ""))
  },
  "histogram_cars", "A histogram of a column of the data set mtcars, as a picture",
  list(column = dr_factor(names(mtcars)), bins = dr_int(min = 1, max = 50, default = 10L)), read_only = TRUE
)

bootstrap <- dr_tool(
  function(column, rounds) {
    values <- mtcars[[as.character(column)]]
    means <- numeric(rounds)
    for (i in seq_len(rounds)) {
      means[[i]] <- mean(sample(values, replace = TRUE))
      if (i %% 100 == 0) dr_progress(i, rounds, "resampling")
    }
    if (sd(means) == 0) dr_abort(422, "this column has one value only: choose another one")
    list(mean = mean(means), from = unname(quantile(means, 0.025)), to = unname(quantile(means, 0.975)))
  },
  "bootstrap_mean", "A confidence interval of 95 % for the mean of a column of mtcars, by bootstrap",
  list(column = dr_factor(names(mtcars)), rounds = dr_int(min = 100, max = 10000, default = 1000L))
)

dr_mcp(
  app, "/mcp", tools = list(summarise, histogram, bootstrap), name = "cars",
  instructions = "Facts on cars of 1920 and 1974. Distances are in feet, speeds in mph."
)

app
