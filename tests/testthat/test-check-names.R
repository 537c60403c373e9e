# Wrong names of arguments are errors that say which is meant, wherever R itself lets them pass.

fails <- function(code, says) expect_error(code, says, class = "drover_error_argument", fixed = TRUE)

test_that("names that functions with `...` do not have are errors", {
  fails(dr_json(1, statsu = 404L), "`statsu` is not an argument of dr_json(): did you mean `status`?")
  fails(drover::dr_json(1, code = 404L), "`code` is not an argument of dr_json()")
  fails(dr_json(1, autounbox = FALSE), "did you mean `auto_unbox`?")
  fails(dr_json(1, dataframes = "rows"), "did you mean `dataframe`?")
  fails(dr_json(1, 200L, list(), TRUE, "rows"), "by name")
  fails(dr_to_json(1, unbox = TRUE), "`unbox` is not an argument of dr_to_json()")
  fails(dr_to_json(1, posixt = "epoch"), "did you mean `POSIXt`?")
  fails(do.call(dr_json, list(1, dataframe_ = "rows")), "did you mean `dataframe`?")
  fails(dr_serve(dr_app(), prot = 1), "`prot` is not an argument of dr_serve(): did you mean `port`?")
  fails(dr_get_cpp(dr_app(), "/", "stats", "x", in_line = TRUE), "did you mean `inline`?")
  fails(dr_abort(404, heders = list()), "did you mean `headers`?")
  expect_error(dr_abort(404, user = "ada"), class = "drover_error_http")
  expect_identical(dr_json(1, status = 201L, na = "string", UTC = TRUE)$status, 201L)
})

test_that("names that are shortened are errors", {
  fails(dr_json(1, stat = 404L), "did you mean `status`?")
  fails(dr_serve(dr_app(), work = 2), "did you mean `workers`?")
  fails(dr_text("x", stat = 404L), "`stat` is not an argument of dr_text(): did you mean `status`?")
  fails(dr_response("x", head = list()), "did you mean `headers`?")
  fails(dr_html("x", stat = 404L), "did you mean `status`?")
  fails(dr_file(tempdir(), content = "a/b"), "did you mean `content_type`?")
  fails(dr_get(dr_app(), "/", hand = identity), "did you mean `handler`?")
  fails(dr_use(dr_app(), mid = function(req, nxt) nxt()), "did you mean `middleware`?")
  fails(dr_static(dr_app(), mou = "/", dir = "."), "did you mean `mount`?")
  expect_identical(dr_text(body = "x", status = 404L)$status, 404L)
})
