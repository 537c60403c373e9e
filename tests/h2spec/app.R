# The app that h2spec talks to: an answer long enough to be held back by a small window, and one to a body.
# It serves on a free port until it is ended: with TLS if an argument says "tls=yes".

suppressPackageStartupMessages(library(drover))

app <- dr_app()
dr_get(app, "/", function(req) strrep("h2spec ", 100))
dr_post(app, "/", function(req) format(length(req$raw)))

tls <- if ("tls=yes" %in% commandArgs(trailingOnly = TRUE)) dr_tls_self_signed(tempfile("certificate-"))
dr_serve(app, port = 0L, tls = tls, block = TRUE)
