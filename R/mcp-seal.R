# What calls of dr_mcp() seal with, and for which client: what the server has given away comes back unchanged, and from
# that client only. Neighbours: mcp-rounds.R, mcp-session.R, mcp-waiting.R, which seal; src/secrets.c.

# Of the client, as far as the server knows it.
identity_of <- function(req) {
  auth <- req$auth
  as.list(c(auth$scheme, auth$user))
}

# What the server's processes seal with. Those that load the app get it from the server, see load_for_zygote(); a
# session makes its own before it serves, and its forks have it.
seal_key <- function() {
  if (is.null(engine$seal_key)) engine$seal_key <- random_token()
  engine$seal_key
}

# 256 bits of the system's randomness.
random_token <- function() paste(replicate(8L, sprintf("%.0f", random_word())), collapse = "-")
