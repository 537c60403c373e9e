//! The table of what is believed: `tests/conformance/forwarded.txt`, which says what its lines are. What it says of
//! hosts and ports is for whoever checks a host: they are looked at where a server is.

use proxies::{read, Fields, Networks};

const TABLE: &str = include_str!("../../../../../tests/conformance/forwarded.txt");
const PEER: &str = "127.0.0.1";

#[derive(Default)]
struct Case<'t> {
    name: &'t str,
    trusted: Vec<&'t str>,
    fields: Fields,
    sent: Vec<(String, &'t str)>,
    expected: Vec<&'t str>,
}

fn cases() -> Vec<Case<'static>> {
    let records = TABLE.split("\n\n").filter(|record| record.starts_with("case: "));
    let case = |record: &'static str| {
        let mut case = Case::default();
        for line in record.lines().filter(|line| !line.starts_with('#')) {
            match line.split_once(' ').map(|(key, value)| (key, value.trim())) {
                Some(("case:", name)) => case.name = name,
                Some(("trusted:", networks)) => case.trusted = networks.split_whitespace().collect(),
                None if line == "trusted:" => {}
                Some(("fields:", "forwarded")) => case.fields = Fields::Forwarded,
                Some((">", field)) => {
                    let (name, value) = field.split_once(": ").unwrap();
                    case.sent.push((name.to_ascii_lowercase(), value));
                }
                Some(("=", expected)) => case.expected = expected.split_whitespace().collect(),
                _ => panic!("{line}"),
            }
        }
        case
    };
    records.map(case).collect()
}

#[test]
fn the_table() {
    let cases = cases();
    assert!(cases.len() > 30);
    for Case { name, trusted, fields, sent, expected } in cases {
        let trusted = Networks::parse(&trusted).unwrap();
        if !trusted.has(PEER.parse().ok()) {
            // nothing is read
            assert_eq!(expected, ["-"; 3], "{name}");
            continue;
        }
        let named = |asked: &str| sent.iter().filter(|(name, _)| name == asked).map(|(_, v)| v.as_bytes()).collect();
        let claim = read(fields, named, &trusted);
        let client = claim.client.map_or("-".to_owned(), |(address, _)| address.to_string());
        let scheme = claim.https.map_or("-", |https| if https { "https" } else { "http" });
        assert_eq!([&*client, scheme], expected[..2], "{name}");
    }
}
