# What of pools needs no server; tests/process/test-pools.R has the rest.

test_that("names of pools are checked where they are given", {
  app <- dr_app()
  for (wrong in list("", "a b", 7, c("a", "b"), strrep("x", 65), NA_character_)) {
    expect_error(dr_get(app, "/", function(req) 1, pool = wrong), "`pool` must be the name of a pool", class = "drover_error_argument")
    expect_error(dr_mount(app, "/x", dr_app(), pool = wrong), "`pool` must be", class = "drover_error_argument")
  }
  expect_error(dr_on_worker_start(app, function() 1, pool = "a b"), "or \"\", or NULL", class = "drover_error_argument")
  expect_error(dr_job(app, "/j", function(req) 1, pool = 1), "`pool` must be", class = "drover_error_argument")
  sockets <- list(call = function(req) list(status = 200L), onWSOpen = function(ws) NULL)
  expect_error(dr_mount(app, "/s", sockets, pool = "a"), "an app of httpuv or Shiny cannot", class = "drover_error_argument")
  dr_on_worker_stop(app, function() 1, pool = "")
  dr_get(app, "/", function(req) 1, pool = "gpu_1-a")
  expect_match(format(app), "GET  /  \\[pool gpu_1-a\\]", all = FALSE)
})

test_that("the engine gets numbers of pools, and workers the hooks of theirs", {
  outer <- dr_app()
  inner <- dr_app()
  shared <- dr_app()
  mark <- function(text) function() text
  dr_get(outer, "/a", function(req) 1, pool = "one")
  dr_get(outer, "/b", function(req) 1)
  dr_get(inner, "/c", function(req) 1, pool = "three")
  dr_get(inner, "/d", function(req) 1)
  dr_mount(outer, "/inner", inner, pool = "two")
  dr_mount(outer, "/here", shared)
  dr_mount(outer, "/there", shared, pool = "two")
  for (app in list(outer, inner, shared)) local({
    name <- c("outer", "inner", "shared")[[which(vapply(list(outer, inner, shared), identical, NA, app))]]
    dr_on_worker_start(app, mark(name))
  })
  dr_on_worker_start(outer, mark("of one"), pool = "one")
  dr_on_worker_start(outer, mark("of none"), pool = "")
  compiled <- compile_app(outer)
  expect_equal(compiled$pools, c("one", "three", "two"))
  expect_equal(lapply(compiled$routes, `[[`, "pool"), list(1L, NULL, 2L, 3L))
  hooks <- worker_hooks(outer, NULL, NULL)$start
  run <- function(pool) vapply(hooks_in_pool(hooks, pool), function(hook) hook(), "")
  # an app that is mounted with and without one has its hooks in all
  expect_equal(run("one"), c("outer", "of one", "shared"))
  expect_equal(run("two"), c("outer", "inner", "shared"))
  expect_equal(run(""), c("outer", "of none", "shared"))
})

test_that("an app names 15 pools at most", {
  app <- dr_app()
  for (i in 1:16) dr_get(app, paste0("/", i), function(req) 1, pool = paste0("p", i))
  expect_error(compile_app(app), "may have 15 pools of workers, and the routes of this one name 16", class = "drover_error_argument")
})

test_that("how many workers pools have is said by numbers or lines", {
  expect_null(dr_pool()$pools)
  expect_equal(dr_pool(pools = list(gpu = 1, fits = c(0, 2), auto = "auto"))$pools, c("gpu=1", "fits=0-2", "auto=auto"))
  expect_equal(dr_pool(pools = c(gpu = 1))$pools, "gpu=1")
  expect_equal(dr_pool(pools = "gpu=1,max_rss=8GB")$pools, "gpu=1,max_rss=8GB")
  for (wrong in list(list(gpu = 1:3), list(gpu = NA), list(gpu = TRUE), 3, list(gpu = 1, gpu = 2), list(gpu = 1, 2))) {
    expect_error(dr_pool(pools = wrong), "`pools` must be", class = "drover_error_argument")
  }
  expect_error(
    dr_serve(dr_get(dr_app(), "/", function(req) 1, pool = "a"), port = 0, workers = 2, pool = dr_pool(pools = "a=0")),
    "pools must be NAME=WORKERS", class = "drover_error"
  )
})
