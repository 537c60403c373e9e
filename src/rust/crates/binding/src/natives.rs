//! C handlers of other packages, as C describes them, for the crate that calls them. Neighbours: `src/natives.c` (which
//! describes them), `session` and `process` (where they run).

use crate::node::Str;
use engine::Level;
use native::{Interface, Natives, Spec, UserData};
use std::ffi::c_void;
use std::io;
use std::slice;
use std::sync::Arc;

/// A C handler; see `drover_rust.h`.
#[repr(C)]
pub struct CNative {
    function: *const c_void,
    interface: i32,
    data_kind: i32,
    data: *mut c_void,
    data_len: usize,
    route: Str,
    content_type: Str,
    params: *const Str,
    n_params: usize,
}

/// All C handlers of an app.
#[repr(C)]
pub struct CNatives {
    all: *const CNative,
    n: usize,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl CNative {
    /// # Safety
    /// C lends what it points at for the call.
    unsafe fn spec(&self) -> Spec {
        let params: &[Str] = match self.n_params {
            0 => &[],
            // SAFETY: the caller's.
            n => unsafe { slice::from_raw_parts(self.params, n) },
        };
        Spec {
            function: self.function,
            // SAFETY: the caller's.
            route: text(unsafe { self.route.as_bytes() }),
            interface: match self.interface {
                0 => Interface::Unary,
                1 => Interface::Stream,
                3 => Interface::Ws,
                4 => Interface::Socket,
                _ => Interface::Drover,
            },
            data: match self.data_kind {
                1 => UserData::Pointer(self.data),
                2 => UserData::Bytes(self.data.cast_const().cast(), self.data_len),
                _ => UserData::None,
            },
            // SAFETY: the caller's.
            content_type: text(unsafe { self.content_type.as_bytes() }),
            // SAFETY: the caller's.
            params: params.iter().map(|name| text(unsafe { name.as_bytes() })).collect(),
        }
    }
}

impl CNatives {
    /// Makes the handlers ready to be called, on at most `threads` threads; `None` when the app has none.
    ///
    /// # Safety
    /// C lends the descriptions for the call; functions and data live until [`Natives::stop`] says so.
    pub(crate) unsafe fn ready(
        &self,
        threads: usize,
        log: impl Fn(Level, &str) + Send + Sync + 'static,
    ) -> io::Result<Option<Arc<Natives>>> {
        if self.n == 0 {
            return Ok(None);
        }
        // SAFETY: the caller's.
        let all = unsafe { slice::from_raw_parts(self.all, self.n) };
        // SAFETY: the caller's.
        let specs = all.iter().map(|one| unsafe { one.spec() }).collect();
        let log = Arc::new(move |level, text: &str| log(Level::from_number(u32::from(level)), text));
        // SAFETY: the functions are what a package has registered for this use; the rest is the caller's.
        unsafe { Natives::new(specs, threads, log) }.map(|natives| Some(Arc::new(natives)))
    }
}
