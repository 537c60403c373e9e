//! What is found of what a process opens, and what becomes of it in a fork. One test, as all threads of a process open
//! files in one table.

use fork_safety::Watch;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;

fn text(watch: &Watch) -> String {
    watch.unshared(None).text().to_owned()
}

#[test]
fn what_forks_must_not_share_is_found_told_and_taken_away() {
    let folder = std::env::temp_dir().join(format!("fork-safety-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let path = folder.join("socket");
    let unix = UnixListener::bind(&path).unwrap();

    let mut watch = Watch::begin();
    assert_eq!(text(&watch), "");

    // bells for itself, files that are only read, or only written, locks, and temporary ones without a name
    let database = folder.join("app.sqlite");
    let (bell, _other) = UnixStream::pair().unwrap();
    let pipe = std::io::pipe().unwrap();
    let mut harmless = vec![File::create(&database).unwrap(), File::open(&database).unwrap()];
    harmless.push(OpenOptions::new().read(true).write(true).open(&database).unwrap());
    harmless.push(OpenOptions::new().append(true).open(&database).unwrap());
    let nameless = folder.join("nameless");
    harmless.push(OpenOptions::new().read(true).write(true).create_new(true).open(&nameless).unwrap());
    std::fs::remove_file(&nameless).unwrap();
    // the other end of a client of a host's own server, beside the client itself
    let client = TcpStream::connect(address).unwrap();
    let accepted = listener.accept().unwrap().0;
    assert_eq!(text(&watch), format!("a connection ({address})"));
    drop((client, accepted));
    assert_eq!(text(&watch), "");

    watch.came_from("app.R, line 1");
    let mut one = TcpStream::connect(address).unwrap();
    let (mut far, _) = listener.accept().unwrap();
    let two = TcpStream::connect(address).unwrap();
    watch.came_from("app.R, line 2");
    let local = UnixStream::connect(&path).unwrap();
    let other_end = unix.accept().unwrap();
    assert_eq!(text(&watch), format!("app.R, line 2: 2 connections ({address})"));
    // that is this process's own no more
    drop(other_end);
    watch.came_from("app.R, line 3");
    harmless[0].write_all(b"x").unwrap();
    // one that was empty, and one that was not
    assert_eq!(text(&watch).matches("app.sqlite").count(), 1);
    let file = OpenOptions::new().read(true).write(true).open(&database).unwrap();
    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    drop(harmless.remove(2));
    let (name, at) = (database.display(), path.display());
    let found = watch.unshared(None);
    assert_eq!(
        found.text(),
        format!(
            "a file that is written in place ({name}); a socket; app.R, line 2: 2 connections ({address}); \
             app.R, line 3: a connection ({at})"
        )
    );

    // in a fork: numbers that stay taken, and can be used for nothing
    found.drop_here();
    let unusable = |error: std::io::Error| error.raw_os_error() == Some(9);
    assert!(unusable(one.write(b"x").unwrap_err()) && unusable(one.read(&mut [0]).unwrap_err()));
    assert!(unusable((&file).write(b"x").unwrap_err()) && unusable(datagrams.send(b"x").unwrap_err()));
    assert_eq!(text(&watch), "");
    // none but this process had them
    assert_eq!(far.read(&mut [0]).unwrap(), 0);
    // the others can
    (&bell).write_all(b"x").unwrap();
    (&pipe.1).write_all(b"x").unwrap();
    (&harmless[0]).write_all(b"x").unwrap();
    // once more changes nothing, also when a number is another file's by now
    drop(file);
    let mut another = File::create(folder.join("another")).unwrap();
    found.drop_here();
    another.write_all(b"x").unwrap();
    drop((two, local, datagrams));

    // a child's pipes
    let child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    assert_eq!(text(&watch), "2 pipes to other processes");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());

    // a thread, whose code is this program's, is its host's own; one of a library is not, see tests of the package
    let (end, ends) = channel::<()>();
    let thread = std::thread::spawn(move || ends.recv().map_err(|_| ErrorKind::BrokenPipe));
    assert_eq!(text(&watch), "");
    drop(end);
    assert!(thread.join().unwrap().is_err());
    std::fs::remove_dir_all(&folder).unwrap();
}
