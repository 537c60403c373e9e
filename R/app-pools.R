# Pools of workers that routes and hooks of an app name. Neighbours: app-compile.R, which gives the engine their
# numbers; settings-groups.R, where it is said how many workers they have.

# Checks the name of a pool; NULL is none.
check_pool <- function(pool, call = sys.call(-1L), empty = FALSE) {
  if (is.null(pool) || (empty && identical(pool, ""))) return(invisible())
  if (!is_string(pool) || !grepl("^[A-Za-z0-9_-]{1,64}$", pool)) {
    right <- "the name of a pool of workers: up to 64 letters, digits, \"_\" and \"-\""
    stop_argument("pool", paste0(right, if (empty) ", or \"\"", ", or NULL"), pool, call)
  }
}

# The most that an app may name.
MOST_POOLS <- 15L

# The names of all pools that serving an app reaches, in the order in which its routes (app_routes()) name them.
pools_of <- function(routes, call) {
  names <- unique(unlist(lapply(routes, `[[`, "pool")))
  if (length(names) > MOST_POOLS) {
    problem <- sprintf("an app may have %d pools of workers, and the routes of this one name %d: %s", MOST_POOLS,
      length(names), and_list(names))
    stop_drover("argument", problem, call = call, argument = "pool")
  }
  names
}

# All apps that serving `app` reaches, as often as each is mounted, and the pools that their routes have: NA for none.
# list(app, pool), of the same length.
pools_of_mounts <- function(app) {
  apps <- list()
  pools <- character()
  visit <- function(one, pool) {
    apps[[length(apps) + 1L]] <<- one
    pools[[length(pools) + 1L]] <<- pool
    for (mount in one$mounts) visit(mount$app, mount$pool %||% pool)
  }
  visit(app, NA_character_)
  list(app = apps, pool = pools)
}

# A hook that runs in the workers of one pool: "" for those of requests that name none.
hook_in_pool <- function(fn, pool) {
  if (is.null(pool)) return(fn)
  force(fn)
  # those of R itself have no attributes
  hook <- function() fn()
  attr(hook, "pool") <- pool
  hook
}

# Those of `hooks` that a worker of this pool runs. One process for all runs all of them.
hooks_in_pool <- function(hooks, pool) {
  runs <- function(hook) is.null(attr(hook, "pool")) || identical(attr(hook, "pool"), pool)
  Filter(runs, hooks)
}

# The name of the pool that the engine has a number for.
name_of_pool <- function(compiled, number) if (number > 0L) compiled$pools[[number]] else ""

# The setting `pools` as lines of NAME=WORKERS, which it may be as well: numbers of workers by name.
pool_lines <- function(pools, call) {
  if (is.null(pools) || is.null(names(pools))) return(pools)
  right <- "numbers of workers by the names of pools, such as c(gpu = 1) or list(gpu = 1, fits = c(0, 2)), or NULL"
  one <- function(name) {
    value <- pools[[name]]
    is_number <- is.numeric(value) && length(value) %in% 1:2 && !anyNA(value)
    if (!is_number && !is_string(value)) stop_argument("pools", right, pools, call)
    paste0(name, "=", paste(format(value, scientific = FALSE, trim = TRUE), collapse = "-"))
  }
  if (anyDuplicated(names(pools)) || !all(nzchar(names(pools)))) stop_argument("pools", right, pools, call)
  vapply(names(pools), one, "", USE.NAMES = FALSE)
}
