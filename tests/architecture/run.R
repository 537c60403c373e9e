# Checks that the code is built the way ARCHITECTURE.md says: Rscript tests/architecture/run.R, from the root.
# The crate table of that page is read, not repeated, so page and check cannot differ. Ends with "N passed, N failed".
# Not for what crates do: their own tests say that.

passed <- 0L
failed <- 0L

# One statement about the code; `problems` are what contradicts it.
check <- function(statement, problems) {
  if (length(problems)) {
    failed <<- failed + 1L
    cat("not ok:", statement, paste0("\n        ", problems), "\n")
  } else {
    passed <<- passed + 1L
    cat("ok:", statement, "\n")
  }
}

# The table under a heading: a list with the cells of each row, without the row of titles.
cells_under <- function(file, heading) {
  lines <- readLines(file, encoding = "UTF-8")
  rows <- lines[-seq_len(match(paste("##", heading), lines))]
  rows <- rows[seq_len(min(grep("^## ", rows), length(rows) + 1L) - 1L)]
  rows <- grep("^\\|", rows, value = TRUE)[-(1:2)]
  lapply(strsplit(rows, "|", fixed = TRUE), function(row) trimws(gsub("`", "", row[-1L])))
}

list_in <- function(cell) setdiff(trimws(strsplit(cell, ",")[[1L]]), c("-", ""))

# The crates: a data frame with crate, uses (a list of names) and unsafe (a string).
read_crates <- function(file) {
  cells <- cells_under(file, "Crates")
  table <- data.frame(crate = vapply(cells, `[[`, "", 1L), unsafe = vapply(cells, `[[`, "", 4L))
  table$uses <- lapply(cells, function(row) list_in(row[[3L]]))
  table
}

# What cargo says about the workspace: a data frame with crate, folder and uses (the crates of the workspace that it
# depends on, for building or for testing).
read_workspace <- function(folder) {
  output <- system2("cargo", c(
    "metadata", "--no-deps", "--locked", "--offline", "--format-version", "1",
    "--manifest-path", file.path(folder, "Cargo.toml")
  ), stdout = TRUE)
  packages <- jsonlite::fromJSON(output, simplifyVector = FALSE)$packages
  workspace <- data.frame(
    crate = vapply(packages, `[[`, "", "name"),
    folder = dirname(vapply(packages, `[[`, "", "manifest_path"))
  )
  workspace$uses <- lapply(packages, function(package) {
    # tests of all of them wait, which says nothing of what they are
    waits <- function(dependency) identical(dependency$kind, "dev") && dependency$name == "patience"
    ours <- Filter(function(dependency) !is.null(dependency$path) && !waits(dependency), package$dependencies)
    unique(vapply(ours, `[[`, "", "name"))
  })
  workspace
}

# The lines of a crate's own code that match `pattern`, as "file:line: text". Comments do not count, and with
# `tests = FALSE` neither does what is only built for tests.
find_code <- function(folder, pattern, tests = TRUE) {
  files <- list.files(file.path(folder, "src"), "\\.rs$", recursive = TRUE, full.names = TRUE)
  if (!tests) files <- files[!grepl("(^|/)tests(/|\\.rs$)", substring(files, nchar(folder) + 1L))]
  unlist(lapply(files, function(file) {
    lines <- readLines(file, encoding = "UTF-8", warn = FALSE)
    if (!tests) {
      # by custom the tests of a file are its last module
      end <- grep("^#\\[cfg\\((all\\()?(test|loom)", lines)
      if (length(end)) lines <- lines[seq_len(end[[1L]] - 1L)]
    }
    hits <- grep(pattern, sub("//.*", "", lines), perl = TRUE)
    sprintf("%s:%d: %s", sub(".*/crates/", "", file), hits, trimws(lines[hits]))
  }))
}

table <- read_crates("ARCHITECTURE.md")
workspace <- read_workspace("src/rust")

check("every crate is in the table", setdiff(workspace$crate, table$crate))
check("every crate of the table exists", setdiff(table$crate, workspace$crate))

known <- table[table$crate %in% workspace$crate, ]
place <- match(known$crate, workspace$crate)
folder_of <- function(crate) workspace$folder[match(crate, workspace$crate)]

for (i in seq_len(nrow(known))) {
  crate <- known$crate[[i]]
  has <- workspace$uses[[place[[i]]]]
  may <- known$uses[[i]]
  check(sprintf("%s uses %s", crate, if (length(may)) paste(may, collapse = ", ") else "no other crate of ours"), c(
    sprintf("Cargo.toml has `%s`, the table does not", setdiff(has, may)),
    sprintf("the table has `%s`, Cargo.toml does not", setdiff(may, has))
  ))
}

