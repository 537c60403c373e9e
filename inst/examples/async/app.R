# Answers that come later: while one request waits, R answers others. Needs the package 'promises'.
# It is for waiting (other services, child processes), not for computing: R computes one thing at a time.

library(drover)

# A promise of `value` in some seconds, by the event loop of 'later'.
after <- function(seconds, value) {
  promises::promise(function(resolve, reject) later::later(function() resolve(value), seconds))
}

app <- dr_app()

dr_get(app, "/now", function(req) "at once\n")

# A handler may return a promise of anything that it may return.
dr_get(app, "/slow", function(req) {
  promises::then(after(0.5, list(waited = 0.5)), function(value) {
    value$finished <- TRUE
    value
  })
})

# A promise that fails is answered as an error is; dr_abort() works there, too.
dr_get(app, "/fails", function(req) {
  promises::then(after(0.05, NULL), function(value) dr_abort(502, "the other service is down"))
})

# A child process, looked at every 20 ms until it has ended.
dr_get(app, "/child", function(req) {
  promises::promise(function(resolve, reject) {
    file <- tempfile()
    system2("sh", c("-c", shQuote("sleep 0.2; echo from the child")), stdout = file, wait = FALSE)
    look <- function() {
      if (file.exists(file) && file.size(file) > 0) {
        resolve(dr_text(paste0(readLines(file), "\n")))
        unlink(file)
      } else {
        later::later(look, 0.02)
      }
    }
    look()
  })
})

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
