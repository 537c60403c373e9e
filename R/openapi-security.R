# Authentication of operations, and the refusals that cover their paths, from the policies of an app, see policy.R. The
# engine decides by the same rules (src/rust/crates/engine/src/edge/policies.rs). Neighbour: openapi-operations.R.

# list(schemes, security, errors): security schemes by name; and for each operation its alternatives (NULL: no
# authentication) and the names of errors.
guards_of <- function(policies, operations) {
  n <- length(operations)
  canonical <- vapply(operations, `[[`, "", "canonical")
  errors <- vector("list", n)
  add <- function(which, error) errors[which] <<- lapply(errors[which], union, error)
  changes <- vapply(operations, `[[`, "", "method") %in% with_body
  is_below <- function(policy) {
    patterns <- unlist(policy$routes)
    if (length(patterns)) covered(patterns, canonical) else rep(TRUE, n)
  }
  for (policy in policies) {
    if (!is.null(policy$rule$rate_limit)) add(is_below(policy), "TooManyRequests")
    if (!is.null(policy$rule$csrf)) add(is_below(policy) & changes, "Forbidden")
  }
  auth <- Filter(function(policy) !is.null(policy$rule$auth), policies)
  schemes <- auth_schemes(auth)
  security <- vector("list", n)
  open <- rep(TRUE, n)
  for (group in auth_groups(auth)) {
    here <- open & is_below(auth[[group[[1L]]]])
    open <- open & !here
    security[here] <- list(auth_alternatives(auth[group], schemes$names[group]))
    add(here, "Unauthorized")
    if (any(vapply(auth[group], function(policy) length(policy$rule$auth$scope) > 0L, NA))) {
      add(here, "Forbidden")
    }
    if (any(vapply(auth[group], function(policy) !is.null(policy$rule$auth$by$basic$max_failures), NA))) {
      add(here, "TooManyRequests")
    }
  }
  list(schemes = some(schemes$schemes), security = security, errors = errors)
}

guarded <- function(operation, security, errors) {
  if (is.null(security) && is.null(errors)) return(operation)
  operation$plain <- NULL
  if (!is.null(security) && is.null(operation$fields$security)) operation$fields$security <- security
  operation$errors <- c(errors, operation$errors)
  operation
}

# Policies for the same paths are alternatives. Indices of each group, the group that goes before all others first: that
# whose last policy was registered last.
auth_groups <- function(auth) {
  keys <- vapply(auth, function(policy) paste(unlist(policy$routes), collapse = " "), "")
  groups <- split(seq_along(keys), factor(keys, unique(keys)))
  groups[order(vapply(groups, max, 0L), decreasing = TRUE)]
}

auth_alternatives <- function(policies, names) {
  ways <- unique(Map(function(policy, name) {
    one_named(name, as.list(unlist(policy$rule$auth$scope)))
  }, policies, names))
  if (any(vapply(policies, function(policy) isTRUE(policy$rule$auth$optional), NA))) ways <- c(ways, list(no_members))
  unname(ways)
}

# list(schemes, by name; names, one for each policy).
auth_schemes <- function(auth) {
  if (!length(auth)) return(list(schemes = list(), names = character()))
  all <- lapply(auth, function(policy) auth_scheme(policy$rule$auth))
  kinds <- vapply(auth, function(policy) names(policy$rule$auth$by)[[1L]], "")
  place <- match(all, unique(all))
  first <- !duplicated(place)
  names <- make.unique(kinds[first], sep = "_")
  list(schemes = with_names(all[first], names), names = names[place])
}

auth_scheme <- function(auth) {
  scheme <- switch(names(auth$by)[[1L]],
    basic = list(type = "http", scheme = "basic"), bearer = list(type = "http", scheme = "bearer"),
    jwt = list(type = "http", scheme = "bearer", bearerFormat = "JWT"),
    key = list(type = "apiKey", `in` = "header", name = auth$by$key$header),
    # what clients send; how they get it, the page of the login has
    oidc = list(type = "apiKey", `in` = "cookie", name = auth$by$oidc$name)
  )
  c(scheme, list(description = auth$realm))
}
