//! What is left for others when clients hold all the descriptors that they can get. A program of its own, as its limit
//! is the process's.

mod service;
mod settings;

use admission::Limits;
use bytes::Bytes;
use engine::{AppConfig, MountConfig};
use h2::client::Builder;
use http::{Request, StatusCode};
use patience::{patience, until};
use rustix::process::{setrlimit, Resource, Rlimit};
use service::{answer, send, Service, GET};
use std::sync::Arc;
use std::time::Instant;

/// Descriptors of this process, of which the server leaves 64 to others.
const DESCRIPTORS: u64 = 164;

struct Nothing;

impl exchange::Handlers for Nothing {
    fn run(
        &self,
        _: u32,
        _: &dyn exchange::RequestView,
        _: &mut dyn FnMut() -> Arc<dyn exchange::Sink>,
    ) -> Option<exchange::Answer> {
        None
    }
    fn submit(&self, _: u32, _: Vec<u8>, _: Instant, _: Arc<dyn exchange::Sink>) {}
    fn flush(&self) {}
}

/// Files below the folder that this process has open.
fn open_files(folder: &std::path::Path) -> usize {
    let all = std::fs::read_dir("/proc/self/fd").unwrap();
    all.filter(|fd| std::fs::read_link(fd.as_ref().unwrap().path()).is_ok_and(|to| to.parent() == Some(folder))).count()
}

#[test]
fn files_that_nobody_reads_lock_nobody_out() {
    setrlimit(Resource::Nofile, Rlimit { current: Some(DESCRIPTORS), maximum: Some(DESCRIPTORS) }).unwrap();
    let files = tempfile::tempdir().unwrap();
    std::fs::write(files.path().join("large"), vec![b'x'; 300_000]).unwrap();
    // far more than the fifth of it that stalled clients get, even on a busy machine
    let whole = patience(12);
    let service = Service::new(1, Limits { write_timeout: whole.as_secs_f64(), ..Limits::default() });
    let mount =
        MountConfig { mount: "/f".into(), dir: files.path().to_str().unwrap().into(), links: false, types: None };
    service.runs(AppConfig { mounts: vec![mount], ..AppConfig::default() }, Arc::new(Nothing));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let began = Instant::now();
    let refused = runtime.block_on(async {
        let (mut clients, mut responses, mut refused) = (Vec::new(), Vec::new(), 0);
        for _ in 0..3 {
            let io = tokio::net::TcpStream::connect(service.server.address().inet().unwrap()).await.unwrap();
            let (mut client, connection) =
                Builder::new().initial_window_size(0).handshake::<_, Bytes>(io).await.unwrap();
            tokio::spawn(connection);
            for _ in 0..50 {
                let request = Request::get("http://a/f/large").body(()).unwrap();
                let response = client.send_request(request, true).unwrap().0.await.unwrap();
                refused += usize::from(response.status() == StatusCode::SERVICE_UNAVAILABLE);
                responses.push(response);
            }
            clients.push(client);
        }
        // half of what connections and files share
        assert_eq!(open_files(files.path()), 50);
        tokio::task::spawn_blocking(move || {
            let mut others: Vec<_> = (0..20).map(|_| service.connect()).collect();
            for other in &mut others {
                send(other, GET);
                assert!(answer(other).starts_with("HTTP/1.1 404"));
            }
            // and stalled clients have less time, until files are no longer scarce
            until("half of the files are closed", || open_files(files.path()) <= 25);
        })
        .await
        .unwrap();
        refused
    });
    assert_eq!(refused, 100);
    // of the server's own clock, which nothing else shows that has the same length
    assert!(began.elapsed() < whole, "the whole of write_timeout");
}
