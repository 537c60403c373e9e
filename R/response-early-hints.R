# Links that a client is told of before the response. Neighbours: check-links.R; app-routes.R, for those of a route.

#' Tell browsers what to fetch while a handler runs
#'
#' Has the server send `103 Early Hints` (RFC 8297) with these links now. A browser fetches them, or connects to their
#' hosts, while the handler makes the page that will need them. May be called several times before the response.
#'
#' Links that are the same for each request are better given to the route, `dr_get(early_hints = )`: the server then
#' sends them before R has the request, and with the response.
#'
#' @section Who is told: Clients of HTTP/2; and of HTTP/1.1, browsers that open a page (`Sec-Fetch-Mode: navigate`)
#'   without a proxy in between, since others, and old proxies, may take the first response for the final one. Nobody
#'   else, and nobody once the response has begun: then the call does nothing.
#' @param req The request, as a handler gets it ([request]).
#' @param links Values of the field `Link` (RFC 8288), such as `"</app.css>; rel=preload; as=style"` or
#'   `"<https://cdn.example>; rel=preconnect"`: a character vector of at most 32 links, of 4096 bytes together. They are
#'   not added to the response: [dr_set_header()].
#' @returns Whether the server was told, invisibly: `TRUE`, or `FALSE` when the request has its response already, or no
#'   server runs. Of a request, the server passes on 16 calls at most.
#' @section Errors: `drover_error_argument` when an argument is not as described.
#' @seealso [dr_get()]
#' @examples
#' app <- dr_app()
#' dr_get(app, "/reports/<name>", function(req) {
#'   dr_early_hints(req, paste0("</plots/", req$params$name, ".png>; rel=preload; as=image"))
#'   Sys.sleep(0.1) # a query that takes its time
#'   dr_html(paste0("<img src='/plots/", req$params$name, ".png'>"))
#' })
#' # the same links for each request
#' dr_get(app, "/", function(req) dr_html("..."), early_hints = "</app.css>; rel=preload; as=style")
#' @export
dr_early_hints <- function(req, links) {
  check_request(req)
  check_links(links, "links")
  invisible(.Call(C_request_hint, req, paste(links, collapse = "\n")))
}
