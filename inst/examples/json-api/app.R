# A JSON API that keeps notes in memory: create, list, read, change, delete.

library(drover)

notes <- new.env()
notes$next_id <- 1L
notes$all <- list()

# The note with an id; dr_abort() answers the request with 404 from wherever it is called.
find_note <- function(id) {
  note <- notes$all[[as.character(id)]]
  if (is.null(note)) dr_abort(404, paste("there is no note", id))
  note
}

# The text in a request's body. req$json is parsed when it is first read; malformed JSON is answered with 400.
text_of <- function(req) {
  # any JSON may come: a number has no elements to look for
  text <- if (is.list(req$json)) req$json$text
  if (!is.character(text) || length(text) != 1L || !nzchar(text)) {
    dr_abort(422, "send {\"text\": \"...\"} with some text")
  }
  text
}

app <- dr_app()

# A list becomes a JSON array of objects; `?limit=` is optional.
dr_get(app, "/notes", function(req) {
  found <- unname(notes$all)
  limit <- dr_query(req, "limit")
  if (!is.null(limit)) {
    if (!grepl("^[0-9]{1,4}$", limit)) dr_abort(400, "limit must be a whole number")
    found <- head(found, as.integer(limit))
  }
  found
})

dr_post(app, "/notes", function(req) {
  id <- notes$next_id
  note <- list(id = id, text = text_of(req))
  notes$all[[as.character(id)]] <- note
  notes$next_id <- id + 1L
  dr_json(note, status = 201L, headers = list(Location = paste0("/notes/", id)))
})

# `<id:int>` matches whole numbers only, and the handler gets an integer.
dr_get(app, "/notes/<id:int>", function(req) find_note(req$params$id))

dr_put(app, "/notes/<id:int>", function(req) {
  note <- find_note(req$params$id)
  note$text <- text_of(req)
  notes$all[[as.character(note$id)]] <- note
  note
})

# NULL is 204 No Content.
dr_delete(app, "/notes/<id:int>", function(req) {
  note <- find_note(req$params$id)
  notes$all[[as.character(note$id)]] <- NULL
  NULL
})

dr_serve(app, port = as.integer(Sys.getenv("PORT", "8080")), block = TRUE)
