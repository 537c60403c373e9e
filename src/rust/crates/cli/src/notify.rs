//! Reports the state of a service of `Type=notify` to systemd: sd_notify(3). Without `NOTIFY_SOCKET` it sends nothing.

use std::env;
use std::ffi::OsString;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// It serves.
pub(crate) const READY: &str = "READY=1";
/// It ends.
pub(crate) const STOPPING: &str = "STOPPING=1";

/// Tells it.
pub(crate) fn tell(state: &str) {
    if let Some(place) = env::var_os("NOTIFY_SOCKET") {
        // a listener that has gone has given up waiting
        let _ = send(&place, state);
    }
}

fn send(place: &OsString, state: &str) -> io::Result<()> {
    let bytes = place.as_bytes();
    // one that begins with @ is in no folder
    let address = match bytes.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(place)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_a_folder_and_in_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("drover-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        for (socket, place) in [
            (UnixDatagram::bind(&path).unwrap(), path.clone().into_os_string()),
            (UnixDatagram::bind_addr(&address).unwrap(), format!("@{name}").into()),
        ] {
            socket.set_read_timeout(Some(patience::patience(30))).unwrap();
            send(&place, READY).unwrap();
            let mut received = [0; 64];
            let n = socket.recv(&mut received).unwrap();
            assert_eq!(&received[..n], b"READY=1");
        }
        assert!(send(&"/none/notify".into(), READY).is_err());
    }
}
