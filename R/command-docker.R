# Containers: a Dockerfile for an app, and one for a model of the package 'vetiver'. Neighbours: command-dependencies.R
# (which packages an app uses), command.R (`drover docker`).

#' Write a Dockerfile for an app
#'
#' Writes a `Dockerfile` and a `.dockerignore` into the folder of an app, from which `docker build` makes an image that
#' serves it. Read it, and keep it with the app: nothing is written over unless `force` says so.
#'
#' The image has the packages of `renv.lock`, when there is one in the folder, and otherwise those that the R files in
#' it name: in `library()`, `require()`, `requireNamespace()`, `loadNamespace()` and `pkg::name`. It is built in two
#' stages, so that compilers are not in it; it runs as a user of its own, `tini` reaps what handlers leave behind, and
#' its health is what `drover status` says. Layers that change rarely come first.
#'
#' Whoever runs the image may say by the variable `PORT` where it listens, as platforms do. Files for passwords, such as
#' `.Renviron` and `.env`, are named in `.dockerignore` and are not in the image: give their variables to the container,
#' as by `docker run --env-file .env`.
#'
#' Unless drover is in `renv.lock`, the image needs its source package beside the `Dockerfile`:
#' `drover_VERSION.tar.gz`, as `make tarball` builds it from drover's sources.
#'
#' @param file The app: the path of an R file, or of a folder with one, as [dr_run()] takes it; a single string.
#' @param port The port in the container where the variable `PORT` names no other: a single integer.
#' @param base The image to begin with: a single string, an image of Debian or Ubuntu with R. `NULL` for `rocker/r-ver`
#'   with the version of R in `renv.lock`, or else of this session.
#' @param force `TRUE` to write over files that are there.
#' @param args Arguments of the app, which has them as `commandArgs(TRUE)`: a character vector.
#' @returns The paths of both files: a character vector, invisibly.
#' @section Errors: `drover_error_argument` when an argument is not as described; `drover_error_file` when a file is
#'   there already, or cannot be written.
#' @seealso [dr_write_vetiver()]; `drover docker`, which does the same from a shell.
#' @examples
#' folder <- tempfile("shop-")
#' dir.create(folder)
#' writeLines("drover::dr_get(drover::dr_app(), '/', function(req) 'Hello')", file.path(folder, "app.R"))
#' dr_write_docker(file.path(folder, "app.R"))
#' writeLines(readLines(file.path(folder, "Dockerfile")))
#' @export
dr_write_docker <- function(file = "app.R", port = 8080L, base = NULL, force = FALSE,
                            args = character()) {
  check_string(file, "file")
  if (!file.exists(file)) stop_argument("file", "the path of a file or folder that exists", file, sys.call())
  check_count(port, "port", 1L, 65535L)
  if (!is.null(base)) check_string(base, "base")
  check_flag(force, "force")
  check_arguments(args, "args")
  call <- sys.call()
  is_folder <- dir.exists(file)
  folder <- if (is_folder) file else dirname(file)
  if (!is_folder && !is_file_name(basename(file))) {
    stop_argument("file", "a file whose name has no quotes, backslashes or line breaks", file, call)
  }
  lines <- c(
    docker_build(folder, base, app_packages(file, folder)), "",
    docker_run(if (is_folder) "." else basename(file), as.integer(port), args)
  )
  write_new(list(Dockerfile = lines, .dockerignore = docker_ignored), folder, force, call)
}

is_file_name <- function(name) !grepl("[\"'\\\\[:cntrl:]]", name)

# Files that the image does not need or that would change it at each build; and files with passwords and keys, which the
# user who runs the image supplies: anybody with the image could read them.
docker_ignored <- c(
  ".git", ".gitignore", ".Rproj.user", ".Rhistory", ".RData", "*.Rproj", "renv/library", "renv/staging", "*.log",
  "Dockerfile", ".dockerignore", paste0("**/", c(
    ".Renviron", ".Renviron.*", ".env", ".env.*", ".netrc", ".pgpass", ".httr-oauth"
  ))
)

