# The C handlers of the trial "native" for drogonR: the one kind that it has, run by its pool. Arguments: PORT THREADS.

library(drogonR)

arguments <- commandArgs(trailingOnly = TRUE)

app <- dr_app()
dr_get_cpp(app, "/text", "benchhandlers", "bench_unary")

dr_serve(app, port = as.integer(arguments[1]), threads = as.integer(arguments[2]))
repeat later::run_now(timeoutSecs = 3600)
