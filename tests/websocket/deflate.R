# Raw deflate (RFC 1951) as permessage-deflate wants it (RFC 7692, section 7.2), of base R, which has zlib only in
# wrappings. Not for negotiating it (handshake.R) or for frames (frames.R). check.R has its round trips.

# What a sender leaves off the end of each message and a receiver puts back: an empty stored block without its header.
deflate_tail <- as.raw(c(0x00, 0x00, 0xff, 0xff))

# zlib ends a block after 16,383 symbols. A slice below that is one block, and its first bit says that it is the last.
deflate_slice <- 16000L

# The payload of a compressed message that any receiver with a window of 2^bits can read: each slice is compressed by
# itself, so nothing refers further back than it is long.
deflate <- function(bytes, bits = 15) {
  if (!length(bytes)) return(as.raw(0))
  starts <- seq(1, length(bytes), min(2^bits, deflate_slice))
  ends <- c(starts[-1] - 1, length(bytes))
  blocks <- Map(function(from, to) deflate_block(bytes[from:to]), starts, ends)
  utils::head(unlist(lapply(blocks, c, deflate_tail)), -4)
}

# A block that is not the last of its stream, then the header of an empty stored block: that has three bits, all zero,
# and fits into the last byte or needs another. Only one of the two can be inflated.
deflate_block <- function(slice) {
  zlib <- memCompress(slice, "gzip")
  stopifnot(identical(zlib[1], as.raw(0x78)))
  checksum <- utils::tail(zlib, 4)
  block <- zlib[3:(length(zlib) - 4)]
  block[1] <- block[1] & as.raw(0xfe)
  for (padding in list(raw(), as.raw(0))) {
    padded <- c(block, padding)
    whole <- c(zlib[1:2], padded, deflate_tail, stored_block(raw(), final = TRUE), checksum)
    # what is wrong here is wrong as a length of a stored block, which ends inflating at once
    if (identical(tryCatch(memDecompress(whole, "gzip"), error = function(e) NULL), slice)) return(padded)
  }
  stop("neither form of a compressed slice can be inflated")
}

stored_block <- function(bytes, final = FALSE) {
  size <- length(bytes)
  c(as.raw(final), as.raw(c(size %% 256, size %/% 256, 255 - size %% 256, 255 - size %/% 256)), bytes)
}

# Inflates the payload of a message. `history`: what was inflated before it and may be referred to, at most 32,768
# bytes. NULL when it is no deflate stream, refers to more than that, or inflates to more than `most` bytes. A message
# with a block that calls itself the last (RFC 7692, section 7.2.3.4) counts as none: the servers tested here make none.
inflate <- function(bytes, history = raw(), most = 64 * 2^20) {
  # gzip's header; gzcon() looks at no checksum as long as the stream does not end
  gzip <- as.raw(c(0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 0x03))
  # what follows the message is only found when all of the message was right
  marker <- charToRaw("the end of the message")
  stream <- c(gzip, if (length(history)) stored_block(history), bytes, deflate_tail, stored_block(marker))
  con <- gzcon(rawConnection(stream))
  on.exit(close(con))
  pieces <- list()
  total <- 0
  piece_size <- min(max(65536, 4 * length(stream)), 2^20)
  repeat {
    piece <- tryCatch(suppressWarnings(readBin(con, raw(), piece_size)), error = function(e) raw())
    if (!length(piece)) break
    pieces <- c(pieces, list(piece))
    total <- total + length(piece)
    if (total > most + 32768 + length(marker)) return(NULL)
  }
  inflated <- if (length(pieces) == 1) pieces[[1]] else unlist(pieces)
  size <- total - length(history) - length(marker)
  if (size < 0 || !identical(inflated[total - (length(marker) - 1):0], marker)) return(NULL)
  inflated[length(history) + seq_len(size)]
}

# The history for the next message, when messages may refer to earlier ones within a window of 2^bits.
next_history <- function(history, inflated, bits = 15) {
  window <- 2^bits
  if (length(inflated) >= window) return(utils::tail(inflated, window))
  utils::tail(c(history, inflated), window)
}
