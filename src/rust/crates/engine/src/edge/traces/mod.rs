//! Traces of requests for a collector of OpenTelemetry, by OTLP over HTTP: a span for each request that is sampled, and
//! spans for its parts.
//!
//! In reading order: `target` (where they go, by the setting and the variables of OpenTelemetry), `span` (what is told
//! of a request, as JSON), `export` (the thread that sends them). Spans wait in a queue that has an end: a request
//! never waits for a collector. Which requests are sampled, `exchange::Trace` knows.

mod export;
mod span;
mod target;

pub use export::{of_server, Traces};
pub use span::Span;
