# The app of the trial "native": the same answers by C handlers of all kinds. With PORT in the environment it is served
# by this session with THREADS I/O threads; without, it is for `drover serve`.

library(drover)

app <- dr_app()
dr_get_cpp(app, "/text", "benchhandlers", "bench_text", inline = TRUE)
dr_get_cpp(app, "/json", "benchhandlers", "bench_json", inline = TRUE)
dr_get_cpp(app, "/pool", "benchhandlers", "bench_text")
dr_get_cpp(app, "/unary", "benchhandlers", "bench_unary")

if (nzchar(Sys.getenv("PORT"))) {
  dr_serve(
    app, port = as.integer(Sys.getenv("PORT")), threads = as.integer(Sys.getenv("THREADS")), max_queue = 20000,
    limits = dr_limits(max_connections = 20000), block = TRUE
  )
}
