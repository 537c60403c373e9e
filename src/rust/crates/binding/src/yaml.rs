//! YAML for R. Neighbour: the crate `yaml`, which writes it.

use crate::node::{Kind, Node, Str};
use crate::shield::{shield, Error};
use std::cell::RefCell;
use std::ptr;

/// The last text made, and the nodes that point at it.
#[derive(Default)]
struct Made {
    text: String,
    strings: Vec<Str>,
    root: Node,
}

thread_local! {
    static LAST: RefCell<Box<Made>> = RefCell::default();
}

/// Frees the last text, which C no longer reads.
pub(crate) fn forget() {
    LAST.take();
}

/// A string: a JSON document as YAML. Null, and an error, when `json` is no such document.
///
/// # Safety
/// C lends the text for the call; `error` is valid for writing. The node lives until the next call.
#[no_mangle]
pub unsafe extern "C" fn drv_yaml_of_json(json: Str, error: *mut Error) -> *const Node {
    // SAFETY: the caller's.
    let json = String::from_utf8_lossy(unsafe { json.as_bytes() });
    let made = shield(Err("the engine failed".to_owned()), || {
        yaml::of_json(&json).map(|text| LAST.with(|last| last.borrow_mut().fill(text)))
    });
    match made {
        Ok(node) => node,
        Err(message) => {
            // SAFETY: the caller's.
            unsafe { Error::put(error, 0, message) };
            ptr::null()
        }
    }
}

impl Made {
    fn fill(&mut self, text: String) -> *const Node {
        self.text = text;
        self.strings = vec![Str::new(self.text.as_bytes())];
        self.root = Node::vector(Kind::Str, &self.strings);
        ptr::from_ref(&self.root)
    }
}
