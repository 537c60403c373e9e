# The examples of the manual run, and none leaves a server behind.
test_that("every example of the manual runs", {
  topics <- tools::Rd_db("drover")
  skip_if(length(topics) == 0L, "the package was installed without its manual")
  file <- withr::local_tempfile(fileext = ".R")
  lines <- c("library(drover)", unlist(lapply(names(topics), function(topic) {
    tools::Rd2ex(topics[[topic]], file)
    if (!file.exists(file)) return(sprintf("stop(\"%s has no example\")", topic)[topic != "drover-package.Rd"])
    code <- readLines(file, encoding = "UTF-8")
    unlink(file)
    c(sprintf("message(\"%s\")", topic), code, "stopifnot(!dr_running())")
  })))
  writeLines(lines, file, useBytes = TRUE)
  # in a folder of its own: examples may write files
  run <- processx::run(
    file.path(R.home("bin"), "Rscript"), c("--vanilla", file), wd = withr::local_tempdir(), error_on_status = FALSE,
    env = c("current", R_LIBS = paste(.libPaths(), collapse = .Platform$path.sep)), timeout = 120
  )
  expect_identical(run$status, 0L, info = paste(run$stdout, run$stderr, sep = "\n"))
})
