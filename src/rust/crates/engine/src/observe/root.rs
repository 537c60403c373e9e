//! Whether the server has more rights than it needs: as root, a mistake of any handler is one of the whole machine's. In a container root is
//! common, and means less.

use rustix::process::geteuid;
use std::env::var_os;
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// What the log is to say of it.
pub const WARNING: &str = "running as root: everything that a handler does is done as root; start it as another user";

/// Whether this process is root's, and in no container.
pub fn is_root_of_the_machine() -> bool {
    geteuid().is_root() && !is_contained(Path::new("/"), |name| var_os(name).is_some())
}

/// Whether the system with this root folder is a container's: its makers leave files or variables, or map its users to others.
fn is_contained(root: &Path, has_variable: impl Fn(&OsStr) -> bool) -> bool {
    let marked = ["container", "KUBERNETES_SERVICE_HOST"].iter().any(|name| has_variable(OsStr::new(name)));
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
        let contained = |variable: &str| is_contained(root.path(), |name| name == variable);
        assert!(!contained("HOME") && contained("container") && contained("KUBERNETES_SERVICE_HOST"));
        fs::create_dir_all(root.path().join("proc/self")).unwrap();
        let users = |text| fs::write(root.path().join("proc/self/uid_map"), text).unwrap();
        users("         0          0 4294967295\n");
        assert!(!contained(""));
        users("         0     100000      65536\n");
        assert!(contained(""));
        users("         0          0 4294967295\n");
        fs::write(root.path().join(".dockerenv"), "").unwrap();
        assert!(contained(""));
    }
}
