# Handlers that reach for the R session around them: its names, connections, processes, console and the server itself.

test_that("emptying or masking the global environment changes no answer", {
  server <- local_server({
    app <- dr_app()
    page <- tempfile(fileext = ".txt")
    writeLines("a file", page)
    constant <- function(value) {
      handler <- function(req) value
      environment(handler) <- list2env(list(value = value), parent = baseenv())
      handler
    }
    dr_get(app, "/text", constant("text"))
    dr_get(app, "/null", constant(NULL))
    dr_get(app, "/raw", constant(as.raw(1:3)))
    dr_get(app, "/list", constant(list(ok = TRUE, n = 1.5)))
    dr_get(app, "/frame", constant(data.frame(x = 1:2, day = as.Date("2026-01-01") + 0:1)))
    dr_get(app, "/time", constant(as.POSIXct("1970-01-01", tz = "UTC")))
    dr_get(app, "/complex", constant(1i))
    dr_get(app, "/closure", constant(function() NULL))
    dr_get(app, "/file", constant(dr_file(page)))
    dr_get(app, "/response", constant(dr_html("<p>", headers = list("X-One" = "1"))))
    fail <- function(req) stop("failed")
    environment(fail) <- baseenv()
    dr_get(app, "/fail", fail)
    param <- function(req) paste(req$params[["id"]], req$query[["q"]], req$headers[["host"]])
    environment(param) <- baseenv()
    dr_get(app, "/param/<id:int>", param)
    parsed <- function(req) req$json$x
    environment(parsed) <- baseenv()
    dr_post(app, "/json", parsed)
    empty <- function(req) {
      rm(list = ls(globalenv(), all.names = TRUE), envir = globalenv())
      "emptied"
    }
    environment(empty) <- baseenv()
    dr_get(app, "/empty", empty)
    mask <- function(req) {
      names <- setdiff(unique(c(
        ls(baseenv(), all.names = TRUE), getNamespaceExports("drover"), getNamespaceExports("jsonlite"),
        getNamespaceExports("stats"), getNamespaceExports("utils"), getNamespaceExports("later")
      )), c(".Random.seed", ".Last.value", ".Traceback"))
      trap <- eval(quote(function(...) base::stop("masked")), baseenv())
      for (name in names) assign(name, trap, envir = globalenv())
      length(names) > 1000
    }
    environment(mask) <- baseenv()
    dr_get(app, "/mask", mask)
    tamper <- function(req) {
      assign("T", FALSE, envir = globalenv())
      assign("F", TRUE, envir = globalenv())
      assign("pi", 3, envir = globalenv())
      "tampered"
    }
    environment(tamper) <- baseenv()
    dr_get(app, "/tamper", tamper)
  })
  targets <- c(
    "text", "null", "raw", "list", "frame", "time", "complex", "closure", "file", "response", "fail", "param/7?q=x", "none"
  )
  answers <- function() {
    out <- lapply(targets, function(target) fetch(server, paste0("/", target)))
    names(out) <- targets
    out$json <- fetch(server, "/json", "POST", c("Content-Type" = "application/json"), '{"x":["posted"]}')
    # each failure has an id of its own
    lapply(out, function(answer) c(answer$status, sub("[0-9a-f]{16}", "ID", answer$text)))
  }
  expected <- answers()
  expect_identical(vapply(expected, `[[`, "", 1), c(
    text = "200", null = "204", raw = "200", list = "200", frame = "200", time = "200", complex = "200", closure = "500", file = "200",
    response = "200", fail = "500", "param/7?q=x" = "200", none = "404", json = "200"
  ))
  expect_identical(fetch(server, "/empty")$text, "emptied")
  expect_identical(answers(), expected)
  expect_identical(fetch(server, "/mask")$text, "true")
  expect_identical(answers(), expected)
  expect_identical(fetch(server, "/tamper")$text, "tampered")
  expect_identical(answers(), expected)
  expect_true(server$process$is_alive())
})

test_that("closeAllConnections() closes R's connections, not the server's", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/close", function(req) {
      closeAllConnections()
      "closed"
    })
    dr_get(app, "/alive", function(req) "alive")
    dr_get(app, "/stop", function(req) stop("logged all the same"))
  })
  client <- raw_client(server$port)
  client_send(client, c(request_bytes("/alive"), request_bytes("/close"), request_bytes("/alive")))
  expect_identical(client_response(client)$text, "alive")
  expect_identical(client_response(client)$text, "closed")
  expect_identical(client_response(client)$text, "alive")
  expect_identical(fetch(server, "/stop")$status, 500L)
  expect_length(server$wait_log("logged all the same"), 1)
})

