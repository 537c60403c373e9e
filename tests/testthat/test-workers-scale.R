# dr_scale(): another number of workers of a server of this session.

test_that("workers come and go, and a reload keeps their number", {
  server <- serve_workers(pid_app(), 1:2)
  old <- dr_status()$pid
  expect_identical(withVisible(dr_scale(3)), list(value = NULL, visible = FALSE))
  expect_true(idle_until(function() sum(dr_status()$state == "idle") == 3L))
  expect_true(old %in% dr_status()$pid)
  dr_scale(c(1, 2))
  expect_true(idle_until(function() nrow(dr_status()) == 2L))
  dr_reload()
  expect_true(idle_until(function() identical(dr_status()$generation, c(2L, 2L))))
  expect_identical(fetch(server, "/pid")$status, 200L)
})

test_that("what it cannot do is told", {
  expect_error(dr_scale(2), "no server runs in this session", class = "drover_error_not_running")
  for (wrong in list(0, 1025, c(3, 2), "two", NA, NULL, 1.5)) {
    expect_error(dr_scale(wrong), "`workers` must be a single integer in 1..1024", class = "drover_error_argument")
  }
  serve_workers(pid_app(), 1L)
  expect_error(dr_scale(2), "handlers run in this session, which has no workers", class = "drover_error_not_running")
})