# The order of the table is that of a request; no crate may depend on itself by a detour, which cargo sees to.
check("engine and worker do not know each other", c(
  intersect("worker", known$uses[[match("engine", known$crate)]]),
  intersect("engine", known$uses[[match("worker", known$crate)]])
))

for (i in seq_len(nrow(known))) {
  crate <- known$crate[[i]]
  root <- file.path(folder_of(crate), "src", "lib.rs")
  forbids <- any(grepl("^#!\\[forbid\\(unsafe_code\\)\\]", readLines(root, warn = FALSE)))
  if (known$unsafe[[i]] == "forbid") {
    check(paste(crate, "forbids unsafe code"), if (!forbids) paste(root, "lacks #![forbid(unsafe_code)]"))
  } else {
    check(paste(crate, "has unsafe code, and the table says why"), c(
      if (forbids) paste(root, "forbids it: the table should, too"),
      if (!nzchar(known$unsafe[[i]])) "no reason given"
    ))
  }
}

# Modules that import each other in a circle can only be understood together.
source("tests/architecture/circles.R")
# One that stays, as a value may be a data frame, and what is in that is values.
recursive <- c(binding = "json/frame -> json/write, json/write -> json/frame")
for (crate in known$crate) {
  imports <- module_imports(folder_of(crate))
  found <- circles(imports$modules, imports$edges)
  known_ones <- recursive[names(recursive) == crate]
  check(paste("no modules of", crate, "import each other in a circle"), c(
    setdiff(found, known_ones), sprintf("%s: not there any more", setdiff(known_ones, found))
  ))
}

# The R files are in groups, by the beginnings of their names.
uses <- r_uses("R")
check("no files of R/ use each other in a circle", circles(uses$modules, uses$edges))
check("every R file is in a group of the table, and no group is empty", {
  groups <- unlist(lapply(cells_under("ARCHITECTURE.md", "R files"), function(row) list_in(row[[1L]])))
  has <- sub("(-.*)?\\.R$", "", uses$modules)
  c(setdiff(has, groups), setdiff(groups, has), groups[duplicated(groups)])
})
check("dr_app() declares what is set in an app", {
  lines <- unlist(lapply(list.files("R", full.names = TRUE), readLines, encoding = "UTF-8"))
  set <- unlist(regmatches(lines, gregexpr("(?<=\\bapp\\$)\\w+(?= (<-|<<-) )", lines, perl = TRUE)))
  code <- new.env()
  sys.source("R/app.R", code)
  code$check_flag <- function(...) NULL
  setdiff(set, ls(code$dr_app()))
})
check("tests of R files carry their names", {
  tests <- sub("^test-(.*)[.]R$", "\\1", list.files("tests/testthat", "^test-.*[.]R$"))
  topics <- "^(cpp|e2e|examples|faults|http2|json|lifecycle|limits|workers?|console|debugging|reload)(-|$)"
  setdiff(grep(topics, tests, value = TRUE, invert = TRUE), sub("[.]R$", "", uses$modules))
})

# The C files stand on floors, the highest first.
calls <- c_names("src")
check("no files of src/*.c name each other in a circle", circles(calls$modules, calls$edges))
floors <- lapply(cells_under("ARCHITECTURE.md", "C files"), function(row) paste0(list_in(row[[2L]]), ".c"))
check("every C file is in the table, once", c(
  setdiff(calls$modules, unlist(floors)), setdiff(unlist(floors), calls$modules), unlist(floors)[duplicated(unlist(floors))]
))
check("no C file names one of a floor above", {
  height <- stats::setNames(rep(length(floors):1L, lengths(floors)), unlist(floors))
  up <- which(height[calls$edges[, "to"]] > height[calls$edges[, "from"]])
  sprintf("%s names %s", calls$edges[up, "from"], calls$edges[up, "to"])
})

