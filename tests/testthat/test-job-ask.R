# A client of an app whose route POST /do calls `does`, which tests set by $does(), and its job routes.
local_job_client <- function(frame = parent.frame()) {
  does <- NULL
  app <- dr_app()
  dr_job(app, "/own/<kind>", function(req) {
    dr_progress(1, 4, "begun")
    switch(req$params$kind,
      json = list(n = 1:3, user = req$auth$user, scopes = req$auth$scopes), text = "\u00e9", bytes = as.raw(0:2),
      nothing = NULL, fails = dr_abort(422, "no such column")
    )
  }, private = TRUE)
  dr_job(app, "/open", function(req) "open")
  dr_post(app, "/do", function(req) {
    tryCatch(does(), drover_error = function(error) paste(class(error)[[1L]], conditionMessage(error)))
  })
  client <- dr_test(app)
  withr::defer(client$stop(), envir = frame)
  client$does <- function(expr) {
    does <<- function() expr
    client$post("/do")
  }
  client
}

# What an expression gives in a handler of the client's app.
in_handler <- function(client, expr) {
  value <- NULL
  expr <- substitute(expr)
  frame <- parent.frame()
  response <- client$does({
    value <- eval(expr, frame)
    "done"
  })
  if (identical(response$text, "done")) value else response$text
}

# Waits for the end of a job: its state.
job_over <- function(client, id) {
  state <- NULL
  within(function() {
    state <<- in_handler(client, dr_job_state(id))
    !state$state %in% c("waiting", "running")
  })
  state
}

test_that("a handler asks for a job: how it is, and what has come of it", {
  client <- local_job_client()
  auth <- list(scheme = "jwt", user = "ann", claims = list(sub = "ann"), scopes = c("a", "b"))
  id <- in_handler(client, dr_enqueue("/own/json", key = "the one", auth = auth))
  state <- job_over(client, id)
  expect_identical(state[c("id", "state", "kind", "attempt", "key")],
    list(id = id, state = "done", kind = "POST /own/<kind>", attempt = 1L, key = "the one"))
  expect_s3_class(state$created, "POSIXct")
  expect_true(state$created <= state$began && state$began <= state$ended)
  expect_null(state$progress)
  expect_identical(in_handler(client, dr_job_result(id)), list(n = 1:3, user = "ann", scopes = c("a", "b")))
  result_of <- function(kind) {
    id <- in_handler(client, dr_enqueue(paste0("/own/", kind)))
    job_over(client, id)
    in_handler(client, dr_job_result(id))
  }
  expect_identical(result_of("text"), "\u00e9")
  expect_identical(result_of("bytes"), as.raw(0:2))
  expect_identical(result_of("nothing"), raw())
  expect_identical(result_of("fails"), "drover_error_jobs the job has failed: no such column")
  # one of a client's, too, whose key is not told
  place <- client$post("/open", headers = c("idempotency-key" = "its own"))$json$url
  id <- basename(place)
  expect_null(job_over(client, id)$key)
  expect_identical(in_handler(client, dr_job_result(id)), "open")
})

test_that("a job that is not over has no result, and is cancelled once", {
  client <- local_job_client()
  id <- in_handler(client, dr_enqueue("/own/text", at = "1h"))
  state <- in_handler(client, dr_job_state(id))
  expect_identical(state$state, "scheduled")
  expect_s3_class(state$due, "POSIXct")
  expect_identical(in_handler(client, dr_job_result(id)), "drover_error_jobs the job is not over")
  expect_true(in_handler(client, dr_job_cancel(id)))
  expect_false(in_handler(client, dr_job_cancel(id)))
  expect_identical(in_handler(client, dr_job_state(id))$state, "cancelled")
  expect_identical(in_handler(client, dr_job_result(id)), "drover_error_jobs the job was cancelled")
  for (none in c(strrep("0", 32L), "", "x", "\u00fc\n", strrep("0", 1e5))) {
    expect_null(in_handler(client, dr_job_state(none)))
    expect_false(in_handler(client, dr_job_cancel(none)))
    expect_match(in_handler(client, dr_job_result(none)), "^drover_error_jobs there is no such job")
  }
})

test_that("a private job is there for the app alone", {
  client <- local_job_client()
  id <- in_handler(client, dr_enqueue("/own/json"))
  for (path in c("/own/json", paste0("/own/json/", id), paste0("/own/json/", id, "/result"))) {
    for (method in c("get", "post", "delete")) expect_identical(client[[method]](path)$status, 404L)
  }
  app <- dr_app()
  dr_job(app, "/open", function(req) 1)
  dr_job(app, "/own", function(req) 1, private = TRUE)
  expect_identical(names(drover:::openapi(app)$paths), c("/open", "/open/{job}", "/open/{job}/result"))
  app <- dr_app()
  dr_get(app, "/:any", function(any) any)
  dr_job(app, "/mails", function(req) 1, private = TRUE, every = "1d")
  # no route goes before one that no client reaches
  expect_silent(drover:::compile_app(app))
})

test_that("wrong arguments are named, and so is that there is no server", {
  for (wrong in list(NULL, NA_character_, 7, c("a", "b"))) {
    expect_argument_error(dr_job_state(wrong), "`id` must be a single string")
    expect_argument_error(dr_job_result(wrong), "`id` must be a single string")
    expect_argument_error(dr_job_cancel(wrong), "`id` must be a single string")
  }
  expect_error(dr_job_state("x"), class = "drover_error_state")
  expect_argument_error(dr_job(dr_app(), "/a", function(req) 1, private = NA), "`private` must be TRUE or FALSE")
  for (wrong in list("ann", list(user = "ann"), list(scheme = 7), list("jwt"))) {
    expect_argument_error(dr_enqueue("/own/json", auth = wrong), "`auth` must be `req$auth`, or NULL", fixed = TRUE)
  }
})
