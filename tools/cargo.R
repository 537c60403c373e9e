# What scripts here ask cargo of the engine; notices.R and vendor.R source it.

# The lines that a command of cargo's prints.
cargo <- function(...) {
  output <- system2("cargo", c(..., "--locked", "--manifest-path", "src/rust/Cargo.toml"), stdout = TRUE)
  if (!is.null(attr(output, "status"))) stop("cargo ", ..1, " has failed")
  output
}

# The crates that are built into the engine for a system, each once: "name" and "version" with `separator` in between.
# `edges`: those of cargo tree; further arguments are cargo's.
crates_built <- function(target, edges, separator, ...) {
  tree <- cargo("tree", "--edges", edges, "-p", "drover_rust", "--prefix", "none", "--target", target, ...)
  unique(sub("^(\\S+) v(\\S+).*", paste0("\\1", separator, "\\2"), tree[nzchar(tree)]))
}