# Every unsafe block says why it is sound, on one of the lines of comment before the statement that holds it.
unexplained <- function(folder) {
  files <- list.files(file.path(folder, "src"), "\\.rs$", recursive = TRUE, full.names = TRUE)
  unlist(lapply(files, function(file) {
    lines <- readLines(file, encoding = "UTF-8", warn = FALSE)
    at <- grep("\\bunsafe (impl\\b|\\{)", sub("//.*", "", lines))
    explained <- vapply(at, function(i) any(grepl("SAFETY:", lines[max(1L, i - 8L):i])), NA)
    sprintf("%s:%d: %s", sub(".*/crates/", "", file), at[!explained], trimws(lines[at[!explained]]))
  }))
}
for (crate in known$crate[known$unsafe != "forbid"]) {
  check(paste("every unsafe block of", crate, "says why it is sound"), unexplained(folder_of(crate)))
}

r_names <- "\\b(SEXP|Sexp|Rf_\\w+|R_NilValue|R_NaString|R_GlobalEnv|libR_sys|extendr_api|savvy)\\b"
for (crate in setdiff(known$crate, "binding")) {
  check(paste(crate, "names nothing of R"), find_code(folder_of(crate), r_names))
}

# A jump over a Rust frame is undefined: what may allocate, evaluate or signal in R is called from C only.
jumps <- "\\b(Rf_(error|errorcall|warning|eval|alloc\\w+|mkString|mkChar\\w*|install|coerceVector|asChar)|R_(tryEval\\w*|ToplevelExec|UnwindProtect|alloc|ParseVector|CheckUserInterrupt|CheckStack))\\b"
check("binding calls no function of R that may jump", find_code(folder_of("binding"), jumps))

io <- "\\b(std::(net|fs|io|os|process|thread|env)\\b|tokio|Instant::now|SystemTime::now|println!|eprintln!)"
for (crate in c("wire", "grammar", "router", "admission")) {
  check(paste(crate, "does no I/O and reads no clock"), find_code(folder_of(crate), io, tests = FALSE))
}

for (crate in setdiff(known$crate, "cli")) {
  check(paste(crate, "reads no arguments and no environment"), find_code(
    folder_of(crate), "\\benv::(args|args_os|var|var_os|vars)\\b", tests = FALSE
  ))
}

# What the first line of a file that matches `pattern` has in its parentheses.
version_in <- function(file, pattern) {
  line <- grep(pattern, readLines(file, encoding = "UTF-8", warn = FALSE), value = TRUE)
  if (length(line)) sub(paste0(".*", pattern, ".*"), "\\1", line[[1L]]) else "none"
}

# The versions of the packages in a lock file: a list of character vectors, by name.
versions <- function(file) {
  lines <- readLines(file)
  at <- which(lines == "[[package]]")
  split(gsub('.*"(.*)"', "\\1", lines[at + 2L]), gsub('.*"(.*)"', "\\1", lines[at + 1L]))
}

# The version of the package, everywhere the same. DESCRIPTION is its source; the program and the log take theirs from
# Cargo.
released <- read.dcf("DESCRIPTION", "Version")[[1L]]
of_lock <- versions("src/rust/Cargo.lock")[workspace$crate]
stated <- c(
  "src/rust/Cargo.toml" = version_in("src/rust/Cargo.toml", "^version = \"([^\"]+)\""),
  setNames(unlist(of_lock), rep("src/rust/Cargo.lock", length(of_lock))),
  NEWS.md = version_in("NEWS.md", "^# drover ([0-9.]+)"),
  "docs/command-line.md" = version_in("docs/command-line.md", "^drover ([0-9.]+): loading")
)
check(paste("the version is", released, "everywhere"), {
  wrong <- unique(stated[stated != released])
  if (length(wrong)) paste(names(stated)[match(wrong, stated)], "says", wrong)
})

# The oldest Rust that is promised, everywhere the same, and no crate that is built for users needs a newer one.
promised <- version_in("src/rust/Cargo.toml", "rust-version = \"([0-9.]+)\"")
others <- c(
  configure = version_in("configure", "^minimum=([0-9.]+)"), DESCRIPTION = version_in("DESCRIPTION", "rustc >= ([0-9.]+)"),
  README.md = version_in("README.md", "Rust >= ([0-9.]+)"),
  "docs/getting-started.md" = version_in("docs/getting-started.md", "Rust toolchain \\(([0-9.]+)")
)
check(paste("Rust", promised, "is promised everywhere"), {
  wrong <- others[others != promised]
  if (length(wrong)) paste(names(wrong), "says", wrong)
})

