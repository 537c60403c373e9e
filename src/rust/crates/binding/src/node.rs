//! Descriptions of R values that C turns into R objects (`src/build.c`): plain structs in an arena.
//!
//! Not for reading R objects. The layout is that of `src/drover_rust.h`.

use std::ffi::c_void;
use std::ptr;

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
}

impl Str {
    /// The bytes.
    ///
    /// # Safety
    /// What it points at is still there.
    pub unsafe fn as_bytes<'a>(self) -> &'a [u8] {
        if self.ptr.is_null() {
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
    };

    /// A vector of `kind` over `data`, whose element type must be the one that `kind` names.
    pub fn vector<T>(kind: Kind, data: &[T]) -> Node {
        Node { kind, n: data.len(), data: data.as_ptr().cast(), ..Node::NULL }
    }

    /// The same value with names, one for each element.
    pub fn named(self, names: &[Str]) -> Node {
        assert_eq!(names.len(), self.n);
        Node { names: names.as_ptr(), ..self }
    }
}
