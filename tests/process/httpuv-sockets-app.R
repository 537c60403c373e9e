# An app of httpuv with WebSockets. What its functions do is noted as `notes`; what they keep is of their process.
library(drover)
sys.source(Sys.getenv("GATES"), globalenv())

# Does what a message says.
does <- function(ws, message) {
  switch(sub(" .*", "", message),
    pid = ws$send(as.character(Sys.getpid())),
    fail = stop("it failed"),
    jump = invokeRestart("abort"),
    close = {
      ws$send("last")
      ws$close(4001, "enough")
      ws$send("after the close")
      ws$close()
    },
    odd = ws$close(1005L, strrep("\u00e9", 100)),
    number = ws$send(1.5),
    several = ws$send(c("first", "second")),
    none = ws$send(character()),
    stand = {
      ws$send("begun")
      stand_at(sub(".* ", "", message))
      ws$send("done")
    },
    slow = {
      Sys.sleep(2)
      ws$send("slow")
    },
    later = later::later(function() ws$send("later"), 0.01),
    promise = promises::then(promises::promise_resolve("kept"), function(value) ws$send(value)),
    flood = for (i in 1:100) ws$send(strrep("x", 1e5)),
    long = ws$send(as.character(nchar(message)))
  )
}

list(
  call = function(req) {
    body <- switch(req$PATH_INFO,
      "/pid" = as.character(Sys.getpid()),
      "/again" = {
        later::later(function() drover::dr_reload(), 0.01)
        "soon"
      },
      paste("a page at", req$PATH_INFO)
    )
    list(status = 200L, headers = list("Content-Type" = "text/plain"), body = body)
  },
  onHeaders = function(req) {
    if (identical(req$HTTP_X_KEY, "wrong")) {
      list(status = 401L, headers = list("Content-Type" = "text/plain"), body = "wrong key")
    }
  },
  onWSOpen = function(ws) {
    path <- ws$request$PATH_INFO
    n <- 0L
    if (path == "/torn") {
      ws$onClose(function() note("notes", "torn"))
      stop("no opening")
    }
    if (path == "/brief") note("notes", "opened")
    if (path == "/shut") ws$close(4002L, "not now")
    if (path == "/asked") {
      fields <- c("REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO", "QUERY_STRING", "HTTP_X_ONE", "HTTP_UPGRADE")
      ws$send(paste(c(unlist(mget(fields, ws$request)), class(ws)[[1L]]), collapse = "|"))
    }
    if (path == "/stand") stand_at("opening")
    ws$onMessage(function(binary, message) {
      n <<- n + 1L
      if (binary) return(ws$send(rev(message)))
      if (path == "/does") does(ws, message) else ws$send(message)
    })
    ws$onMessage(function(binary, message) {
      if (path == "/count") ws$send(paste(Sys.getpid(), n, class(message), binary))
    })
    ws$onClose(function() note("notes", paste("closed", path, n, is.null(ws$handle))))
    ws$onClose(function() if (path == "/sour") stop("in onClose"))
  }
)
