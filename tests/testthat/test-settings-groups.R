# A default as the table has it: flags as the command line and TOML have them, nothing where there is none.
in_table <- function(default) {
  if (is.null(default)) return(NA_character_)
  shown <- format(default[[1L]], scientific = FALSE)
  if (is.logical(default)) tolower(shown) else shown
}

test_that("each group has the settings of the table, with their defaults", {
  table <- drover:::settings_table()
  makers <- list(limits = dr_limits, timeouts = dr_timeouts, pool = dr_pool)
  for (group in names(makers)) {
    given <- formals(makers[[group]])
    given <- given[names(given) != "..."]
    rows <- table[table$Group == group & table$Name != "workers", ]
    expect_setequal(names(given), rows$Name)
    for (name in rows$Name) {
      expect_identical(in_table(eval(given[[name]])), rows[name, "Default"], label = name)
    }
    expect_s3_class(makers[[group]](), c(paste0("dr_", group), "dr_settings"), exact = TRUE)
  }
  own <- formals(dr_serve)
  for (name in table$Name[table$Group == "serving"]) {
    default <- eval(own[[name]])
    expected <- table[name, "Default"]
    if (is.na(expected)) {
      expect_true(is.null(default) || isFALSE(default), label = name)
    } else {
      expect_identical(in_table(default), expected, label = name)
    }
  }
})

test_that("groups take units, and name what is wrong with an argument", {
  expect_identical(dr_limits(max_body = "10MB")$max_body, 1e7)
  expect_identical(dr_timeouts(timeout = "2m")$timeout, 120)
  expect_identical(dr_pool(start = "spawn")$start, "spawn")
  expect_argument_error(dr_limits(max_bdoy = 1), "`max_bdoy` is not an argument of dr_limits\\(\\): did you mean `max_body`")
  expect_argument_error(dr_limits(10), "it holds an unnamed argument")
  expect_argument_error(dr_limits(max_request_line = 70000), "`max_request_line` must be a single integer in 1..65534")
  expect_argument_error(dr_timeouts(keep_alive = 0), "`keep_alive` must be a single number of seconds > 0")
  expect_argument_error(dr_pool(start = "thread"), "`start` must be \"auto\", \"fork\" or \"spawn\"")
  app <- dr_get(dr_app(), "/", function() "x")
  expect_argument_error(dr_serve(app, limits = list(max_body = 1)), "`limits` must be what dr_limits\\(\\) makes, not")
  expect_argument_error(dr_serve(app, pool = dr_limits()), "`pool` must be what dr_pool\\(\\) makes")
  expect_identical(format(dr_timeouts())[[1L]], "<dr_timeouts>")
  expect_match(format(dr_timeouts())[[2L]], "^  header_timeout +10$")
})

test_that("a server heeds them", {
  server <- local_server(c(
    "app <- dr_app()", "dr_post(app, '/', function(req) 'ok', timeout = 600)",
    "dr_get(app, '/late', function(req) stand_at('late'))"
  ), workers = 2L, limits = quote(dr_limits(max_body = 10)), timeouts = quote(dr_timeouts(timeout = "300ms")),
  pool = quote(dr_pool(start = "spawn")))
  expect_identical(http(server, "/", "-d", "1234567890")$status, 200L)
  expect_identical(http(server, "/", "-d", "12345678901")$status, 413L)
  expect_identical(http(server, "/late")$status, 504L)
  expect_false(any(grepl("deprecated", server$log())))
})

test_that("arguments that have moved into groups still count, and a message says once where they are", {
  server <- local_server(c(
    "app <- dr_app()", "dr_post(app, '/', function(req) 'ok')",
    "try(dr_serve(app, max_body = 9, on_worker_stop = 1), silent = TRUE)"
  ), max_body = "10B", keep_alive = 5, limits = quote(dr_limits(max_headers = 20)))
  expect_identical(http(server, "/", "-d", "1234567890")$status, 200L)
  expect_identical(http(server, "/", "-d", "12345678901")$status, 413L)
  headers <- c(rbind("-H", sprintf("a%d: 1", 1:20)))
  expect_identical(do.call(http, c(list(server, "/", "-d", "1"), as.list(headers)))$status, 431L)
  told <- grep("deprecated", server$log(), value = TRUE)
  expect_identical(told, sprintf(
    "drover: dr_serve(%1$s = ...) is deprecated: write dr_serve(%2$s(%1$s = ...)); the next release does not take the old way",
    c("max_body", "keep_alive"), c("limits = dr_limits", "timeouts = dr_timeouts")
  ))
})
