# What no server may send (RFC 6455, section 5; RFC 7692, section 6), whatever a case is about.
# Not for what a case expects: judge.R.

# What is wrong with a frame of the server, as text. `state`: the connection before it.
frame_faults <- function(state, frame) {
  control <- frame$opcode >= 8
  begins <- frame$opcode %in% opcodes[c("text", "binary")]
  inside <- !is.null(state$message)
  # only the first frame of a message says that it is compressed
  rsv_may_be <- c(0, if (length(state$agreed) && begins) 4)
  c(if (!frame$opcode %in% opcodes) paste("a frame of the server has the reserved opcode", frame$opcode),
    if (frame$masked) "a frame of the server is masked",
    if (!frame$rsv %in% rsv_may_be) paste("a frame of the server has reserved bits:", frame$rsv),
    if (!frame$short) "the length of a frame of the server is not written in as few bytes as possible",
    if (control && !frame$fin) "a control frame of the server is fragmented",
    if (control && length(frame$payload) > 125) "a control frame of the server is too long",
    if (begins && inside) "the server begins a message within another",
    if (frame$opcode == 0 && !inside) "the server continues a message that it has not begun",
    if (!is.null(state$close)) "a frame of the server follows its Close",
    if (frame$opcode == opcodes[["close"]]) close_faults(frame$payload))
}

# The payload of a Close is nothing, or a code that may be sent and a reason in UTF-8 (section 7.4).
close_faults <- function(payload) {
  if (!length(payload)) return(NULL)
  if (length(payload) == 1) return("the Close of the server has half a code")
  code <- be_number(payload[1:2])
  c(if (code < 1000 || code %in% c(1004:1006, 1015:2999) || code > 4999) {
      paste("the Close of the server has the code", code, "which may not be sent")
    },
    if (!is_utf_8(payload[-(1:2)])) "the reason of the server's Close is not UTF-8")
}

is_utf_8 <- function(bytes) {
  # R's strings cannot have it, and it is as good as any other ASCII
  bytes[bytes == 0] <- as.raw(0x20)
  validUTF8(rawToChar(bytes))
}
