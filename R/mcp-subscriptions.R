# Changes of resources, of which clients are told that want to know of them: dr_mcp_updated(). A client of a version
# without a handshake opens a stream for it, by a message that says what it wants. An older one says so by messages of
# their own, which are kept under its session, and has one stream for all, by GET. What has changed is in the memory
# that all workers share, where streams look. Neighbours: mcp-session.R; mcp-waiting.R, which waits in the same way.

# How often a stream looks, and how long a change can be seen by streams, in seconds.
MCP_LISTENS <- 0.25
MCP_CHANGE_LASTS <- 60

# Most resources that a stream, or a session, follows.
MCP_FOLLOWED <- 100L

# How long it is kept what a session follows whose stream is gone, in seconds.
MCP_FOLLOWED_LASTS <- 3600

#' Say that a resource has changed
#'
#' Tells the clients of [dr_mcp()] that follow a resource that it has changed, so that they read it again: from any
#' handler, tool, job or callback, in any worker, or from the session that serves. They hear of it within half a second;
#' of changes that follow each other faster they may hear once.
#'
#' Clients follow resources by `resources/subscribe` or, since 2026-07-28, by `subscriptions/listen`.
#'
#' @param uri The URI of the resource, as [dr_mcp_resource()] has it, placeholders filled in: a single string.
#' @returns `NULL`, invisibly.
#' @section Errors: `drover_error_argument` when `uri` is no single string; `drover_error_full` when the memory of
#'   [dr_state()], in which changes are kept for a minute, is full.
#' @seealso [dr_mcp_resource()]
#' @examples
#' app <- dr_app()
#' state <- dr_state("counter")
#' count <- dr_mcp_resource("counter://visits", function() format(state$get("visits", 0)), "visits")
#' visit <- dr_tool(function() {
#'   visits <- state$add("visits")
#'   dr_mcp_updated("counter://visits")
#'   visits
#' }, "visit", "Counts a visit")
#' dr_mcp(app, tools = list(visit), resources = list(count))
#' @export
dr_mcp_updated <- function(uri) {
  check_string(uri, "uri")
  change <- random_token()
  changes_of()$set(change_place(uri), change, ttl = MCP_CHANGE_LASTS)
  # a stream that sees this finds what is before it
  changes_of()$set("latest", change, ttl = MCP_CHANGE_LASTS)
  invisible(NULL)
}

changes_of <- function() dr_state("drover mcp changes")

change_place <- function(uri) shared_key(uri, "uri")

# The last change of each of these resources, by their URIs: "" for none of late.
last_changes <- function(uris) {
  with_names(vapply(uris, function(uri) changes_of()$get(change_place(uri), ""), ""), uris)
}

# A function that gives the resources that have changed since it was called last. `seen`: their last changes, by URIs;
# `follows`: a function of `seen` that gives those of what is to be followed from now on.
watching <- function(seen, follows = identity) {
  latest <- ""
  function() {
    before <- names(seen)
    seen <<- follows(seen)
    now <- changes_of()$get("latest", "")
    # what is new may have changed before
    if (identical(now, latest) && identical(before, names(seen))) return(character())
    latest <<- now
    changes <- last_changes(names(seen))
    is_changed <- nzchar(changes) & changes != seen
    seen[is_changed] <<- changes[is_changed]
    names(seen)[is_changed]
  }
}

# The stream of a client that follows resources: `first`, a message or NULL, and then one for each change. `params`:
# what these have beside the URI; `changed`: see watching(); `id`: of the message that asks for it, which has an answer
# where there is no place for the stream; `beat`: called now and then.
stream_of_changes <- function(first, params, changed, id = NULL, beat = function() NULL) {
  said <- now_in_seconds()
  place <- new_place()
  is_over <- FALSE
  write <- function(out) {
    if (!place$take()) {
      is_over <<- TRUE
      if (!is.null(id)) out$event(too_many_wait(id)$text, event = "message")
      return()
    }
    uris <- vapply(changed(), quoted_json, "")
    texts <- c(first, sprintf(
      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\",\"params\":{%s\"uri\":%s}}", params, uris
    ))
    first <<- NULL
    for (text in texts) out$event(text, event = "message")
    now <- now_in_seconds()
    if (now - said <= MCP_BEATS) return()
    said <<- now
    beat()
    if (!length(texts)) out$write(":\n\n")
  }
  new_stream(
    leaving(place, writing(write, function() is_over)), NULL, "text/event-stream", list(), MCP_LISTENS, 200L, "end",
    event_headers
  )
}

