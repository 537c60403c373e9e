# A script for Rserve's HTTP server, as it is: drover serve app.R

.http.request <- function(url, query, body, headers) {
  switch(url,
    "/" = list(paste0("Hello, ", if ("name" %in% names(query)) query[["name"]] else "world", "!\n"), "text/plain"),
    "/form" = list(paste0(names(body), " is ", body, "\n", collapse = ""), "text/plain"),
    "/bytes" = list(as.raw(65:70), "application/octet-stream", c("X-Bytes: six", "Cache-Control: no-store")),
    "/page" = list("<h1>A page</h1>\n"),
    list("there is no such page\n", "text/plain", character(), 404L)
  )
}
