//! How a response ended: reported once, when its client has taken it or has left.

/// The receiver of that report.
pub trait End: Send {
    /// `bytes` of the body were sent, and the response is `whole` or never will be.
    fn end(self: Box<Self>, bytes: u64, whole: bool);
}

/// A response that is being sent: counts the bytes of its body.
#[derive(Default)]
pub struct Sent {
    bytes: u64,
    end: Option<Box<dyn End>>,
}

impl Sent {
    /// Nothing of it is sent yet.
    pub fn new(end: Option<Box<dyn End>>) -> Self {
        Sent { bytes: 0, end }
    }

    /// Counts `bytes` more of its body.
    pub fn add(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Whether its end is to be reported.
    pub fn is_watched(&self) -> bool {
        self.end.is_some()
    }

    /// Its client has all of it.
    pub fn is_whole(&mut self) {
        self.report(true);
    }

    fn report(&mut self, whole: bool) {
        if let Some(end) = self.end.take() {
            end.end(self.bytes, whole);
        }
    }
}

/// A response that is given up is not whole.
impl Drop for Sent {
    fn drop(&mut self) {
        self.report(false);
    }
}
