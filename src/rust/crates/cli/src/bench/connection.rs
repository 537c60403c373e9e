//! A request of `drover bench` and its answer, of which only the end has to be found.

use super::target::Target;
use crate::http::Connection;
use std::io;
use tokio::net::TcpStream;

/// One request and its answer: the status. The connection stays if another request may follow.
pub(super) async fn exchange(target: &Target, connection: &mut Option<Connection<TcpStream>>) -> io::Result<u16> {
    let mut open = match connection.take() {
        Some(open) => open,
        None => {
            let stream = TcpStream::connect(target.address).await?;
            stream.set_nodelay(true)?;
            Connection::new(stream)
        }
    };
    open.send(&target.request).await?;
    let head = open.head().await?;
    if open.body(&head, target.is_head).skip().await? {
        *connection = Some(open);
    }
    Ok(head.status)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{ErrorKind, Read, Write};
    use std::net::{SocketAddr, TcpListener};
    use std::time::Duration;

    /// Answers each request of one connection after the other with the next of these, the last one for ever.
    fn server(answers: &'static [&'static str]) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut next = answers.iter().chain(std::iter::repeat(answers.last().unwrap()));
            for mut stream in listener.incoming().flatten() {
                let (mut read, mut piece) = (Vec::new(), [0; 1024]);
                while let Ok(n @ 1..) = stream.read(&mut piece) {
                    read.extend_from_slice(&piece[..n]);
                    while let Some(end) = read.windows(4).position(|window| window == b"\r\n\r\n") {
                        read.drain(..end + 4);
                        let answer = next.next().unwrap();
                        stream.write_all(answer.as_bytes()).unwrap();
                        if answer.contains("close") {
                            stream.shutdown(std::net::Shutdown::Both).unwrap();
                        }
                    }
                }
            }
        });
        address
    }

    fn statuses(answers: &'static [&'static str], requests: usize) -> Vec<Result<u16, ErrorKind>> {
        let target = Target {
            address: server(answers),
            request: b"GET / HTTP/1.1\r\n\r\n".to_vec(),
            is_head: false,
            timeout: Duration::from_secs(10),
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let (mut connection, mut statuses) = (None, Vec::new());
            for _ in 0..requests {
                statuses.push(exchange(&target, &mut connection).await.map_err(|e| e.kind()));
            }
            statuses
        })
    }

    #[test]
    fn answers_end_where_their_framing_says() {
        let answers = &[
            "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nA: b\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\n",
            "HTTP/1.1 404 Not Found\r\nConnection: close\r\n\r\nuntil the end",
            "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
        ];
        assert_eq!(statuses(answers, 6), [Ok(200), Ok(201), Ok(204), Ok(404), Ok(503), Ok(503)]);
    }

    #[test]
    fn an_answer_that_breaks_off_is_an_error() {
        let answers = &["HTTP/1.1 200 OK\r\nContent-Length: 30\r\nConnection: close\r\n\r\nabc"];
        assert_eq!(statuses(answers, 1), [Err(ErrorKind::UnexpectedEof)]);
    }
}
