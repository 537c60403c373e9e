//! Descriptions of R values that C turns into R objects (`src/build.c`): plain structs in an arena.
//!
//! Not for reading R objects. The layout is that of `src/drover_rust.h`.

use std::ffi::c_void;
use std::ops::ControlFlow;
use std::ptr;

use fields::guard::Visit;

/// UTF-8 bytes, not NUL-terminated; `ptr` null is R's `NA_character_`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    ptr: *const u8,
    len: usize,
}

impl Str {
    /// `NA_character_`.
    pub const NA: Str = Str { ptr: ptr::null(), len: 0 };

    /// Points at `s`, which must outlive the node.
    pub fn new(s: &[u8]) -> Str {
        Str { ptr: s.as_ptr(), len: s.len() }
    }

    /// A number that C is to write as R's `as.character()` does.
    pub fn number(x: f64) -> Str {
        Str { ptr: ptr::from_ref(&drv_number), len: x.to_bits() as usize }
    }

    /// The number that is to be written, if this is one.
    pub fn as_number(self) -> Option<f64> {
        ptr::eq(self.ptr, &drv_number).then(|| f64::from_bits(self.len as u64))
    }

    /// Visits the text that R will have.
    fn visit(self, visit: &mut Visit) -> ControlFlow<()> {
        match self.as_number() {
            Some(number) => visit(crate::json::as_r(number).as_bytes()),
            None if self.is_na() => ControlFlow::Continue(()),
            // SAFETY: nodes are looked at while what they point at is there.
            None => visit(unsafe { self.as_bytes() }),
        }
    }

    /// True for `NA_character_`.
    pub fn is_na(self) -> bool {
        self.ptr.is_null()
    }
}

/// Where a [`Str::number`] points; its length is the bits of the number.
#[no_mangle]
#[allow(non_upper_case_globals)]
pub static drv_number: u8 = 0;

impl Str {
    /// The bytes.
    ///
    /// # Safety
    /// What it points at is still there.
    pub unsafe fn as_bytes<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() || self.as_number().is_some() {
            return &[];
        }
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
}

/// `drv_kind` in `drover_rust.h`.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `NULL`
    Null = 0,
    /// logical, `i32`, NA is `i32::MIN`
    Lgl = 1,
    /// integer, NA is `i32::MIN`
    Int = 2,
    /// double
    Dbl = 3,
    /// character, `Str`
    Str = 4,
    /// raw, `u8`
    Raw = 5,
    /// list, `Node`
    List = 6,
}

/// `drv_time` in `drover_rust.h`: what a vector of doubles is besides.
#[repr(i32)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Time {
    /// no time
    None = 0,
    /// a POSIXct that names no time zone
    Unzoned = 1,
    /// one of the time zone UTC
    Utc = 2,
    /// one of the session's time zone
    Local = 3,
}

/// `drv_node` in `drover_rust.h`: one R value. Pointers are into an arena or a buffer that outlives it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Node {
    /// what `data` points at
    pub kind: Kind,
    /// length of `dim`
    pub ndim: i32,
    /// number of elements
    pub n: usize,
    /// elements, by `kind`
    pub data: *const c_void,
    /// `n` names, or null
    pub names: *const Str,
    /// `ndim` extents, or null
    pub dim: *const i32,
    /// rows of a data frame, -1 for anything else
    pub data_frame: i64,
    /// names of these rows, strings or integers, or null where they are numbered
    pub row_names: *const Node,
    /// whether doubles are times
    pub time: Time,
}

impl Default for Node {
    fn default() -> Self {
        Node::NULL
    }
}

impl Node {
    /// `NULL`.
    pub const NULL: Node = Node {
        kind: Kind::Null,
        ndim: 0,
        n: 0,
        data: ptr::null(),
        names: ptr::null(),
        dim: ptr::null(),
        data_frame: -1,
        row_names: ptr::null(),
        time: Time::None,
    };

    /// A vector of `kind` over `data`, whose element type must be the one that `kind` names.
    pub fn vector<T>(kind: Kind, data: &[T]) -> Node {
        Node { kind, n: data.len(), data: data.as_ptr().cast(), ..Node::NULL }
    }

    /// Visits every string that R makes of the value; the names of elements that follow one another mostly are the
    /// same, and visited once. Stops with `Break` when a visit does.
    ///
    /// The node must be complete: what it points at is there.
    pub fn strings(&self, visit: &mut Visit) -> ControlFlow<()> {
        self.strings_after(&mut &[][..], visit)
    }

    fn strings_after(&self, last_names: &mut &[Str], visit: &mut Visit) -> ControlFlow<()> {
        // SAFETY: by the contract of the function, as by `kind` and `n`.
        let (texts, nodes, names, row_names): (&[Str], &[Node], &[Str], _) = unsafe {
            (
                slice(self.data.cast(), if self.kind == Kind::Str { self.n } else { 0 }),
                slice(self.data.cast(), if self.kind == Kind::List { self.n } else { 0 }),
                slice(self.names, if self.names.is_null() { 0 } else { self.n }),
                self.row_names.as_ref(),
            )
        };
        if !same(names, last_names) {
            *last_names = names;
            names.iter().try_for_each(|name| name.visit(visit))?;
        }
        texts.iter().try_for_each(|text| text.visit(visit))?;
        let mut last = &[][..];
        nodes.iter().try_for_each(|node| node.strings_after(&mut last, visit))?;
        row_names.map_or(ControlFlow::Continue(()), |names| names.strings(visit))
    }

    /// The same value with names, one for each element.
    pub fn named(self, names: &[Str]) -> Node {
        assert_eq!(names.len(), self.n);
        Node { names: names.as_ptr(), ..self }
    }
}

/// # Safety
/// `data` points at `n` elements that outlive `'a`, or `n` is 0.
unsafe fn slice<'a, T>(data: *const T, n: usize) -> &'a [T] {
    match n {
        0 => &[],
        // SAFETY: the caller's.
        _ => unsafe { std::slice::from_raw_parts(data, n) },
    }
}

/// True for the same texts.
fn same(a: &[Str], b: &[Str]) -> bool {
    // SAFETY: nodes are looked at while what they point at is there.
    let bytes = |s: &Str| unsafe { s.as_bytes() };
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| bytes(a) == bytes(b))
}
