//! Whether the server has more rights than it needs: as root, a mistake of any handler is one of the whole machine's. In a container root is
//! common, and means less.

use rustix::process::geteuid;
use std::fs;
use std::path::Path;

/// What the log is to say of it.
pub const WARNING: &str = "running as root: everything that a handler does is done as root; start it as another user";

/// Whether this process is root's, and in no container.
pub fn is_root_of_the_machine() -> bool {
    geteuid().is_root() && !is_contained(Path::new("/"))
}

/// Whether the system with this root folder is a container's: its makers leave files, map its users to others, or lay its root over another.
fn is_contained(root: &Path) -> bool {
    let left = [".dockerenv", "run/.containerenv", "run/systemd/container", "var/run/secrets/kubernetes.io"];
    let read = |file| fs::read_to_string(root.join(file)).unwrap_or_default();
    // "0 0 4294967295": every number stands for itself
    let users = read("proc/self/uid_map");
    let is_mapped = !users.is_empty() && !users.split_whitespace().eq(["0", "0", "4294967295"]);
    left.iter().any(|file| root.join(file).exists()) || is_mapped || is_layered(&read("proc/self/mountinfo"))
}

/// Whether the root of this table of mounts lies over another: proc(5) has the fields.
fn is_layered(mounts: &str) -> bool {
    mounts.lines().any(|mount| {
        let kind = mount.split(" - ").nth(1).and_then(|rest| rest.split(' ').next());
        mount.split(' ').nth(4) == Some("/") && kind == Some("overlay")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_shows_by_files_users_or_layers() {
        let root = tempfile::tempdir().unwrap();
        let contained = || is_contained(root.path());
        let proc = root.path().join("proc/self");
        fs::create_dir_all(&proc).unwrap();
        assert!(!contained());
        for (file, plain, container) in [
            ("uid_map", "         0          0 4294967295\n", "         0     100000      65536\n"),
            (
                "mountinfo",
                "1 2 8:1 / / rw - ext4 /dev/sda rw\n3 1 0:4 / /a rw - overlay overlay rw\n",
                "1 2 0:3 / / rw shared:1 - overlay overlay rw\n",
            ),
        ] {
            fs::write(proc.join(file), plain).unwrap();
            assert!(!contained(), "{plain}");
            fs::write(proc.join(file), container).unwrap();
            assert!(contained(), "{container}");
            fs::write(proc.join(file), plain).unwrap();
        }
        fs::write(root.path().join(".dockerenv"), "").unwrap();
        assert!(contained());
    }
}
