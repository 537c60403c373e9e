# What is wrong with the record of a case (client.R), and whether that would be seen: everything that the case speaks of
# is broken in the record, and then something must be found wrong. Nothing is sent here.

# list(wrong, loose): texts. Loose is what the RFC leaves open or asks for in vain, and the judges of servers forgive.
judge <- function(case, record) {
  if (!isTRUE(record$status %in% case$status)) {
    wanted <- paste(case$status, collapse = " or ")
    came <- if (length(record$status)) record$status else "nothing"
    return(list(wrong = paste0("the handshake is answered with ", came, ", not ", wanted)))
  }
  if (case$ending$kind == "refused") return(list(wrong = character()))
  if (!extensions_fit(case, record$head)) {
    answer <- record$head$fields["sec-websocket-extensions"]
    return(list(wrong = paste0("extensions are <", answer, ">, not ", case$extensions)))
  }
  # where the RFC says nothing of what the client does, the answer may be odd too
  undefined <- case$ending$kind == "ends"
  found <- list(wrong = if (!undefined) record$faults,
    loose = c(if (undefined) record$faults, if (record$late) "the connection failed later than it could have"))
  for (turn in seq_len(case$turns)) {
    came <- if (length(record$turns) >= turn) record$turns[[turn]] else list()
    found <- both(found, judge_turn(case, came, turn))
    # what follows is a consequence
    if (length(found$wrong)) break
  }
  found <- both(found, judge_ending(case, record))
  if (length(record$turns) > case$turns) found$wrong <- c(found$wrong, "more turns came than were sent")
  found
}

both <- function(a, b) list(wrong = c(a$wrong, b$wrong), loose = c(a$loose, b$loose))

judge_turn <- function(case, came, turn) {
  wrong <- loose <- character()
  at <- 1
  for (expected in case$expect) {
    event <- if (at <= length(came)) came[[at]]
    payload <- payload_expected(expected, turn)
    if (!is.null(event) && event$kind == expected$kind && identical(event$payload, payload)) {
      at <- at + 1
    } else if (expected$optional && is.null(event)) {
      loose <- c(loose, paste("before it failed, there was no", described(expected$kind, payload)))
    } else {
      got <- if (is.null(event)) "nothing" else described(event$kind, event$payload)
      where <- if (case$turns > 1) paste0("in turn ", turn, ", ") else ""
      differs <- if (!is.null(event)) first_difference(event$payload, payload)
      return(list(wrong = paste0(where, "expected ", described(expected$kind, payload), ", came ", got, differs)))
    }
  }
  if (at <= length(came)) wrong <- paste("unexpected:", described(came[[at]]$kind, came[[at]]$payload))
  list(wrong = wrong, loose = loose)
}

first_difference <- function(a, b) {
  size <- min(length(a), length(b))
  # a payload may have 16 MB, so the block that differs is looked for first
  for (from in seq_len(ceiling(size / 65536)) * 65536 - 65535) {
    block <- from:min(size, from + 65535)
    if (identical(a[block], b[block])) next
    return(paste(", different from byte", from - 1 + which(a[block] != b[block])[1]))
  }
}

described <- function(kind, payload) {
  if (!length(payload)) return(paste("an empty", kind))
  bytes <- utils::head(payload, 24)
  plain <- bytes >= 0x20 & bytes < 0x7f
  text <- paste(ifelse(plain, rawToChar(replace(bytes, !plain, as.raw(0x3f)), multiple = TRUE),
    sprintf("\\x%02x", as.integer(bytes))), collapse = "")
  sprintf("%s of %d bytes <%s%s>", kind, length(payload), text, if (length(payload) > 24) "..." else "")
}

judge_ending <- function(case, record) {
  kind <- case$ending$kind
  if (kind == "ends") return(list(wrong = if (!record$ended) "the server does not end the connection"))
  clean <- kind == "close"
  code <- if (length(record$close) >= 2) as.character(be_number(record$close[1:2])) else "none"
  wanted <- paste(case$ending$codes, collapse = " or ")
  if (is.null(record$close)) {
    if (!record$ended) return(list(wrong = paste("no Close came, and the connection stays open; expected", wanted)))
    text <- "the connection was dropped without a Close"
    return(if (clean) list(wrong = text) else list(loose = text))
  }
  wrong <- c(if (clean && record$first) paste("the server has closed the connection before the client did:", code),
    if (code != "none" && !code %in% case$ending$codes) paste0("the code of the Close is ", code, ", not ", wanted),
    if (!record$ended) paste0("after its Close (", code, ") the server does not end the connection"))
  list(wrong = wrong, loose = if (code == "none" && !"none" %in% case$ending$codes) {
    paste0("the Close has no code, it should be ", wanted)
  })
}

# The names of what was broken in a record that the case is content with, and was not noticed.
unnoticed <- function(case, record) {
  found <- judge(case, record)
  records <- broken_records(case, record)
  blind <- !vapply(records, function(broken) {
    again <- judge(case, broken)
    length(again$wrong) > 0 || length(again$loose) > length(found$loose)
  }, NA)
  names(records)[blind]
}

broken_records <- function(case, record) {
  change <- function(...) utils::modifyList(record, list(...), keep.null = TRUE)
  broken <- list("another status" = change(status = 299L))
  if (case$ending$kind == "refused") return(broken)
  broken[["a connection that stays open"]] <- change(ended = FALSE, close = NULL)
  broken[["a fault"]] <- change(faults = c(record$faults, "a fault"))
  if (case$ending$kind != "ends") {
    broken[["another code"]] <- change(close = be_bytes(4321, 2))
    broken[["no end after the Close"]] <- change(ended = FALSE)
  }
  if (case$ending$kind == "close") broken[["dropped"]] <- change(close = NULL)
  with_turn <- function(events) {
    record$turns[[case$turns]] <- events
    record
  }
  events <- if (length(record$turns) >= case$turns) record$turns[[case$turns]] else list()
  extra <- list(list(kind = "text", payload = charToRaw("unasked")))
  broken[["one more message"]] <- with_turn(c(events, extra))
  if (length(events)) {
    broken[["one message less"]] <- with_turn(events[-1])
    other <- events
    other[[1]]$payload <- c(as.raw(0x21), other[[1]]$payload)
    broken[["another payload"]] <- with_turn(other)
    other <- events
    other[[1]]$kind <- if (other[[1]]$kind == "text") "binary" else "text"
    broken[["another kind"]] <- with_turn(other)
  }
  broken
}
