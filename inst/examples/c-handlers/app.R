# Handlers in C: a small language model that R builds and that C serves. R is not in the path of these requests.
# The handlers are those of the package in tokens/: R CMD INSTALL tokens, then Rscript app.R. README.md says what is
# where.

library(drover)
library(tokens)

text <- readLines(system.file("text", "fable.txt", package = "tokens"))
model <- tokens_model(text)

app <- dr_app()

# Inline: on the thread that has the request, for what takes microseconds.
dr_get_cpp(app, "/health", "tokens", "tokens_health", inline = TRUE)
dr_get_cpp(app, "/words/:word", "tokens", "tokens_word", inline = TRUE, data = model)

# On the pool of `cpp_workers` threads, for what takes longer, or waits: an answer as a whole, and one in pieces.
dr_post_cpp(app, "/score", "tokens", "tokens_score", data = model)
dr_get_cpp(app, "/generate/:word/<n:int>", "tokens", "tokens_generate", data = model)

# Answered by a thread of the package. A function as `data` is called in each process that runs handlers: threads,
# unlike memory, do not get into forks.
dr_post_cpp(
  app, "/batched", "tokens", "tokens_batched", inline = TRUE,
  data = function() tokens_batcher(model)
)

# WebSockets: a word comes, and one that may follow it goes back.
dr_ws_cpp(app, "/next", "tokens", "tokens_next", data = model)

# With the signatures of drogonR.
dr_get_cpp(app, "/shout/:word", "tokens", "tokens_shout")
dr_get_cpp_stream(app, "/spell/:word", "tokens", "tokens_spell")

# Handlers in R beside them, as ever.
dr_get(app, "/", function(req) list(lines = length(text), routes = length(app$cpp_routes)))

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