# The folder of packages in images of rocker, which those of others look into, too.
docker_library <- "/usr/local/lib/R/site-library"

# What packages are most often compiled with.
docker_build_tools <- c(
  "build-essential", "libcurl4-openssl-dev", "libicu-dev", "libsodium-dev", "libssl-dev", "libxml2-dev", "pkg-config",
  "zlib1g-dev"
)

# The first stage: packages, and the names of Debian's packages that have the libraries they are linked with.
docker_build <- function(folder, base, packages) {
  lock <- file.path(folder, "renv.lock")
  locked <- if (file.exists(lock)) read_lock(lock)
  base <- base %||% paste0("rocker/r-ver:", locked$r %||% as.character(getRversion()))
  install <- if (is.null(locked)) {
    install_packages(union(packages, package_imports()))
  } else {
    restore <- sprintf("renv::restore(lockfile = \"renv.lock\", library = \"%s\", prompt = FALSE)", docker_library)
    c("COPY renv.lock ./", install_packages("renv", restore))
  }
  c(
    "# Written by `drover docker`. docker build -t app . && docker run --rm -p 8080:8080 app",
    paste("FROM", base, "AS build"), "",
    "SHELL [\"/bin/bash\", \"-o\", \"pipefail\", \"-c\"]", docker_apt(docker_build_tools), docker_rust,
    "WORKDIR /build", install, if (!"drover" %in% locked$packages) docker_drover(is.null(locked)), "",
    "# Debian's packages with the libraries that those are linked with",
    paste0("RUN find ", docker_library, " -name '*.so' -exec ldd {} + \\"),
    "    | awk '$2 == \"=>\" && $3 ~ \"^/\" { print $1 }' \\",
    "    | sort -u | sed 's|^|*/|' | xargs --no-run-if-empty dpkg-query --search 2> /dev/null \\",
    "    | cut -d : -f 1 | sort -u > /build/libraries || true", "",
    paste("FROM", base)
  )
}

# drover's engine needs a newer Rust than distributions have.
docker_rust <- c(
  "COPY --from=rust:1-slim /usr/local/cargo /usr/local/cargo",
  "COPY --from=rust:1-slim /usr/local/rustup /usr/local/rustup",
  "ENV CARGO_HOME=/usr/local/cargo RUSTUP_HOME=/usr/local/rustup PATH=/usr/local/cargo/bin:$PATH"
)

# The source package. `has_imports`: what it imports is there.
docker_drover <- function(has_imports) {
  source <- paste0("drover_", utils::packageVersion("drover"), ".tar.gz")
  c(
    if (!has_imports) install_packages(package_imports()),
    "# drover's source package, beside this file", paste("COPY", source, "./"),
    sprintf("RUN R CMD INSTALL --library=%s %s", docker_library, source)
  )
}

# The second stage: what is run. `file` is the app within the folder.
docker_run <- function(file, port, args = character()) {
  words <- c("drover", "serve", file, if (length(args)) c("--", args))
  c(
    paste0("COPY --from=build ", docker_library, " ", docker_library),
    "COPY --from=build /build/libraries /tmp/libraries",
    "# hadolint ignore=DL3008", "RUN apt-get update \\",
    "    && xargs apt-get install --yes --no-install-recommends tini < /tmp/libraries \\",
    "    && rm -rf /var/lib/apt/lists/* /tmp/libraries \\",
    sprintf("    && ln -s %s/drover/bin/drover /usr/local/bin/drover \\", docker_library),
    paste("    &&", docker_add_user),
    "WORKDIR /app", "COPY . ./", paste("USER", docker_user), docker_address(port),
    paste("EXPOSE", port), "# it serves when the app is loaded and workers are ready", docker_health,
    "ENTRYPOINT [\"tini\", \"--\"]", paste("CMD", gsub("\",\"", "\", \"", dr_to_json(words), fixed = TRUE))
  )
}

