//! Writing of HTTP/1.1 responses: the head, and the framing of a body.

use crate::date;
use crate::response::{is_bodiless, phrase, Response, ResponseFields};
use crate::transport::Transport;
use bytes::Bytes;
use grammar::hex;

/// What the request says of its response.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// for the head alone
    pub head_only: bool,
    /// in HTTP/1.0
    pub http10: bool,
    /// that the connection goes on, and whether it does
    pub keep_alive: bool,
}

/// How the end of a response's body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framed {
    /// it has none
    Bodiless,
    /// what follows is no HTTP any more
    Switched,
    /// this many bytes are left
    Length(u64),
    Chunks,
    /// by the end of the connection, which HTTP/1.0 has nothing better for
    Close,
}

/// How the body of a response will be framed.
pub fn framing(response: &Response, asked: Asked) -> Framed {
    if response.body.is_websocket() {
        return Framed::Switched;
    }
    if asked.head_only || is_bodiless(response.status) {
        return Framed::Bodiless;
    }
    match response.body.len() {
        Some(n) => Framed::Length(n),
        None if asked.http10 => Framed::Close,
        None => Framed::Chunks,
    }
}

/// Appends the head of a response.
pub fn head(response: &Response, framed: Framed, asked: Asked, out: &mut Vec<u8>) {
    let (status, fields) = (response.status, &response.fields);
    out.extend_from_slice(if asked.http10 { b"HTTP/1.0 " } else { b"HTTP/1.1 " });
    out.extend_from_slice(status.as_str().as_bytes());
    out.push(b' ');
    out.extend_from_slice(phrase(status.as_u16()).unwrap_or_default().as_bytes());
    out.extend_from_slice(b"\r\n");
    out.extend_from_slice(fields.text());
    match framed {
        Framed::Length(n) => length(n, out),
        Framed::Chunks => out.extend_from_slice(b"transfer-encoding: chunked\r\n"),
        Framed::Close => {}
        Framed::Switched => out.extend_from_slice(b"connection: upgrade\r\nupgrade: websocket\r\n"),
        // what the answer to a GET would have
        Framed::Bodiless => {
            if let Some(n) = fields.length.filter(|_| !is_bodiless(status)) {
                length(n, out);
            }
        }
    }
    match (asked.keep_alive || framed == Framed::Switched, asked.http10) {
        (false, false) => out.extend_from_slice(b"connection: close\r\n"),
        (true, true) => out.extend_from_slice(b"connection: keep-alive\r\n"),
        _ => {}
    }
    if !fields.has_date() {
        out.extend_from_slice(b"date: ");
        out.extend_from_slice(&date::now());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

/// Appends an informational response with these fields, which a client is told ahead of its final one (RFC 8297).
pub fn early_hints(fields: &ResponseFields, out: &mut Vec<u8>) {
    out.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\n");
    out.extend_from_slice(fields.text());
    out.extend_from_slice(b"\r\n");
}

fn length(n: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"content-length: ");
    out.extend_from_slice(itoa::Buffer::new().format(n).as_bytes());
    out.extend_from_slice(b"\r\n");
}

impl Framed {
    /// Adds a piece of the body to what is to be sent. `false` when it has no place in it.
    pub fn write(&mut self, piece: Bytes, io: &mut Transport) -> bool {
        match self {
            _ if piece.is_empty() => {}
            Framed::Length(left) if *left < piece.len() as u64 => return false,
            Framed::Length(left) => {
                *left -= piece.len() as u64;
                io.push(piece);
            }
            Framed::Chunks => {
                // copied, as what stands behind a chunk is not to wait for the next one
                let out = io.output();
                chunk_size(piece.len(), out);
                out.extend_from_slice(&piece);
                out.extend_from_slice(b"\r\n");
            }
            Framed::Close | Framed::Bodiless | Framed::Switched => io.push(piece),
        }
        true
    }

    /// Adds what stands behind the last piece, with trailers where those can be sent. `false` if the body is not whole.
    pub fn end(&self, trailers: &ResponseFields, io: &mut Transport) -> bool {
        if *self == Framed::Chunks {
            let out = io.output();
            out.extend_from_slice(b"0\r\n");
            out.extend_from_slice(trailers.text());
            out.extend_from_slice(b"\r\n");
        }
        !matches!(self, Framed::Length(1..))
    }
}

fn chunk_size(size: usize, out: &mut Vec<u8>) {
    hex::push(size as u64, out);
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::Body;
    use http::StatusCode;

    const ASKED: Asked = Asked { head_only: false, http10: false, keep_alive: true };

    fn text(response: &Response, asked: Asked) -> String {
        let mut out = Vec::new();
        head(response, framing(response, asked), asked, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn with(status: u16) -> Response {
        let status = StatusCode::from_u16(status).unwrap();
        Response::new(status, ResponseFields::default(), Body::bytes("abc"))
    }

    #[test]
    fn lengths_are_told_where_a_body_may_be() {
        assert!(text(&with(200), ASKED).starts_with("HTTP/1.1 200 OK\r\ncontent-length: 3\r\ndate: "));
        assert!(!text(&with(204), ASKED).contains("content-length"));
        assert!(!text(&with(304), ASKED).contains("content-length"));
        assert!(text(&with(299), ASKED).starts_with("HTTP/1.1 299 \r\n"));
        let head_only = Asked { head_only: true, ..ASKED };
        assert_eq!(framing(&with(200), head_only), Framed::Bodiless);
        let empty = Response { body: Body::empty(), ..with(200) };
        assert!(text(&empty, ASKED).contains("content-length: 0\r\n"));
        assert!(!text(&empty, head_only).contains("content-length"));
    }

    #[test]
    fn connections_that_end_or_go_on_against_their_version_are_told() {
        let response = Response { body: Body::empty(), ..with(200) };
        let old = Asked { http10: true, ..ASKED };
        assert!(!text(&response, ASKED).contains("connection"));
        assert!(text(&response, Asked { keep_alive: false, ..ASKED }).contains("connection: close\r\n"));
        assert!(text(&response, old).contains("connection: keep-alive\r\n"));
        let last = text(&response, Asked { keep_alive: false, ..old });
        assert!(last.starts_with("HTTP/1.0 200") && !last.contains("connection"));
    }

    #[test]
    fn sizes_of_chunks_are_hexadecimal() {
        for size in [1, 15, 16, 255, 4096, 65_537, usize::MAX] {
            let mut out = Vec::new();
            chunk_size(size, &mut out);
            assert_eq!(out, format!("{size:x}\r\n").as_bytes());
        }
    }
}
