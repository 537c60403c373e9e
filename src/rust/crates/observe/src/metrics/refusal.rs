//! Why the server refuses a request by itself.

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// 400: no request could be made of it, or its path, fields or body are wrong
    BadRequest,
    /// 401 and 407: it has to say whose it is
    Unauthorized,
    /// 403: a policy is against it
    Forbidden,
    /// 404
    NotFound,
    /// 405
    MethodNotAllowed,
    /// 408: its head or body came too slowly
    TooSlow,
    /// 413: its body is above `max_body`
    BodyTooLarge,
    /// 414 and 431: its line or header section is above its limit
    HeadTooLarge,
    /// 429: a limit of rates
    RateLimit,
    /// 502: its worker died
    WorkerDied,
    /// 503: `max_queue` wait already
    QueueFull,
    /// 503: it waited longer than `queue_timeout` or `timeout`
    QueueTimeout,
    /// 503: the server is about to end
    Ending,
    /// 503: too many bodies or files are under way
    NoRoom,
    /// 504: its handler took longer than `timeout`
    Timeout,
    /// any other
    Other,
}

impl Refusal {
    /// All of them, in order.
    pub const ALL: [Refusal; 16] = [
        Refusal::BadRequest,
        Refusal::Unauthorized,
        Refusal::Forbidden,
        Refusal::NotFound,
        Refusal::MethodNotAllowed,
        Refusal::TooSlow,
        Refusal::BodyTooLarge,
        Refusal::HeadTooLarge,
        Refusal::RateLimit,
        Refusal::WorkerDied,
        Refusal::QueueFull,
        Refusal::QueueTimeout,
        Refusal::Ending,
        Refusal::NoRoom,
        Refusal::Timeout,
        Refusal::Other,
    ];

    /// The one that a status stands for, where it stands for one only.
    pub fn of_status(status: u16) -> Self {
        match status {
            400 => Refusal::BadRequest,
            401 | 407 => Refusal::Unauthorized,
            403 => Refusal::Forbidden,
            404 => Refusal::NotFound,
            405 => Refusal::MethodNotAllowed,
            408 => Refusal::TooSlow,
            413 => Refusal::BodyTooLarge,
            414 | 431 => Refusal::HeadTooLarge,
            429 => Refusal::RateLimit,
            502 => Refusal::WorkerDied,
            503 => Refusal::NoRoom,
            504 => Refusal::Timeout,
            _ => Refusal::Other,
        }
    }

    /// The value of its label.
    pub(super) fn name(self) -> &'static str {
        match self {
            Refusal::BadRequest => "bad_request",
            Refusal::Unauthorized => "unauthorized",
            Refusal::Forbidden => "forbidden",
            Refusal::NotFound => "not_found",
            Refusal::MethodNotAllowed => "method_not_allowed",
            Refusal::TooSlow => "too_slow",
            Refusal::BodyTooLarge => "body_too_large",
            Refusal::HeadTooLarge => "head_too_large",
            Refusal::RateLimit => "rate_limit",
            Refusal::WorkerDied => "worker_died",
            Refusal::QueueFull => "queue_full",
            Refusal::QueueTimeout => "queue_timeout",
            Refusal::Ending => "ending",
            Refusal::NoRoom => "no_room",
            Refusal::Timeout => "timeout",
            Refusal::Other => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_place() {
        assert!(Refusal::ALL.iter().enumerate().all(|(i, refusal)| *refusal as usize == i));
    }
}
