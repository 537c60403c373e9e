//! R's objects, read from Rust: the few functions of R's C interface that neither allocate nor jump.
//!
//! Not for making R objects (`src/build.c`) and not for anything that may call back into R: that goes through a C
//! shim, which catches R's long jumps before they reach a Rust frame. Every function here is for R's main thread.
//!
//! Whoever has a `Sexp` promises that the object lives, protected from R's garbage collector, while it is looked at.
//! That promise cannot be checked, and marking every function that reads an object as unsafe would mark nothing.
#![allow(clippy::not_unsafe_ptr_arg_deref)]

mod interface;

use std::ffi::c_int;
use std::{ptr, slice};

pub(crate) use interface::r;

/// What R's `SEXP` points at.
#[repr(C)]
pub struct Record {
    _opaque: [u8; 0],
}

/// A pointer to an R object.
pub type Sexp = *mut Record;

/// R's `NA_integer_` and the NA of logical vectors.
pub const NA_INT: i32 = i32::MIN;

/// `SEXPTYPE`, as far as it is told apart here (R internals manual, section 1.1).
#[allow(missing_docs)]
pub mod kind {
    pub const NULL: u32 = 0;
    pub const SYMBOL: u32 = 1;
    pub const PAIRLIST: u32 = 2;
    pub const CLOSURE: u32 = 3;
    pub const ENVIRONMENT: u32 = 4;
    pub const PROMISE: u32 = 5;
    pub const LANGUAGE: u32 = 6;
    pub const SPECIAL: u32 = 7;
    pub const BUILTIN: u32 = 8;
    pub const LOGICAL: u32 = 10;
    pub const INTEGER: u32 = 13;
    pub const DOUBLE: u32 = 14;
    pub const STRING: u32 = 16;
    pub const DOTS: u32 = 17;
    pub const ANY: u32 = 18;
    pub const LIST: u32 = 19;
    pub const EXPRESSION: u32 = 20;
    pub const BYTECODE: u32 = 21;
    pub const POINTER: u32 = 22;
    pub const WEAKREF: u32 = 23;
    pub const RAW: u32 = 24;
}

/// `TYPEOF`, one of [`kind`].
pub fn type_of(x: Sexp) -> u32 {
    // SAFETY: reads the header of a live object.
    unsafe { (r().type_of)(x) as u32 }
}

/// True for `NULL`.
pub fn is_null(x: Sexp) -> bool {
    x == r().nil
}

/// True for objects with the S4 bit.
pub fn is_s4(x: Sexp) -> bool {
    // SAFETY: reads the header of a live object.
    unsafe { (r().is_s4)(x) != 0 }
}

/// The elements of an atomic vector whose C type is `T`; `None` where an ALTREP object could not be laid out.
///
/// # Safety
/// `x` is a live vector whose elements are of type `T`, and it is neither changed nor freed during `'a`.
pub unsafe fn elements<'a, T>(x: Sexp) -> Option<&'a [T]> {
    // SAFETY: an ordinary vector's data pointer and length are fields of the object.
    let (data, n) = unsafe {
        if (r().is_altrep)(x) == 0 {
            ((r().data)(x), (r().length)(x))
        } else {
            let mut n = 0;
            ((r().view)(x, &mut n), n)
        }
    };
    if n == 0 {
        return Some(&[]);
    }
    // SAFETY: R's vectors are aligned for their element type and hold `n` elements.
    (!data.is_null()).then(|| unsafe { slice::from_raw_parts(data.cast(), n as usize) })
}

/// The elements of a list. R forbids taking their address in an ordinary list, so they are fetched one by one.
#[derive(Clone, Copy)]
pub struct List<'a> {
    list: Sexp,
    laid_out: Option<&'a [Sexp]>,
    len: usize,
}