children_of <- function(pid) {
  pids <- list.files("/proc", "^[0-9]+$")
  Filter(function(child) {
    stat <- suppressWarnings(tryCatch(readLines(file.path("/proc", child, "stat")), error = function(e) ""))
    fields <- strsplit(sub("^.*\\) ", "", stat), " ")[[1]]
    length(fields) > 2 && fields[[2]] == pid && fields[[1]] != "Z"
  }, pids)
}

test_that("a fork that returns from the handler gives one answer, and its child ends", {
  skip_without_proc()
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/fork", function(req) {
      process <- parallel:::mcfork()
      if (inherits(process, "masterProcess")) "child" else "parent"
    })
    dr_get(app, "/fork-stop", function(req) {
      process <- parallel:::mcfork()
      if (inherits(process, "masterProcess")) stop("child") else "parent"
    })
    dr_get(app, "/alive", function(req) paste("alive", Sys.getpid()))
    dr_get(app, "/mclapply", function(req) unlist(parallel::mclapply(1:2, function(i) i^2, mc.cores = 2)))
    dr_get(app, "/system", function(req) system("echo from a shell", intern = TRUE))
    dr_get(app, "/descriptors", function(req) system("ls -l /proc/self/fd", intern = TRUE))
  })
  withr::defer(for (child in children_of(server$pid)) tools::pskill(as.integer(child), tools::SIGKILL))
  for (target in c("/fork", "/fork-stop")) {
    client <- raw_client(server$port)
    client_send(client, request_bytes(target))
    expect_identical(client_response(client)$text, "parent")
    expect_true(within(function() !length(children_of(server$pid))), label = paste("the child of", target, "is gone"))
    expect_length(client$buffer, 0)
    expect_false(client_fill(client, 0))
    expect_false(client$closed)
    client_send(client, request_bytes("/alive"))
    expect_identical(client_response(client)$text, paste("alive", server$pid))
    for (i in 1:10) expect_identical(fetch(server, "/alive")$text, paste("alive", server$pid))
  }
  expect_identical(fetch(server, "/mclapply")$text, "[1,4]")
  expect_identical(fetch(server, "/system")$text, "from a shell")
  listening <- listening_socket(server$port)
  expect_match(paste(Sys.readlink(list.files(file.path("/proc", server$pid, "fd"), full.names = TRUE)), collapse = " "), listening, fixed = TRUE)
  expect_false(grepl(listening, fetch(server, "/descriptors")$text, fixed = TRUE))
})

test_that("readline() and browser() read neither the script nor the standard input", {
  server <- local_script(c(
    "app <- dr_app()",
    "dr_get(app, '/readline', function(req) paste0('[', readline('name? '), ']'))",
    "dr_get(app, '/browser', function(req) { browser(); 'on' })",
    "stepped <- function() { 'stepped' }",
    "debug(stepped)",
    "dr_get(app, '/debug', function(req) stepped())",
    "dr_get(app, '/stop', function(req) { dr_stop(); 'stopped' })",
    "dr_serve(app, port = 0L, block = TRUE)",
    "writeLines('after 1')",
    "writeLines('after 2')"
  ))
  expect_identical(fetch(server, "/readline")$text, "[]")
  browsed <- fetch(server, "/browser")
  expect_true(browsed$status %in% c(200L, 500L))
  expect_true(fetch(server, "/debug")$status %in% c(200L, 500L))
  expect_false(any(grepl("^after", server$out())))
  fetch(server, "/stop")
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(grep("^after", server$out(), value = TRUE), c("after 1", "after 2"))
})

test_that("an interrupt while a handler sleeps costs that request, not a server in the background", {
  server <- local_script(c(
    "app <- dr_app()",
    "dr_get(app, '/sleep', function(req) { mark('sleep'); Sys.sleep(600); 'slept' })",
    "dr_get(app, '/alive', function(req) paste('alive', Sys.getpid()))",
    "dr_serve(app, port = 0L, block = FALSE)",
    "while (TRUE) later::run_now(1)"
  ))
  client <- raw_client(server$port)
  client_send(client, request_bytes("/sleep"))
  expect_true(marked(server, "sleep"))
  tools::pskill(server$pid, tools::SIGINT)
  expect_identical(client_response(client)$status, 500L)
  expect_identical(fetch(server, "/alive")$text, paste("alive", server$pid))
})

