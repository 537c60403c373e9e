//! Whether the server has more rights than it needs: as root, a mistake of any handler is one of the whole machine's.
//! In a container root is common, and means less.

use rustix::process::geteuid;
use std::fs;
use std::path::Path;

/// What the log is to say of it.
pub const WARNING: &str = "running as root: everything that a handler does is done as root; start it as another user";

/// Whether this process is root's, and in no container.
pub fn is_root_of_the_machine() -> bool {
    geteuid().is_root() && !is_contained(Path::new("/"))
}

/// Whether the system with this root folder is a container's: its makers leave files, give its first process variables,
/// or map its users to others.
fn is_contained(root: &Path) -> bool {
    let variables = fs::read(root.join("proc/1/environ")).unwrap_or_default();
    let known: [&[u8]; 2] = [b"container=", b"KUBERNETES_SERVICE_HOST="];
    let marked = variables.split(|byte| *byte == 0).any(|variable| known.iter().any(|name| variable.starts_with(name)));
    let left = [".dockerenv", "run/.containerenv", "run/systemd/container"].iter().any(|file| root.join(file).exists());
    // "0 0 4294967295": every number stands for itself
    let users = fs::read_to_string(root.join("proc/self/uid_map")).unwrap_or_default();
    let mapped = !users.is_empty() && !users.split_whitespace().eq(["0", "0", "4294967295"]);
    marked || left || mapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_shows_by_files_variables_or_users() {
        let root = tempfile::tempdir().unwrap();
        let is = |expected| assert_eq!(is_contained(root.path()), expected);
        let write = |file: &str, text| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        is(false);
        write("proc/1/environ", "HOME=/\0a_container=no\0");
        write("proc/self/uid_map", "         0          0 4294967295\n");
        is(false);
        write("proc/self/uid_map", "         0     100000      65536\n");
        is(true);
        write("proc/self/uid_map", "         0          0 4294967295\n");
        write("proc/1/environ", "HOME=/\0container=lxc\0");
        is(true);
        write("proc/1/environ", "");
        is(false);
        write(".dockerenv", "");
        is(true);
    }
}
