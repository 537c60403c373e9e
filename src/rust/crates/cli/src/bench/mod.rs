//! `drover bench URL`: a small load test. A closed loop: each connection has one request at a time, and the next
//! follows its answer. Not for comparing servers, which a client beside them on one machine disturbs: `benchmarks/`
//! does that.

mod connection;
mod latencies;
mod target;

use crate::exit::{Code, Error};
use crate::http::field;
use crate::terminal;
use clap::Args;
use connection::exchange;
use latencies::Latencies;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use target::{parts, reach, request, Target};
use tokio::time::{sleep, timeout, timeout_at, Instant};

const EXAMPLES: &str = "\
Examples:
  drover bench http://127.0.0.1:8080/
  drover bench http://127.0.0.1:8080/predict --connections 64 --duration 30s
  drover bench http://127.0.0.1:8080/predict -X POST -H 'Content-Type: application/json' --body @input.json";

#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// The URL: http://HOST:PORT/PATH
    url: String,
    /// Connections, each with one request at a time
    #[arg(short, long, value_name = "N", default_value_t = 16,
        value_parser = clap::value_parser!(u16).range(1..=10_000))]
    connections: u16,
    /// How long to run
    #[arg(short, long, value_name = "SECONDS", default_value = "10s", value_parser = positive)]
    duration: f64,
    /// Longest wait for an answer
    #[arg(short, long, value_name = "SECONDS", default_value = "30s", value_parser = positive)]
    timeout: f64,
    /// The method
    #[arg(short = 'X', long, default_value = "GET", value_parser = method)]
    method: String,
    /// A header field, as in 'Name: value'; may be repeated
    #[arg(short = 'H', long = "header", value_name = "FIELD", value_parser = field)]
    headers: Vec<String>,
    /// The body: text, or @FILE
    #[arg(long)]
    body: Option<String>,
}

fn positive(text: &str) -> Result<f64, String> {
    admission::units::seconds(text)
        .filter(|seconds| (0.01..=86_400.0).contains(seconds))
        .ok_or_else(|| "must be a number of seconds in 0.01..86400, or a time such as 500ms, 30s or 2m".to_owned())
}

fn method(text: &str) -> Result<String, String> {
    let right = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphabetic());
    right.then(|| text.to_ascii_uppercase()).ok_or_else(|| "must be a method such as GET or POST".to_owned())
}

/// What came of them.
#[derive(Debug, Default)]
struct Counts {
    latencies: Latencies,
    statuses: BTreeMap<u16, u64>,
    errors: BTreeMap<String, u64>,
}

/// Sends requests for as long as was asked for, and prints what came of them.
///
/// # Errors
/// When the URL is wrong, no server listens, or no request was answered.
pub(crate) fn run(args: &BenchArgs) -> Result<(), Error> {
    let (host, target) = parts(&args.url).map_err(|e| Error::new(Code::Usage, e))?;
    let body = match args.body.as_deref().map(|body| body.strip_prefix('@').ok_or(body)) {
        Some(Ok(file)) => fs::read(file).map_err(|e| Error::new(Code::Missing, format!("cannot read {file}: {e}")))?,
        Some(Err(text)) => text.as_bytes().to_vec(),
        None => Vec::new(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Error::new(Code::System, e.to_string()))?;
    let (counts, seconds) = runtime.block_on(async {
        let address = reach(&host).await?;
        let request = request(args, &host, &target, &body);
        let timeout = Duration::from_secs_f64(args.timeout);
        let target = Arc::new(Target { address, request, is_head: args.method == "HEAD", timeout });
        let began = Instant::now();
        let until = began + Duration::from_secs_f64(args.duration);
        let clients: Vec<_> = (0..args.connections).map(|_| tokio::spawn(client(target.clone(), until))).collect();
        let mut all = Counts::default();
        for one in clients {
            let counts = one.await.map_err(|e| Error::new(Code::System, e.to_string()))?;
            all.latencies.join(&counts.latencies);
            counts.statuses.into_iter().for_each(|(status, n)| *all.statuses.entry(status).or_default() += n);
            counts.errors.into_iter().for_each(|(error, n)| *all.errors.entry(error).or_default() += n);
        }
        Ok::<_, Error>((all, began.elapsed().as_secs_f64()))
    })?;
    terminal::print(&report(args, &counts, seconds))?;
    if counts.latencies.total() == 0 {
        return Err(Error::new(Code::App, format!("no request was answered within {} s", args.duration)));
    }
    Ok(())
}

/// One connection, and others in its place when it ends, until the time is over. What is under way then does not count.
async fn client(target: Arc<Target>, until: Instant) -> Counts {
    let mut counts = Counts::default();
    let mut connection = None;
    while Instant::now() < until {
        let began = Instant::now();
        let Ok(outcome) = timeout_at(until, timeout(target.timeout, exchange(&target, &mut connection))).await else {
            break;
        };
        let why = match outcome {
            Ok(Ok(status)) => {
                counts.latencies.add(began.elapsed().as_micros() as u64);
                *counts.statuses.entry(status).or_default() += 1;
                continue;
            }
            Ok(Err(e)) => match e.kind() {
                ErrorKind::UnexpectedEof => "the connection ended before the answer did".to_owned(),
                _ => e.to_string(),
            },
            Err(_) => format!("no answer within {} s", target.timeout.as_secs_f64()),
        };
        *counts.errors.entry(why).or_default() += 1;
        connection = None;
        // a server that refuses is not to be asked as fast as the system can
        sleep(Duration::from_millis(10)).await;
    }
    counts
}

fn report(args: &BenchArgs, counts: &Counts, seconds: f64) -> String {
    let Counts { latencies, statuses, errors } = counts;
    let total = latencies.total();
    let mut text = format!(
        "{} {} for {seconds:.1} s, {}\n",
        args.method,
        args.url,
        terminal::count(args.connections.into(), "connection")
    );
    let _ = writeln!(text, "requests  {total}, {:.1} per second", total as f64 / seconds);
    if total > 0 {
        let at = |part| milliseconds(latencies.quantile(part));
        let longest = milliseconds(latencies.longest());
        let _ = writeln!(text, "latency   p50 {}, p90 {}, p99 {}, max {longest}", at(0.5), at(0.9), at(0.99));
        let each: Vec<String> = statuses.iter().map(|(status, n)| format!("{status}: {n}")).collect();
        let _ = writeln!(text, "statuses  {}", each.join(", "));
    }
    for (error, n) in errors {
        let _ = writeln!(text, "errors    {n}: {error}");
    }
    text
}

fn milliseconds(micros: u64) -> String {
    format!("{:.2} ms", micros as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_a_word() {
        assert!(method("G T").is_err() && method("post").unwrap() == "POST");
    }
}
