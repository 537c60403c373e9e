# Policies of the settings file, such as [policies.cors]: for an app whose code is to stay as it is, such as a
# plumber.R. The program reads the file (src/rust/crates/cli/src/policies.rs) and tells each process that loads the app.
# Neighbours: policy.R; worker-zygote.R and command-arguments.R, which load apps.

# The names of the tables: those of the functions, without dr_. What needs code of the app is not among them.
policies_of_file <- c(
  "auth_basic", "auth_bearer", "auth_jwt", "auth_key", "auth_oidc", "cache", "compress", "cors", "csrf", "decompress",
  "rate_limit", "security_headers"
)

# The app, with these policies besides its own. They are registered last: where one of a kind counts, it is that of the
# file.
with_file_policies <- function(app) {
  text <- .Call(C_zygote_variable, "DROVER_POLICIES")
  if (nzchar(text)) for (policy in dr_from_json(text, simplify = FALSE)) register_file_policy(app, policy)
  app
}

register_file_policy <- function(app, policy) {
  table <- paste0("policies.", policy$name)
  if (!policy$name %in% policies_of_file) {
    hint <- did_you_mean(policy$name, policies_of_file, "policies.", "")
    stop_load(policy$at, ": ", table, " is not a policy", hint)
  }
  fun <- get(paste0("dr_", policy$name), mode = "function")
  known <- names(formals(fun))[-1L]
  for (name in setdiff(names(policy$arguments), known)) {
    hint <- did_you_mean(name, known, "", "", paste0(": it has ", and_list(known)))
    stop_load(policy$at, ": ", table, " has no ", name, hint)
  }
  arguments <- Map(argument_of_file, names(policy$arguments), policy$arguments)
  tryCatch(do.call(fun, c(list(app), arguments)), error = function(error) {
    stop_load(policy$at, ": ", table, ": ", conditionMessage(error))
  })
}

# What a value of the file is as an argument: arrays are vectors, tables named vectors, and `key = { header = "X-Key" }`
# what dr_key_header() gives.
argument_of_file <- function(name, value) {
  if (name == "key" && length(value) == 1L && !is.null(names(value))) {
    maker <- get0(paste0("dr_key_", names(value)), mode = "function")
    return(if (is.null(maker)) value else maker(value[[1L]]))
  }
  if (is.list(value) && length(value) && all(lengths(value) == 1L & !vapply(value, is.list, NA))) {
    return(unlist(value))
  }
  if (is.list(value) && !length(value)) character() else value
}
