# The request object in unkind hands: kept beyond its request, read late, taken apart. No request ever sees another's
# data, and the next one finds a whole object.

server <- local_server({
  app <- dr_app()
  kept <- list()
  summary_of <- function(req) {
    tryCatch(paste(req$method, req$path, req$query[["n"]], req$headers[["x-n"]], req$body), error = function(e) "error")
  }
  dr_post(app, "/keep/<id>", function(req) {
    kept[[length(kept) + 1L]] <<- req
    "kept"
  })
  dr_post(app, "/keep-read/<id>", function(req) {
    force(req$path)
    kept[[length(kept) + 1L]] <<- req
    "kept"
  })
  dr_get(app, "/kept", function(req) {
    out <- vapply(kept, summary_of, "")
    kept <<- list()
    gc()
    out
  })
  dr_post(app, "/late/<id>", function(req) {
    once_open("late", function() summary_of(req))
  })
  dr_post(app, "/then/<id>", function(req) {
    promises::then(promises::promise_resolve(1), function(x) once_open("then", function() summary_of(req)))
  })
  dr_post(app, "/now/<id>", function(req) summary_of(req))
  unkind <- list(
    remove = function(req) rm(list = ls(req, all.names = TRUE), envir = req),
    remove_some = function(req) rm(list = c("path", "body"), envir = req),
    lock = function(req) lockEnvironment(req, TRUE),
    lock_binding = function(req) lockBinding("path", req),
    bind = function(req) {
      rm("path", envir = req)
      makeActiveBinding("path", function() stop("trap"), req)
    },
    assign = function(req) for (name in ls(req)) try(assign(name, "spoilt", envir = req), silent = TRUE),
    attributes = function(req) {
      attr(req, "x") <- "y"
      attributes(req) <- NULL
    },
    class = function(req) class(req) <- "evil",
    parent = function(req) parent.env(req) <- globalenv(),
    list = function(req) as.list(req, all.names = TRUE),
    eapply = function(req) eapply(req, identity, all.names = TRUE),
    serialize = function(req) unserialize(serialize(req, NULL)),
    print = function(req) {
      print(req)
      utils::str(req)
      format(req)
      utils::capture.output(print.default(req))
    },
    evaluate = function(req) evalq({
      path
      body
      method <- "spoilt"
    }, req),
    with = function(req) with(as.list(req), path),
    attach = function(req) {
      attach(req, name = "request")
      detach("request")
    },
    finalizer = function(req) reg.finalizer(req, function(e) e$path),
    closure = function(req) {
      f <- function() 1
      environment(f) <- req
      req$f <- f
      f()
    },
    collect = function(req) {
      for (name in ls(req)) try(get(name, envir = req), silent = TRUE)
      gc()
    }
  )
  dr_get(app, "/unkind", function(req) names(unkind))
  dr_post(app, "/unkind/<how>", function(req) {
    unkind[[req$params[["how"]]]](req)
    "done"
  })
}, frame = teardown_env())

ask <- function(path, n) {
  c(charToRaw(paste0("POST ", path, "/", n, "?n=", n, " HTTP/1.1\r\nHost: a\r\nX-N: ", n, "\r\nContent-Length: 4\r\n\r\n")), charToRaw(sprintf("b%03d", n)))
}
own <- function(path, n) sprintf("POST %s/%d %d %d b%03d", path, n, n, n, n)

test_that("a kept request still is that request, or an error, but never another one", {
  for (path in c("/keep", "/keep-read")) {
    client <- raw_client(server$port)
    for (n in 1:5) client_send(client, ask(path, n))
    for (n in 6:10) client_send(client, ask("/now", n))
    for (n in 1:5) expect_identical(client_response(client)$text, "kept")
    for (n in 6:10) expect_identical(client_response(client)$text, own("/now", n))
    read <- jsonlite::fromJSON(fetch(server, "/kept")$text)
    expect_length(read, 5)
    for (n in 1:5) expect_true(read[[n]] %in% c("error", own(path, n)), label = paste(path, read[[n]]))
  }
})

test_that("a promise reads its own request, however many were served meanwhile", {
  skip_if_not_installed("promises")
  for (path in c("/late", "/then")) {
    clients <- raw_clients(8, server$port)
    for (n in 1:8) client_send(clients[[n]], ask(path, n))
    expect_true(marked(server, basename(path)))
    for (n in 11:30) expect_identical(fetch_bytes(server, ask("/now", n))$text, own("/now", n))
    open_gate(server, basename(path))
    for (n in 1:8) expect_identical(client_response(clients[[n]])$text, own(path, n))
  }
})

test_that("whatever a handler does to its request, the next one is whole", {
  for (how in jsonlite::fromJSON(fetch(server, "/unkind")$text)) {
    status <- fetch(server, paste0("/unkind/", how), "POST", body = "body")$status
    # reading every field finds that the body is no JSON: 400
    expect_true(status %in% c(200L, 400L, 500L), label = how)
    for (n in 1:3) expect_identical(fetch_bytes(server, ask("/now", n))$text, own("/now", n), label = paste("after", how))
  }
})