# PORT, and not DROVER_PORT or a flag, which would go before it: platforms that run images say by PORT where to listen.
docker_address <- function(port) sprintf("ENV DROVER_HOST=0.0.0.0 PORT=%d", port)

docker_apt <- function(packages) {
  c(
    "# hadolint ignore=DL3008", "RUN apt-get update \\",
    paste("    && apt-get install --yes --no-install-recommends", paste(packages, collapse = " "), "\\"),
    "    && rm -rf /var/lib/apt/lists/*"
  )
}

# install.packages() warns of what it cannot install; here that is an error. `then`: code to run with them.
install_packages <- function(packages, then = NULL) {
  names <- paste0("\"", packages, "\"", collapse = ", ")
  code <- c("options(warn = 2)", sprintf("install.packages(c(%s), lib = \"%s\")", names, docker_library))
  if (!is.null(then)) code <- c(code, "options(warn = 0)", then)
  sprintf("RUN Rscript -e '%s'", paste(code, collapse = "; "))
}

# The user id that the app runs as: a number, so that container platforms can check it.
docker_user <- 10001L
docker_add_user <- paste("useradd --system --create-home --uid", docker_user, "app")

# It answers when the app is loaded and workers are ready, which may take `start_timeout`.
docker_health <- "HEALTHCHECK --interval=30s --timeout=10s --start-period=300s CMD [\"drover\", \"status\"]"

# Packages of others that drover imports.
package_imports <- function() {
  imports <- trimws(strsplit(utils::packageDescription("drover")$Imports, ",")[[1L]])
  setdiff(imports, rownames(utils::installed.packages(.Library, priority = "base")))
}

# list(r, packages) of a renv.lock.
read_lock <- function(file) {
  lock <- tryCatch(
    jsonlite::fromJSON(file, simplifyVector = FALSE),
    error = function(error) stop_drover("file", paste0(file, " cannot be read: ", conditionMessage(error)), call = NULL)
  )
  list(r = lock$R$Version, packages = names(lock$Packages))
}

# What the app names, and what its kind needs.
app_packages <- function(file, folder) {
  used <- packages_used(r_files(folder))
  is_plumber_file <- tryCatch(find_app(file)$kind == "plumber", error = function(error) FALSE)
  if (is_plumber_file) union(used, "plumber") else used
}

# Writes files into a folder, all or none.
write_new <- function(files, folder, force, call) {
  paths <- file.path(folder, names(files))
  there <- paths[file.exists(paths)]
  if (length(there) && !force) {
    are <- if (length(there) > 1L) " are" else " is"
    how <- " there already: remove it, or write over it with `force = TRUE` (--force)"
    stop_drover("file", paste0(paste(there, collapse = " and "), are, how), call = call)
  }
  for (i in seq_along(files)) {
    tryCatch(writeLines(files[[i]], paths[[i]]), error = function(error) {
      stop_drover("file", paste("cannot write", paths[[i]]), call = call)
    }, warning = function(warning) {
      stop_drover("file", paste0("cannot write ", paths[[i]], ": ", conditionMessage(warning)), call = call)
    })
  }
  invisible(paths)
}

# `drover docker FILE [--port PORT] [--base IMAGE] [--force]`
command_docker <- function(arguments) {
  after <- function(name) option_of(arguments, name)
  words <- split_arguments(arguments)
  paths <- dr_write_docker(
    arguments[[1L]], as.integer(after("--port") %||% 8080L), after("--base"), "--force" %in% words$own, words$app
  )
  cat("wrote ", paste(paths, collapse = " and "), "\n", sep = "")
  lines <- readLines(paths[[1L]])
  if (any(grepl("^COPY drover_", lines))) {
    source <- sub("^COPY ([^ ]+) .*", "\\1", grep("^COPY drover_", lines, value = TRUE))
    cat("put drover's source package beside it: ", source, "\n", sep = "")
  }
  cat("build it: docker build -t app ", dirname(paths[[1L]]), "\n", sep = "")
  0L
}

