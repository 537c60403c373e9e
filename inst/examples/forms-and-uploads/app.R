# An HTML form, its fields, and files that come with it.

library(drover)

app <- dr_app()

page <- '<!doctype html>
<title>Photos</title>
<form action="/photos" method="post" enctype="multipart/form-data">
  <label>Album <input name="album"></label>
  <label>Photos <input type="file" name="photo" multiple></label>
  <button>Send</button>
</form>
'
dr_get(app, "/", function(req) dr_html(page))

# An urlencoded form: its fields are in req$form, and dr_query() sees them too. Repeated names are kept.
dr_post(app, "/survey", function(req) {
  list(name = dr_query(req, "name"), languages = I(dr_query(req, "language", all = TRUE)))
})

# A multipart form. A small file is in memory (`content`), one above `spool_above` bytes is on disk (`path`) and removed
# after the response, so a handler that wants to keep it moves it. `name` is what the client calls the file, never a
# path.
dr_post(app, "/photos", function(req) {
  photos <- dr_files(req, "photo", all = TRUE)
  if (!length(photos)) dr_abort(422, "send at least one file in the field 'photo'")
  album <- req$form$album
  received <- lapply(photos, function(photo) {
    bytes <- if (is.null(photo$content)) readBin(photo$path, "raw", photo$size) else photo$content
    list(
      name = photo$name, type = photo$type, size = photo$size,
      on_disk = is.null(photo$content), sum = sum(as.integer(bytes))
    )
  })
  list(album = unname(album), photos = received)
})

# max_body: the most that a request may send, here 10 MB.
dr_serve(
  app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE,
  limits = dr_limits(max_body = "10MiB", spool_above = "64KiB")
)
