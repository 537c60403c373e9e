# The bytes of frames (RFC 6455, section 5.2), however wrong, and frames of bytes. Not for sockets (client.R), and not
# for whether a server may send what it sent: rules.R.

opcodes <- c(continue = 0, text = 1, binary = 2, close = 8, ping = 9, pong = 10)

be_bytes <- function(number, size) as.raw(number %/% 256^((size - 1):0) %% 256)

be_number <- function(bytes) sum(as.integer(bytes) * 256^((length(bytes) - 1):0))

random_bytes <- function(count) as.raw(sample.int(256L, count, replace = TRUE) - 1L)

# Everything before the payload. `masked`: whether the bit says so; the key is not in it.
frame_head <- function(opcode, length, fin = TRUE, rsv = 0, masked = TRUE) {
  first <- as.raw(fin * 128 + rsv * 16 + opcode)
  bit <- masked * 128
  if (length < 126) return(c(first, as.raw(bit + length)))
  if (length < 65536) return(c(first, as.raw(bit + 126), be_bytes(length, 2)))
  c(first, as.raw(bit + 127), be_bytes(length, 8))
}

# One frame, masked with a key of its own, as a client must.
frame_bytes <- function(opcode, payload, fin = TRUE, rsv = 0, masked = TRUE) {
  head <- frame_head(opcode, length(payload), fin, rsv, masked)
  if (!masked) return(c(head, payload))
  key <- random_bytes(4)
  c(head, key, xor(payload, rep_len(key, length(payload))))
}

# A message in frames of `size` bytes and a rest. `fin`: whether the last frame ends it. The frames that are full are
# made at once, a column for each: there may be 65,536 of them.
fragment_bytes <- function(opcode, payload, size, fin = TRUE, rsv = 0) {
  full <- (length(payload) - 1) %/% size
  if (full < 1) return(frame_bytes(opcode, payload, fin, rsv))
  keys <- matrix(random_bytes(4 * full), 4)
  bytes <- xor(payload[seq_len(full * size)], as.vector(keys[rep_len(1:4, size), ]))
  heads <- matrix(frame_head(0, size, fin = FALSE), ncol = full, nrow = length(frame_head(0, size)))
  heads[1, 1] <- frame_head(opcode, size, fin = FALSE, rsv)[1]
  rest <- frame_bytes(0, payload[-seq_len(full * size)], fin)
  c(as.vector(rbind(heads, keys, matrix(bytes, size))), rest)
}

# The frame that begins at `at` of `bytes`: list(opcode, fin, rsv, masked, short, payload, size), where `short` is
# whether its length is written in as few bytes as can be. While it is not all there: the number of bytes it needs.
take_frame <- function(bytes, at) {
  have <- length(bytes) - at + 1
  if (have < 2) return(2)
  first <- as.integer(bytes[at])
  second <- as.integer(bytes[at + 1])
  length <- second %% 128
  extended <- if (length == 126) 2 else if (length == 127) 8 else 0
  masked <- second >= 128
  head <- 2 + extended + 4 * masked
  if (have < head) return(head)
  if (extended) length <- be_number(bytes[at + 1 + seq_len(extended)])
  if (have < head + length) return(head + length)
  payload <- if (length) bytes[(at + head):(at + head + length - 1)] else raw()
  if (masked) payload <- xor(payload, rep_len(bytes[at + head - 4:1], length))
  list(opcode = first %% 16, fin = first >= 128, rsv = first %/% 16 %% 8, masked = masked,
    short = extended == 0 || length >= c(126, 65536)[1 + (extended == 8)], payload = payload, size = head + length)
}