#' Write a Dockerfile for a model of the package 'vetiver'
#'
#' Calls `vetiver_write_docker()` of the package 'vetiver', which writes a `Dockerfile` and a `vetiver_renv.lock`, and
#' changes the `Dockerfile` so that the model's API is served by drover: unchanged, by several processes. It is what
#' `valve_write_vetiver()` of the package 'valve' is for.
#'
#' The image needs drover's source package beside the `Dockerfile`, as for [dr_write_docker()].
#'
#' @param vetiver_model A model, from `vetiver::vetiver_model()`.
#' @param plumber_file The path of the API's file, from `vetiver::vetiver_write_plumber()`: a single string.
#' @param path The folder to write into: a single string.
#' @param port The port in the container: a single integer.
#' @param workers How many worker processes: an integer, or two, the fewest and the most; `NULL` for what `drover serve`
#'   does without.
#' @param ... Further arguments of `vetiver_write_docker()`, by name.
#' @returns The lines of the `Dockerfile`: a character vector, invisibly.
#' @section Errors: `drover_error_argument` when an argument is not as described; `drover_error_file` when 'vetiver' has
#'   written a `Dockerfile` that does not start R, which a later version of it may do.
#' @seealso [dr_write_docker()] for other apps.
#' @examples
#' \dontrun{
#' model <- vetiver::vetiver_model(lm(mpg ~ ., mtcars), "cars")
#' vetiver::vetiver_write_plumber(vetiver::vetiver_board(), "cars")
#' dr_write_vetiver(model, workers = c(1, 4))
#' }
#' @export
dr_write_vetiver <- function(vetiver_model, plumber_file = "plumber.R", path = ".", port = 8000L, workers = NULL, ...) {
  call <- sys.call()
  check_string(plumber_file, "plumber_file")
  check_string(path, "path")
  check_count(port, "port", 1L, 65535L)
  for (n in workers) check_count(n, "workers", 1L)
  if (length(workers) > 2L) stop_argument("workers", "NULL, an integer, or two, the fewest and the most", workers, call)
  if (!is_installed("vetiver")) {
    stop_drover("argument", "the package 'vetiver' is needed: install.packages(\"vetiver\")", call = call)
  }
  write <- getExportedValue("vetiver", "vetiver_write_docker")
  write(vetiver_model, plumber_file, path, port = port, ...)
  file <- file.path(path, "Dockerfile")
  lines <- vetiver_lines(readLines(file), as.integer(port), workers, call)
  writeLines(lines, file)
  invisible(lines)
}

# The lines of a Dockerfile by 'vetiver', with drover in the place of R.
vetiver_lines <- function(lines, port, workers, call = NULL) {
  start <- grep("^ENTRYPOINT .*plumb", lines)
  served <- grep("^COPY .*plumber[^ ]* /", lines, value = TRUE)
  if (length(start) != 1L || !length(served)) {
    stop_drover("file", "the Dockerfile of 'vetiver' does not start R as it did: it stays as it is", call = call)
  }
  words <- c("drover", "serve", sub(".* ", "", served[[1L]]))
  if (length(workers)) words <- c(words, "--workers", paste(workers, collapse = "-"))
  c(
    lines[seq_len(start - 1L)],
    docker_rust, "WORKDIR /build", docker_drover(FALSE), "WORKDIR /", paste("RUN", docker_add_user, "\\"),
    sprintf("    && ln -s %s/drover/bin/drover /usr/local/bin/drover", docker_library), paste("USER", docker_user),
    docker_address(port), docker_health,
    sprintf("ENTRYPOINT [%s]", paste0("\"", words, "\"", collapse = ", ")), lines[-seq_len(start)]
  )
}
