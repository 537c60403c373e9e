//! What `src/json.c` calls. Declared there; a panic here becomes an error there, never an unwinding through C.

use std::cell::{Cell, RefCell};
use std::ffi::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::{ptr, slice};

use super::host::{Host, Texts};
use super::options::{Frame, JsonOptions, Na, Time};
use super::parse::{parse_for, ParseOptions, Tree};
use super::unsupported::Unsupported;
use super::write::{refused, write, write_in_parts};
use crate::node::{Node, Str};
use crate::r::{r, Sexp};
use crate::strings::with_guard;
use fields::FieldError;

/// `drv_json_options`: the arguments of `toJSON()`, as R's one-based place among their choices (0: not given).
#[repr(C)]
pub struct Options {
    auto_unbox: i32,
    na: i32,
    null: i32,
    dataframe: i32,
    matrix: i32,
    date: i32,
    posixt: i32,
    factor: i32,
    raw: i32,
    pretty: i32,
    keep_vec_names: i32,
    utc: i32,
    time_format: i32,
    digits: i32,
}

impl Options {
    fn read(&self) -> JsonOptions {
        JsonOptions {
            auto_unbox: self.auto_unbox != 0,
            na: match self.na {
                0 => Na::Default,
                1 => Na::Null,
                _ => Na::String,
            },
            null_as_null: self.null == 2,
            frame: match self.dataframe {
                2 => Frame::Columns,
                3 => Frame::Values,
                _ => Frame::Rows,
            },
            column_major: self.matrix == 2,
            date_epoch: self.date == 2,
            time: match self.posixt {
                2 => Time::Iso8601,
                3 => Time::Epoch,
                _ => Time::String,
            },
            factor_integer: self.factor == 2,
            pretty: self.pretty != 0,
            keep_names: self.keep_vec_names != 0,
            // one more than asked for, as 0 is not given
            digits: u8::try_from(self.digits - 1).ok(),
            foreign_raw: self.raw > 1,
            foreign_times: self.posixt == 4 || self.utc != 0 || self.time_format != 0,
        }
    }
}

/// `drv_json_text`: the parts of a `Vec<u8>`, and what went wrong.
#[repr(C)]
pub struct Text {
    bytes: *mut u8,
    len: usize,
    capacity: usize,
    status: Status,
    /// with [`Status::Refused`], what was refused: not terminated
    refused: *const c_char,
    refused_len: usize,
}

/// `drv_json_status`
#[repr(i32)]
#[derive(Clone, Copy)]
pub enum Status {
    /// the text is there
    Ok = 0,
    /// jsonlite may know
    Foreign = 1,
    /// never written
    Refused = 2,
    /// nested too deep
    TooDeep = 3,
    /// a bug in the writer
    Bug = 4,
    /// R is to be asked about parts: see `drv_json_asked`
    Asks = 5,
}

thread_local! {
    /// The buffer that the next text is written into.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
    /// What the last text left open, with the context of each.
    static ASKED: RefCell<Vec<(Sexp, i32)>> = const { RefCell::new(Vec::new()) };
}

/// Writes `x`. `drv_json_text_free` must follow, also after an error.
///
/// # Safety
/// R's main thread; `x` and `known` are protected, `known` may be null, `options` and `text` are valid.
#[no_mangle]
pub unsafe extern "C" fn drv_json_write(x: Sexp, options: *const Options, known: Sexp, text: *mut Text) {
    let mut out = BUFFER.take();
    // SAFETY: the caller's.
    let options = unsafe { &*options };
    let mut asked = Vec::new();
    let written = catch_unwind(AssertUnwindSafe(|| match known.is_null() {
        true => write(x, &options.read(), &mut out),
        false => write_in_parts(x, &options.read(), known, &mut out).map(|parts| asked = parts),
    }));
    let (status, refused) = match outcome(written) {
        (Status::Ok, _) if !asked.is_empty() => (Status::Asks, ""),
        other => other,
    };
    ASKED.set(asked);
    let mut out = std::mem::ManuallyDrop::new(out);
    let filled = Text {
        bytes: out.as_mut_ptr(),
        len: out.len(),
        capacity: out.capacity(),
        status,
        refused: refused.as_ptr().cast(),
        refused_len: refused.len(),
    };
    // SAFETY: the caller's.
    unsafe { text.write(filled) };
}

/// How many parts R is to be asked about.
#[no_mangle]
pub extern "C" fn drv_json_asked() -> usize {
    ASKED.with_borrow(Vec::len)
}

