# What needs plumber beside endpoints that do not, and what keeps some from the fast path. Requests:
# ../../requests-simple.R.

#* @get /ping
function() list(ok = TRUE)

#* @get /serializer
function(res) {
  res$serializer <- plumber::serializer_html()
  "<p>by the handler</p>"
}

#* @post /lists
#* @parser json list(simplifyVector = FALSE)
function(req) req$body

#* @get /attach-text
#* @serializer text
function() as_attachment("a,b\n", "data.csv")

#* @get /attach
#* @serializer contentType list(type = "text/csv")
function() as_attachment("one,two\n")

#* @get /png
#* @serializer png
function() plot(1:3)

#* @get /forwards
function() plumber::forward()

pass_on <- function() forward()

#* @get /forwards-by-another
function() pass_on()

#* @assets ./public /files
list()

#* @get /mixed/page.html
function() "an endpoint, not the file"

#* @assets public /mixed
list()

#* @plumber
function(pr) {
  child <- plumber::pr(filters = plumber:::defaultPlumberFilters)
  child <- plumber::pr_get(child, "/ping", function(req) list(child = TRUE, path = req$PATH_INFO, script = req$SCRIPT_NAME))
  child <- plumber::pr_get(child, "/<id:int>", function(id, x = "none") list(id = id, x = x))
  child <- plumber::pr_get(child, "/stop", function() stop("in the child"))
  child <- plumber::pr_get(child, "/text", function() "t", serializer = plumber::serializer_text())
  child <- plumber::pr_set_error(child, function(req, res, err) {
    res$status <- 503
    res$setHeader("Retry-After", "7")
    list(child_error = conditionMessage(err), path = req$PATH_INFO)
  })
  guarded <- plumber::pr_get(plumber::pr(), "/ping", function() "guarded")
  guarded <- plumber::pr_filter(guarded, "guard", function(req, res) {
    res$status <- 401
    list(error = "no")
  })
  pr <- plumber::pr_mount(pr, "/child", child)
  pr <- plumber::pr_mount(pr, "/child/ping", plumber::pr_get(plumber::pr(), "/", function() "behind a mount"))
  plumber::pr_mount(pr, "/guarded", guarded)
}


#* @post /args
function(...) list(...)[setdiff(names(list(...)), c("req", "res"))]

#* @get /router
function(req) c(class(req$pr), names(req$pr$endpoints))

#* @get /session
function(req) names(req$session)
