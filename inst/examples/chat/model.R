# A language model of the smallest kind: it says words that have followed each other in a text, chosen by chance. What
# matters is that it makes one token at a time from a state, as large ones do.

text <- "
A small river begins in the hills, and nobody can say where. It takes up the rain of the night, and the water of the
wells, and it runs past the mill and the old bridge. In summer the children of the village swim in the river. In winter
the river is grey and slow, and the boats lie on the bank. A boat is made of wood, and the wood is of the trees that
grow by the water. The miller says that the river knows every word that was ever said on the bridge. The old people of
the village say that the river never tells a word of it. When the rain is over, the boats go down to the town, and the
town sends bread and letters up to the village. The letters tell of the sea. Nobody of the village has seen the sea,
but everybody knows that the river runs down to the sea, and that the sea never says where the water of the hills is.
"

tokens_of <- function(text) regmatches(text, gregexpr("[[:alpha:]']+|[.,!?]", text))[[1L]]

# For each token, those that have followed it, as often as they have.
followers <- local({
  tokens <- tokens_of(text)
  split(tokens[-1L], tolower(tokens[-length(tokens)]))
})

# A number below `n`, from 1 on, and the next state of chance. Each chat has its own, so that `seed` means something
# while a worker interleaves many of them.
draw <- function(chance, n) {
  chance <- (chance * 16807) %% 2147483647
  list(chance = chance, value = 1 + floor(chance / 2147483647 * n))
}

# The state before the first token: it goes on from the last word of the question that it knows.
begin <- function(question, seed) {
  words <- tolower(tokens_of(question))
  known <- words[words %in% names(followers) & grepl("[a-z]", words)]
  list(last = if (length(known)) known[[length(known)]] else ".", chance = 1 + abs(seed) %% 2147483645, sentences = 0L)
}

# The next token with the space before it, and the state after it; a token of NULL when it has said enough.
continue <- function(state) {
  if (state$sentences >= 2L) return(list(token = NULL, state = state))
  choices <- followers[[state$last]]
  drawn <- draw(state$chance, length(choices))
  token <- choices[[drawn$value]]
  # nobody begins to speak with the end of a sentence
  if (is.null(state$begun) && token %in% c(".", ",")) {
    return(continue(list(last = token, chance = drawn$chance, sentences = state$sentences)))
  }
  begins <- state$last == "." || is.null(state$begun)
  shown <- if (begins) paste0(toupper(substr(token, 1L, 1L)), substring(token, 2L)) else token
  space <- if (is.null(state$begun) || token %in% c(".", ",")) "" else " "
  state <- list(
    last = tolower(token), chance = drawn$chance, sentences = state$sentences + (token == "."), begun = TRUE
  )
  list(token = paste0(space, shown), state = state)
}
