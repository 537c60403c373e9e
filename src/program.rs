//! The program `drover`: the door to the library beside it, rust/crates/drover_rust. Makevars.in has it compiled.
//!
//! The library is loaded here, not by the system's loader: what that says of a program that was copied without its
//! library is no help.

use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;
use std::process::ExitCode;

/// Where the library is, as seen from the folder of the program.
const LIBRARY: &str = concat!("../libs", env!("R_ARCH"), "/libdrover_rust.so");
/// What to do without it.
const HOW: &str = "The program does not run where it is copied to. Make a link to it, by \
                   \"$(Rscript -e 'cat(drover::dr_cli_path())')\" install, or build one that runs alone, by \
                   cargo install --path src/rust/crates/cli in the sources of drover";
/// As `exit::Code::Missing` of the crate `cli`.
const MISSING: u8 = 4;
/// Of `dlopen`: everything is looked up at once.
const NOW: c_int = 2;

type Main = unsafe extern "C" fn(args: *const *const c_char, n: usize) -> u8;

// until glibc 2.34 they were not in the C library itself
#[link(name = "dl")]
extern "C" {
    fn dlopen(file: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
    fn dlerror() -> *const c_char;
}

fn main() -> ExitCode {
    let main = match load(library()) {
        Ok(main) => main,
        Err(why) => {
            eprintln!("drover: cannot load the library of this program: {why}. {HOW}");
            return ExitCode::from(MISSING);
        }
    };
    // no argument has a zero byte in it: that is how they end
    let args: Vec<_> = std::env::args_os().map(|arg| CString::new(arg.into_vec()).unwrap_or_default()).collect();
    let pointers: Vec<_> = args.iter().map(|arg| arg.as_ptr()).collect();
    // SAFETY: as many texts as it says, which live until it returns.
    ExitCode::from(unsafe { main(pointers.as_ptr(), pointers.len()) })
}

/// The path of the library; links to the program are followed.
fn library() -> PathBuf {
    let program = std::env::current_exe().unwrap_or_default();
    program.parent().unwrap_or(&program).join(LIBRARY)
}

fn load(library: PathBuf) -> Result<Main, String> {
    let path = CString::new(library.into_os_string().into_vec()).map_err(|e| e.to_string())?;
    // SAFETY: texts that end with a zero byte; `dlerror` says why the call before it has failed. The library exports
    // `drover_main` with this type, and is never unloaded.
    unsafe {
        let library = dlopen(path.as_ptr(), NOW);
        let main = if library.is_null() { library } else { dlsym(library, c"drover_main".as_ptr()) };
        if main.is_null() {
            return Err(CStr::from_ptr(dlerror()).to_string_lossy().into_owned());
        }
        Ok(std::mem::transmute::<*mut c_void, Main>(main))
    }
}
