# What R reads first when `drover replay` starts it at a terminal: the profile of its user, and then the command, before
# R asks for a line. Commands of `-e` would be all that R reads, and browser() would find nothing.
local({
  own <- Sys.getenv("DROVER_PROFILE")
  Sys.unsetenv(c("DROVER_PROFILE", "R_PROFILE_USER"))
  if (nzchar(own)) Sys.setenv(R_PROFILE_USER = own)
  # as R looks for it
  file <- if (nzchar(own)) own else if (file.exists(".Rprofile")) ".Rprofile" else "~/.Rprofile"
  if (file.exists(file)) sys.source(file, globalenv())
})

.First <- local({
  own <- get0(".First", globalenv(), inherits = FALSE)
  function() {
    rm(".First", envir = globalenv())
    if (is.function(own)) own()
    .First.sys()
    drover:::command_main()
  }
})