/// One of them, and what its answer depends on besides.
///
/// # Safety
/// `at` is below the number of them; `context` is valid.
#[no_mangle]
pub unsafe extern "C" fn drv_json_asked_at(at: usize, context: *mut i32) -> Sexp {
    let (part, of) = ASKED.with_borrow(|asked| asked.get(at).copied()).unwrap_or((ptr::null_mut(), 0));
    // SAFETY: the caller's.
    unsafe { context.write(of) };
    part
}

/// Takes a text back.
///
/// # Safety
/// `text` was filled by `drv_json_write` and is not freed yet.
#[no_mangle]
pub unsafe extern "C" fn drv_json_text_free(text: *mut Text) {
    // SAFETY: the parts are those of one Vec.
    let mut buffer = unsafe { Vec::from_raw_parts((*text).bytes, (*text).len, (*text).capacity) };
    kept::empty(&mut buffer);
    BUFFER.set(buffer);
}

/// Says whether `x` may be handed to jsonlite; `refused` and `refused_len` then tell what not.
///
/// # Safety
/// R's main thread; `x` is protected, the pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn drv_json_refused(x: Sexp, what: *mut *const c_char, len: *mut usize) -> Status {
    let (status, name) = outcome(catch_unwind(|| refused(x)));
    // SAFETY: the caller's.
    unsafe {
        what.write(name.as_ptr().cast());
        len.write(name.len());
    }
    status
}

fn outcome(result: std::thread::Result<Result<(), Unsupported>>) -> (Status, &'static str) {
    match result {
        Ok(Ok(())) => (Status::Ok, ""),
        Ok(Err(Unsupported::Foreign)) => (Status::Foreign, ""),
        Ok(Err(Unsupported::Refused(what))) => (Status::Refused, what),
        Ok(Err(Unsupported::TooDeep)) => (Status::TooDeep, ""),
        Err(_) => (Status::Bug, ""),
    }
}

/// `drv_json_error`: a message with its terminating NUL.
#[repr(C)]
pub struct Message {
    text: [c_char; 192],
}

impl Message {
    fn set(&mut self, text: &str) {
        // the largest character boundary that leaves room for the NUL
        let most = text.len().min(self.text.len() - 1);
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        for (to, from) in self.text.iter_mut().zip(text.as_bytes()[..end].iter().chain(std::iter::once(&0))) {
            *to = *from as c_char;
        }
    }
}

/// This process.
struct R;

impl Host for R {
    fn check(&mut self, max_collisions: usize, strings: &mut Texts) -> Result<(), FieldError> {
        with_guard(|guard| guard.check(max_collisions, strings))
    }

    fn read_dates(&mut self, texts: &[&str], utc: bool) -> Option<Vec<f64>> {
        let texts: Vec<Str> = texts.iter().map(|text| Str::new(text.as_bytes())).collect();
        let mut seconds = vec![0.0; texts.len()];
        // SAFETY: as many seconds as texts; the shim catches R's jumps.
        let read = unsafe { (r().read_dates)(texts.as_ptr(), texts.len(), i32::from(utc), seconds.as_mut_ptr()) };
        (read != 0).then_some(seconds)
    }
}

/// Parses a text. Null, with a message, when it is refused; otherwise a handle for `drv_json_close`, and the root.
///
/// # Safety
/// `text` points at `len` bytes that outlive the handle; the other pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn drv_json_open(
    text: *const u8,
    len: usize,
    simplify: i32,
    max_depth: u32,
    max_collisions: usize,
    root: *mut *const Node,
    error: *mut Message,
) -> *mut c_void {
    // SAFETY: the caller's; an empty text may come with any pointer.
    let text: &[u8] = if len == 0 { &[] } else { unsafe { slice::from_raw_parts(text, len) } };
    let options = ParseOptions { simplify: simplify != 0, max_depth, max_collisions };
    let message = match catch_unwind(|| parse_for(&mut R, text, &options)) {
        Ok(Ok(tree)) => {
            // SAFETY: the caller's.
            unsafe { root.write(tree.root()) };
            return Box::into_raw(Box::new(tree)).cast();
        }
        Ok(Err(refused)) => refused.to_string(),
        Err(_) => "the JSON reader failed".to_owned(),
    };
    // SAFETY: the caller's.
    unsafe { (*error).set(&message) };
    ptr::null_mut()
}

/// Frees what `drv_json_open` gave, and with it every node.
///
/// # Safety
/// `tree` is a handle that is not closed yet.
#[no_mangle]
pub unsafe extern "C" fn drv_json_close(tree: *mut c_void) {
    // SAFETY: made by Box::into_raw in drv_json_open.
    drop(unsafe { Box::from_raw(tree.cast::<Tree<'static>>()) });
}
