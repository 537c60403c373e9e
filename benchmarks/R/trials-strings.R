# The trial of floods of R's string cache: CPU of the worker for requests whose strings collide there, against as many
# and as long ones whose strings do not. What the strings are: ../../tests/testthat/helper-floods.R.

trial_strings <- function(bench) {
  make <- floods_client(bench)
  json <- list(path = "/json", type = "application/json", write = make$json_of_strings)
  form <- list(path = "/form", type = "application/x-www-form-urlencoded", write = function(x) {
    paste0(x, "=1", collapse = "&")
  })
  query <- list(path = "/query", write = form$write)
  cookies <- list(path = "/cookies", header = "Cookie", write = function(x) paste0(x, "=1", collapse = "; "))
  # two that do not collide beside each few that do
  mixed <- json
  mixed$write <- function(x) make$json_of_strings(c(x, paste0(sample(letters, 2L), sample(1e8, 2L))))
  cases <- list(
    list("JSON, 1 string", json, n = 4000L, each = 1L), list("JSON, 3 strings", json, n = 4000L, each = 3L),
    list("JSON, 3 and 2 that do not collide", mixed, n = 4000L, each = 3L),
    list("form, 3 names", form, n = 4000L, each = 3L), list("query, 3 names", query, n = 4000L, each = 3L),
    list("cookies, 3 names", cookies, n = 4000L, each = 3L),
    list("JSON of 7 kB", json, n = 600L, each = 220L, large = TRUE),
    list("JSON of 47 kB", json, n = 100L, each = 1340L, large = TRUE)
  )
  rows <- do.call(rbind, lapply(cases, function(case) {
    do.call(rbind, lapply(seq_len(bench$options$rounds), function(round) {
      # each meets a server that has not met the others
      peer <- start_drover(bench, workers = 1L)
      on.exit(stop_peer(peer))
      server <- list(port = peer$port, pid = worker_pids(peer))
      how <- case[[2]]
      ask <- function(bodies) do.call(make$spent, c(list(server, how$path, bodies), how[intersect(names(how), c("type", "header"))]))
      large <- isTRUE(case$large)
      benign <- ask(make$requests_of(function(n) make$benign(n, 28L), case$n, case$each, how$write))
      hostile <- ask(if (large) {
        # not made at once: this session's own string cache is no better than the server's
        vapply(seq_len(case$n), function(i) make$colliding_json(i * 100, case$each, blocks = 14L), "")
      } else {
        make$requests_of(make$colliding, case$n, case$each, how$write)
      })
      figures("strings", case[[1]], round, benign_us = 1e6 * benign[["cpu"]] / case$n,
        colliding_us = 1e6 * hostile[["cpu"]] / case$n, ratio = hostile[["cpu"]] / benign[["cpu"]],
        refused = 100 * hostile[["refused"]] / case$n, benign_refused = benign[["refused"]])
    }))
  }))
  ratio <- by_case(rows, "ratio")
  list(figures = rows, table = string_table(rows), verdicts = verdict_row(
    "strings that collide in R's string cache: CPU", "at most 1.5x strings that do not, none of which is refused",
    sprintf("%d of %d; %.1fx at most", sum(ratio <= 1.5), length(ratio), max(ratio)),
    all(ratio <= 1.5) && all(by_case(rows, "benign_refused") == 0)
  ))
}

# The makers of strings and the client of the tests, in an environment of their own.
floods_client <- function(bench) {
  client <- new.env(parent = globalenv())
  for (file in c("helper-raw-http.R", "helper-floods.R")) {
    sys.source(file.path(dirname(bench$root), "tests", "testthat", file), client)
  }
  client
}

string_table <- function(rows) {
  value <- function(figure) by_case(rows, figure)
  c("Strings that collide in R's string cache; CPU of the worker for a request, one client without pauses.", "",
    markdown_table(list(
      "requests" = names(value("ratio")), "benign us" = sprintf("%.0f", value("benign_us")),
      "colliding us" = sprintf("%.0f", value("colliding_us")), "ratio" = sprintf("%.2f", value("ratio")),
      "refused %" = sprintf("%.0f", value("refused"))
    ), right = 2:5))
}
