# Random numbers of workers.

random_app <- function() {
  app <- dr_app()
  dr_get(app, "/draw", function(req) {
    note("at-draw", Sys.getpid())
    stand_at("draw")
    paste(Sys.getpid(), format(stats::runif(1L), digits = 15))
  })
  app
}

# A draw of each worker, by its place in dr_status().
draws <- function(server, n) {
  parts <- strsplit(texts(fetch_held(server, "/draw", "draw", n)), " ")
  values <- vapply(parts, `[[`, "", 2L)
  names(values) <- vapply(parts, `[[`, "", 1L)
  values[as.character(dr_status()$pid)]
}

test_that("no two workers draw the same numbers, though they are copies of one session", {
  withr::local_seed(1)
  server <- serve_workers(random_app(), 4L)
  first <- draws(server, 4L)
  expect_length(unique(first), 4L)
  dr_stop()
  # and the seed of the session is none of theirs
  set.seed(1)
  server <- serve_workers(random_app(), 4L)
  expect_false(any(draws(server, 4L) %in% first))
})

test_that("the session's own random numbers are left alone", {
  withr::local_seed(2)
  expected <- stats::runif(1)
  set.seed(2)
  serve_workers(random_app(), 2L)
  expect_identical(stats::runif(1), expected)
})

test_that("with L'Ecuyer-CMRG and a seed, workers have the streams after it: the same in every run", {
  run <- function() {
    withr::local_seed(3, .rng_kind = "L'Ecuyer-CMRG")
    server <- serve_workers(random_app(), 3L)
    on.exit(dr_stop())
    sort(unname(draws(server, 3L)))
  }
  first <- run()
  expect_identical(run(), first)
  withr::local_seed(3, .rng_kind = "L'Ecuyer-CMRG")
  seed <- get(".Random.seed", globalenv())
  expected <- vapply(1:20, function(i) {
    seed <<- parallel::nextRNGStream(seed)
    assign(".Random.seed", seed, globalenv())
    format(stats::runif(1L), digits = 15)
  }, "")
  expect_true(all(first %in% expected))
})

test_that("seeds are integers that R takes, and differ", {
  numbers <- c(0:2000, 1e6, 3e6)
  for (base in c(0, 1, 2^31, 2^32 - 1)) {
    seeds <- vapply(numbers, function(number) drover:::worker_seed(base, number), 0L)
    expect_false(anyNA(seeds))
    expect_false(anyDuplicated(seeds) > 0)
  }
})