# For this system only: other ones have crates of their own, which are not there to be read.
newer_crates <- function(promised) {
  cargo <- function(...) system2("cargo", c(..., "--locked", "--offline", "--manifest-path", "src/rust/Cargo.toml"), stdout = TRUE)
  host <- sub("host: ", "", grep("^host: ", system2("rustc", "-vV", stdout = TRUE), value = TRUE))
  built <- cargo("tree", "--edges", "normal,build", "-p", "binding", "-p", "cli", "--prefix", "none", "--target", host)
  built <- unique(sub("^(\\S+) v(\\S+).*", "\\1 \\2", built[nzchar(built)]))
  all <- jsonlite::fromJSON(cargo("metadata", "--format-version", "1", "--filter-platform", host), simplifyVector = FALSE)$packages
  unlist(lapply(all, function(package) {
    name <- paste(package$name, package$version)
    needs <- package$rust_version
    if (name %in% built && !is.null(needs) && numeric_version(needs) > promised) paste(name, "needs", needs)
  }))
}
check(paste("every crate that is built works with Rust", promised), newer_crates(promised))

# The fuzz targets are a workspace of their own, and must test what the package is built of.
of_package <- versions("src/rust/Cargo.lock")
of_fuzz <- versions("tests/fuzz/Cargo.lock")
both <- intersect(names(of_package), names(of_fuzz))
others <- Map(setdiff, of_fuzz[both], of_package[both])
check("fuzz targets are built with the package's versions of libraries", sprintf(
  "tests/fuzz/Cargo.lock has %s %s", names(unlist(others)), unlist(others)
))

check("the index of decisions has all of them", {
  pages <- list.files("docs/decisions", "^[0-9]")
  lines <- readLines("docs/decisions/README.md", encoding = "UTF-8")
  setdiff(pages, sub("^- \\[[0-9]{4}\\]\\(([^)]*)\\): .*$", "\\1", lines))
})

# The files that the opening comments of R and C files name, the folders before them left out where they are known.
named_files <- function(file) {
  lines <- readLines(file, encoding = "UTF-8", warn = FALSE)
  opening <- lines[seq_len(c(which(!nzchar(lines)), length(lines) + 1L)[[1L]] - 1L)]
  opening <- paste(grep("^\\s*(#(?!include)|/?[*])", opening, perl = TRUE, value = TRUE), collapse = " ")
  unique(unlist(regmatches(opening, gregexpr("(?<![\\w*./-])[\\w./-]*\\w[.](R|c|h|rs)\\b", opening, perl = TRUE))))
}
ours <- file.path("", c(
  file.path("R", list.files("R")), file.path("src", list.files("src")),
  list.files(c("src/rust/crates", "tests", "inst"), recursive = TRUE, full.names = TRUE)
))
opened <- c(list.files("R", "\\.R$", full.names = TRUE), list.files("src", "\\.[ch]$", full.names = TRUE))
check("files that opening comments name are there", unlist(lapply(opened, function(file) {
  # R has headers, too
  is_missing <- function(name) name != "Rinternals.h" && !any(endsWith(ours, paste0("/", sub("^rust/", "src/rust/", name))))
  sprintf("%s names %s", file, Filter(is_missing, named_files(file)))
})))

# One topic per file, small enough to keep in mind.
long <- function(files, most) {
  n <- vapply(files, function(file) length(readLines(file, warn = FALSE)), 0L)
  sprintf("%s has %d lines", files[n > most], n[n > most])
}
sources <- c(
  list.files("R", "\\.R$", full.names = TRUE), list.files("src", "\\.[ch]$", full.names = TRUE),
  list.files("src/rust/crates", "\\.rs$", full.names = TRUE, recursive = TRUE)
)
check("no source file has more than 700 lines", long(sources, 700L))

# In a package the last one of two wins, without a word.
named_twice <- function(files) {
  names <- unlist(lapply(files, function(file) {
    made <- Filter(function(one) is.call(one) && identical(one[[1L]], quote(`<-`)) && is.symbol(one[[2L]]), parse(file))
    vapply(made, function(one) as.character(one[[2L]]), "")
  }))
  sort(unique(names[duplicated(names)]))
}
check("no two functions of R/ have the same name", named_twice(list.files("R", "\\.R$", full.names = TRUE)))
# run.R reads them all into one environment; apps run in processes of their own
of_process_tests <- setdiff(list.files("tests/process", "\\.R$"), c("run.R", "soak.R", "app.R"))
of_process_tests <- file.path("tests/process", grep("-app\\.R$", of_process_tests, value = TRUE, invert = TRUE))
check("no two functions of the process tests have the same name", named_twice(of_process_tests))

cat(sprintf("%d passed, %d failed\n", passed, failed))
quit(status = failed > 0L)
