//! The handlers, compiled and loaded.

use std::ffi::{c_void, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../..")
}

/// Runs a compiler with the flags of the environment: how the sanitizers get to what it compiles.
pub fn compile(compiler: &str, flags_of: &str, arguments: &[&str], source: &Path, output: &Path) {
    let flags = std::env::var(flags_of).unwrap_or_default();
    let mut command = Command::new(compiler);
    command.args(flags.split_whitespace()).args(["-Wall", "-Wextra", "-Werror", "-I"]);
    command.arg(root().join("inst/include")).args(arguments).arg(source).arg("-o").arg(output);
    let status = command.status().unwrap_or_else(|e| panic!("{compiler}: {e}"));
    assert!(status.success(), "{compiler} cannot compile {}", source.display());
}

struct Library(*mut c_void);

// SAFETY: a handle of dlopen() may be used by any thread.
unsafe impl Send for Library {}
// SAFETY: as above.
unsafe impl Sync for Library {}

/// Compiles all but what is for R.
fn load() -> Library {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("handlers-{}", std::process::id()));
    std::fs::create_dir_all(&out).unwrap();
    let mut objects = Vec::new();
    for file in std::fs::read_dir(root().join("tests/handlers/src")).unwrap() {
        let source = file.unwrap().path();
        let name = source.file_name().unwrap().to_str().unwrap();
        let object = out.join(format!("{name}.o"));
        match source.extension().and_then(|e| e.to_str()) {
            Some("c") if name != "init.c" => {
                compile("cc", "CFLAGS", &["-std=gnu11", "-g", "-O1", "-fPIC", "-c"], &source, &object);
            }
            Some("cpp") => compile("c++", "CXXFLAGS", &["-std=c++11", "-g", "-O1", "-fPIC", "-c"], &source, &object),
            _ => continue,
        }
        objects.push(object);
    }
    // without the flags: the sanitizers' functions are those of this program
    let library = out.join("handlers.so");
    let linked = Command::new("c++").args(["-shared", "-pthread", "-o"]).arg(&library).args(&objects).status();
    assert!(linked.unwrap().success(), "the handlers cannot be linked");
    let name = CString::new(library.to_str().unwrap()).unwrap();
    // SAFETY: it is a library of ours; its initialisers do nothing.
    let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    // SAFETY: the text is there after a failure.
    assert!(!handle.is_null(), "{:?}", unsafe { std::ffi::CStr::from_ptr(libc::dlerror()) });
    let _ = std::fs::remove_dir_all(&out);
    Library(handle)
}

/// The function of this name.
pub fn function(name: &str) -> *const c_void {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    let c_name = CString::new(name).unwrap();
    // SAFETY: the library stays loaded.
    let at = unsafe { libc::dlsym(LIBRARY.get_or_init(load).0, c_name.as_ptr()) };
    assert!(!at.is_null(), "there is no handler {name}");
    at
}

/// For tests of handlers that note codes, which all of them write to one place.
pub fn one_at_a_time() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    forget_codes();
    one
}

/// The codes that handlers have noted so far are not those that a test waits for.
pub fn forget_codes() {
    // SAFETY: that is its type, and it may be called at any time.
    unsafe { std::mem::transmute::<*const c_void, extern "C" fn()>(function("codes_forget"))() };
}