impl<'a> List<'a> {
    /// `None` where an ALTREP list could not be laid out.
    ///
    /// # Safety
    /// `x` is a live list (`VECSXP` or `EXPRSXP`) that is neither changed nor freed during `'a`.
    pub unsafe fn new(x: Sexp) -> Option<List<'a>> {
        // SAFETY: the caller's.
        unsafe {
            if (r().is_altrep)(x) == 0 {
                return Some(List { list: x, laid_out: None, len: (r().length)(x) as usize });
            }
            let laid_out: &[Sexp] = elements(x)?;
            Some(List { list: x, laid_out: Some(laid_out), len: laid_out.len() })
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True for a list of none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Element `i`, which must be less than [`List::len`].
    pub fn get(&self, i: usize) -> Sexp {
        assert!(i < self.len);
        match self.laid_out {
            Some(elements) => elements[i],
            // SAFETY: an ordinary list, and `i` is within it.
            None => unsafe { (r().element)(self.list, i as isize) },
        }
    }
}

/// A pairlist's `(tag, value)` pairs.
pub fn pairs(list: Sexp) -> impl Iterator<Item = (Sexp, Sexp)> {
    let mut at = list;
    std::iter::from_fn(move || {
        // a pairlist ends with NULL, and so does one that R code built by mistake with something else at its end
        if is_null(at) || !matches!(type_of(at), kind::PAIRLIST | kind::LANGUAGE | kind::DOTS) {
            return None;
        }
        // SAFETY: `at` is a cons cell, as its type says.
        unsafe {
            let pair = ((r().tag)(at), (r().car)(at));
            at = (r().cdr)(at);
            Some(pair)
        }
    })
}

/// The attributes that decide how a value is written; null pointers for those that it does not have.
#[derive(Clone, Copy)]
pub struct Attributes {
    /// `names`
    pub names: Sexp,
    /// `dim`
    pub dim: Sexp,
    /// `class`
    pub class: Sexp,
    /// `levels` of a factor
    pub levels: Sexp,
    /// `row.names` as stored: character, integer, or `c(NA, -n)`
    pub row_names: Sexp,
    /// `tzone` of a POSIXct
    pub tzone: Sexp,
}

/// Reads the attributes of `x`.
pub fn attributes(x: Sexp) -> Attributes {
    let none = ptr::null_mut();
    let mut found = Attributes { names: none, dim: none, class: none, levels: none, row_names: none, tzone: none };
    let r = r();
    for (tag, value) in pairs(all_attributes(x)) {
        if tag == r.names {
            found.names = value;
        } else if tag == r.dim {
            found.dim = value;
        } else if tag == r.class {
            found.class = value;
        } else if tag == r.levels {
            found.levels = value;
        } else if tag == r.row_names {
            found.row_names = value;
        // SAFETY: tags of attributes are symbols.
        } else if bytes(unsafe { (r.print_name)(tag) }) == b"tzone" {
            found.tzone = value;
        }
    }
    found
}

/// All attributes, as a pairlist.
pub fn all_attributes(x: Sexp) -> Sexp {
    // SAFETY: reads the header of a live object.
    unsafe { (r().attributes)(x) }
}

/// True for `NA_character_`.
pub fn is_na_string(string: Sexp) -> bool {
    string == r().na_string
}

/// The bytes of a `CHARSXP`, in the encoding it is marked with; they live as long as it does.
pub fn bytes<'a>(string: Sexp) -> &'a [u8] {
    // SAFETY: a CHARSXP holds LENGTH bytes, never changes, and is never ALTREP.
    unsafe { slice::from_raw_parts((r().text)(string).cast(), (r().text_length)(string) as usize) }
}

/// How the bytes of a `CHARSXP` that are not plain ASCII are to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// as UTF-8, though R does not promise that they are valid
    Utf8,
    /// marked "bytes": no text at all
    Bytes,
    /// in an encoding that [`translate`] must change
    Other,
}

/// The encoding that `string` is marked with.
pub fn encoding(string: Sexp) -> Encoding {
    const NATIVE: c_int = 0;
    const UTF8: c_int = 1;
    const BYTES: c_int = 3;
    // SAFETY: reads the header of a CHARSXP.
    match unsafe { (r().encoding)(string) } {
        UTF8 => Encoding::Utf8,
        BYTES => Encoding::Bytes,
        // SAFETY: asks the C library for its locale, and changes nothing.
        NATIVE if unsafe { (r().native_is_utf8)() } != 0 => Encoding::Utf8,
        _ => Encoding::Other,
    }
}

/// The text of a `CHARSXP` in UTF-8, made by R's own conversion; `None` when that failed.
pub fn translate(string: Sexp) -> Option<Vec<u8>> {
    let mut n = 0;
    // SAFETY: the shim catches R's jumps and answers with memory of malloc, or null.
    unsafe {
        let text = (r().translate)(string, &mut n);
        if text.is_null() {
            return None;
        }
        let copy = slice::from_raw_parts(text.cast::<u8>(), n).to_vec();
        (r().free)(text);
        Some(copy)
    }
}

/// True for the name of the session's time zone, where that is set.
pub fn is_session_zone(name: &[u8]) -> bool {
    // SAFETY: the shim compares bytes.
    unsafe { (r().is_session_zone)(name.as_ptr().cast(), name.len()) != 0 }
}

/// The seconds by which the session's time zone is ahead of UTC at a whole second since 1970.
pub fn zone_offset(second: f64) -> Option<i64> {
    let mut offset = 0;
    // SAFETY: the shim asks the C library, and writes where it is told to.
    (unsafe { (r().zone_offset)(second, &mut offset) } != 0).then_some(offset)
}

/// The descriptor that goes with a path of `dr_file()`.
pub fn opened(file: Sexp) -> Option<c_int> {
    // SAFETY: the shim reads an attribute.
    let descriptor = unsafe { (r().opened_descriptor)(file) };
    (descriptor >= 0).then_some(descriptor)
}

/// True when `getOption("digits.secs")` is set, which changes how R formats times.
pub fn digits_secs_set() -> bool {
    // SAFETY: the shim looks the option up, which neither allocates nor jumps.
    unsafe { (r().digits_secs_set)() != 0 }
}

/// R's `NA_real_`: a NaN whose low word is 1954 (R_NaReal in R's arithmetic.c).
pub fn na_double() -> f64 {
    f64::from_bits(0x7ff0_0000_0000_07a2)
}

/// True for `NA_real_`, as against the other NaNs.
pub fn is_na_double(x: f64) -> bool {
    x.is_nan() && x.to_bits() as u32 == 1954
}
