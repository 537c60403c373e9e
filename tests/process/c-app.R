# The app of the process tests whose handlers are in C, beside a few in R: those of the package in tests/handlers, which
# the tests install. Its last value is the app.

library(drover)

app <- eval(parse(Sys.getenv("R_APP")))
package <- "drover.handlers"
in_c <- function(path, callable, ...) dr_get_cpp(app, path, package, callable, ...)

in_c("/c/text", "h_text")
in_c("/c/inline", "h_text", inline = TRUE)
in_c("/c/later/:n", "h_later")
in_c("/c/block", "h_block")
in_c("/c/impatient", "h_block", timeout = 0.5)
in_c("/c/block-inline", "h_block", inline = TRUE)
in_c("/c/impatient-inline", "h_block", inline = TRUE, timeout = 0.5)
in_c("/c/spin", "h_spin")
in_c("/c/cancelled", "h_until_cancelled", timeout = 0.5)
in_c("/c/codes", "h_codes")
in_c("/c/throw", "h_throw")
in_c("/c/silent", "h_silent")
in_c("/c/segfault", "h_segfault")
in_c("/c/segfault-inline", "h_segfault", inline = TRUE)
in_c("/c/abort", "h_abort")
in_c("/c/exit", "h_exit")
in_c("/c/end-thread", "h_end_thread")
in_c("/c/signals", "h_signals")
in_c("/c/long", "h_respond")
in_c("/c/stream", "h_stream")
in_c("/c/endless", "h_stream_endless")
in_c("/c/pid", "h_data", data = function() as.character(Sys.getpid()))
dr_post_cpp(app, "/c/body", package, "h_body")
dr_get_cpp_stream(app, "/c/events", package, "old_stream")
dr_ws_cpp(app, "/c/talk/:name", package, "s_talk", data = "a gift", protocols = "v1", deflate = TRUE)
dr_ws_cpp(app, "/c/old", package, "ws_talk")
dr_ws_cpp(app, "/c/few", package, "ws_talk", max_conns = 1)
dr_ws_cpp(app, "/c/idle", package, "ws_talk", idle_timeout = 1)
dr_get(app, "/c/room", function(req) dr_ws_members("room"))
dr_post(app, "/c/room", function(req) list(told = dr_ws_broadcast("room", req$body)))

app
