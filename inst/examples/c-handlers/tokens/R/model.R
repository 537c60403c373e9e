# The model is built in R, where that is easy, and handed to C once. After that no request touches R.

# Which word follows which, and how often, in lines of text. An external pointer, for `data` of dr_get_cpp().
tokens_model <- function(text) {
  words <- strsplit(tolower(text), "[^a-z']+")
  words <- lapply(words, function(line) line[nzchar(line)])
  # the order of C's strcmp(), whatever the locale
  vocabulary <- sort(unique(unlist(words)), method = "radix")
  pairs <- do.call(rbind, lapply(words, function(line) {
    ids <- match(line, vocabulary)
    cbind(from = utils::head(ids, -1L), to = utils::tail(ids, -1L))
  }))
  counts <- as.data.frame(table(from = pairs[, "from"], to = pairs[, "to"]), stringsAsFactors = FALSE)
  counts <- counts[counts$Freq > 0, ]
  counts <- data.frame(from = as.integer(counts$from), to = as.integer(counts$to), n = as.numeric(counts$Freq))
  counts <- counts[order(counts$from, counts$to), ]
  .Call(C_model_make, vocabulary, counts$from, counts$to, counts$n)
}

# A thread that answers what has come in while it was busy in one go. Threads do not survive a fork, so this is called
# in the process that runs the handlers: `data = function() tokens_batcher(model)`.
tokens_batcher <- function(model) .Call(C_batcher_make, model)