test_that("an interrupt while a handler of a blocking server sleeps answers it and stops the server", {
  server <- local_script(c(
    "app <- dr_app()",
    "dr_get(app, '/sleep', function(req) { mark('sleep'); Sys.sleep(600); 'slept' })",
    "dr_serve(app, port = 0L, block = TRUE)",
    "writeLines(paste('after', dr_running()))"
  ))
  client <- raw_client(server$port)
  client_send(client, request_bytes("/sleep"))
  expect_true(marked(server, "sleep"))
  tools::pskill(server$pid, tools::SIGINT)
  expect_identical(client_response(client)$status, 500L)
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$process$get_exit_status(), 0L)
  expect_identical(server$out(), "after FALSE")
})

test_that("dr_stop() in a handler answers the request, then stops the server", {
  server <- local_script(c(
    "app <- dr_app()",
    "dr_get(app, '/stop', function(req) { dr_stop(); 'stopped' })",
    "dr_get(app, '/alive', function(req) 'alive')",
    "dr_serve(app, port = 0L, block = TRUE)",
    "writeLines(paste('after', dr_running()))"
  ))
  expect_identical(fetch(server, "/alive")$text, "alive")
  expect_identical(fetch(server, "/stop")$text, "stopped")
  expect_true(within(function() !server$process$is_alive()))
  expect_identical(server$process$get_exit_status(), 0L)
  expect_identical(server$out(), "after FALSE")
  expect_error(suppressWarnings(raw_client(server$port)))
})

test_that("later::run_now() in a handler mixes up no answers", {
  server <- local_server({
    app <- dr_app()
    ticks <- 0L
    tick <- function() {
      ticks <<- ticks + 1L
      later::later(tick, 0.01)
    }
    tick()
    dr_get(app, "/nest/<id>", function(req) {
      for (i in 1:5) later::run_now(0.02)
      paste("nested", req$params[["id"]], ticks > 0)
    })
    dr_get(app, "/plain/<id>", function(req) paste("plain", req$params[["id"]]))
  })
  clients <- raw_clients(8, server$port)
  kind <- rep(c("nest", "plain"), 4)
  for (i in 1:8) client_send(clients[[i]], request_bytes(paste0("/", kind[[i]], "/", i)))
  for (i in 1:8) {
    expected <- paste0(if (kind[[i]] == "nest") "nested " else "plain ", i, if (kind[[i]] == "nest") " TRUE")
    expect_identical(client_response(clients[[i]])$text, expected)
  }
})

test_that("dr_serve() in a handler is refused with a classed error", {
  server <- local_server({
    app <- dr_app()
    dr_get(app, "/again", function(req) {
      tryCatch({
        dr_serve(app, port = 0L, block = FALSE)
        "served"
      }, drover_error = function(e) class(e)[[1]])
    })
    dr_get(app, "/again-uncaught", function(req) dr_serve(app, port = 0L, block = TRUE))
    dr_get(app, "/alive", function(req) "alive")
  })
  expect_match(fetch(server, "/again")$text, "^drover_error_")
  expect_identical(fetch(server, "/again-uncaught")$status, 500L)
  expect_identical(fetch(server, "/alive")$text, "alive")
})

test_that("the object of a request is used for the next one unless a handler kept something of it", {
  server <- local_server({
    app <- dr_app()
    kept <- list()
    dr_get(app, "/address", function(req) {
      address <- .Internal(address(req))
      utils::capture.output(print(address))
    })
    dr_get(app, "/read/<x>", function(req) paste(req$params$x, req$query$q, req$headers$host))
    dr_get(app, "/keep", function(req) {
      kept[[length(kept) + 1L]] <<- req
      "kept"
    })
    dr_get(app, "/leave", function(req) {
      kept[[length(kept) + 1L]] <<- function() req$path
      "left"
    })
  })
  address <- function() http(server, "/address")$body
  first <- address()
  expect_match(first, "0x")
  # making one takes longer than all else that R does for a small request
  expect_identical(address(), first)
  http(server, "/read/1?q=2")
  expect_identical(address(), first)
  for (path in c("/keep", "/leave")) {
    http(server, path)
    now <- address()
    expect_false(now == first, info = path)
    first <- now
  }
})
