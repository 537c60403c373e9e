# Handlers of errors, debug mode and options, in a router that a program has built. Requests: ../../requests-handlers.R.

plumber::options_plumber(trailingSlash = TRUE, maxRequestSize = 1000, sharedSecret = "open sesame", docs = FALSE)

router <- plumber::pr()
router <- plumber::pr_set_debug(router, TRUE)
router <- plumber::pr_set_serializer(router, plumber::serializer_unboxed_json(null = "null"))
router <- plumber::pr_set_404(router, function(req, res) {
  res$status <- 404
  list(error = "nothing here", path = req$PATH_INFO)
})
router <- plumber::pr_get(router, "/ping", function() list(ok = TRUE, none = NULL))
router <- plumber::pr_get(router, "/slash/", function() "with a slash")
router <- plumber::pr_get(router, "/stop", function() stop("shown in debug mode"))
router <- plumber::pr_post(router, "/body", function(req) list(n = length(req$bodyRaw)))
router <- plumber::pr_get(router, "/wd", function() basename(getwd()))
router <- plumber::pr_static(router, "/public", "../full/public")
plumber::pr_mount(router, "/strict", plumber::pr_set_error(
  plumber::pr_get(plumber::pr(), "/stop", function() stop("handled")),
  function(req, res, err) {
    res$status <- 503
    res$setHeader("Retry-After", "7")
    list(problem = conditionMessage(err))
  }
))