# The stream for a message that asks for one: list(stream), or an error. It says first what the client will hear of.
listen <- function(offer, message) {
  id <- message$id
  wanted <- message$params[["notifications"]]
  if (!is_object(wanted)) return(rpc_error(id, "params", "`params.notifications` must be an object"))
  uris <- wanted[["resourceSubscriptions"]]
  is_right <- is.null(uris) || (is.list(uris) && is.null(names(uris)) && all(vapply(uris, is_string, NA)))
  if (!is_right || length(uris) > MCP_FOLLOWED) {
    said <- "`params.notifications.resourceSubscriptions` must be an array of at most %d strings"
    return(rpc_error(id, "params", sprintf(said, MCP_FOLLOWED)))
  }
  if (is.null(message$events)) return(rpc_error(id, "request", "a client that listens must accept text/event-stream"))
  uris <- Filter(function(uri) !is.null(find_resource(offer, uri)), unique(as.character(uris)))
  about <- paste0("\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":", id, "},")
  first <- paste0(
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{", about,
    "\"notifications\":", plain_json(if (length(uris)) list(resourceSubscriptions = as.list(uris)) else no_members),
    "}}"
  )
  list(stream = stream_of_changes(first, about, watching(last_changes(uris)), id))
}

# ---- clients with a session ----

# Of a session what it follows: the last changes that it knows of, by URIs.
followed_of <- function() dr_state("drover mcp followed")

followed_place <- function(req) shared_key(session_id(req), "followed")

# The answer to a client that follows a resource from now on, or not any more.
subscribe <- function(offer, req, id, params, is_new_one) {
  uri <- params[["uri"]]
  if (!is_string(uri)) return(rpc_error(id, "params", "`params.uri` must be the URI of a resource"))
  if (is_new_one && is.null(find_resource(offer, uri))) return(no_resource(id, uri, FALSE))
  if (is.null(session_abilities(offer, req))) {
    said <- "without the `Mcp-Session-Id` of a handshake with this server, it is not known who follows the resource"
    return(rpc_error(id, "params", said))
  }
  tryCatch({
    followed <- followed_of()$update(followed_place(req), function(followed) {
      others <- followed[names(followed) != uri]
      if (!is_new_one || length(others) >= MCP_FOLLOWED) others else c(others, last_changes(uri))
    }, default = character(), ttl = MCP_FOLLOWED_LASTS)
    if (is_new_one && !uri %in% names(followed)) {
      return(rpc_error(id, "params", sprintf("a session follows at most %d resources", MCP_FOLLOWED)))
    }
    rpc_result(id, "{}")
  }, drover_error_full = function(full) {
    rpc_error(id, "internal", "it cannot be kept now what the session follows: try again later")
  })
}

# The response to a GET: the stream of a session. Others have none.
follow_session <- function(offer, req) {
  headers <- req$headers
  takes_events <- grepl("text/event-stream", headers[["accept"]] %||% "", fixed = TRUE)
  is_older <- !identical(headers[["mcp-protocol-version"]], MCP_VERSIONS)
  if (!takes_events || !is_older || is.null(session_abilities(offer, req))) {
    said <- "only a session of a version before 2026-07-28 that accepts text/event-stream has a stream here: use POST"
    dr_abort(405L, said, headers = list(Allow = "POST"))
  }
  place <- followed_place(req)
  followed <- function() followed_of()$get(place, character())
  follows <- function(seen) {
    now <- followed()
    known <- intersect(names(now), names(seen))
    now[known] <- seen[known]
    now
  }
  # as long as it is there, what it follows is kept
  beat <- function() if (length(followed())) followed_of()$update(place, identity, ttl = MCP_FOLLOWED_LASTS)
  stream_of_changes(NULL, "", watching(character(), follows), beat = beat)
}
