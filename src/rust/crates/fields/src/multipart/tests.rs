//! Bodies that must be read, and bodies that must not.

use super::*;
use crate::FieldErrorKind;
use proptest::prelude::*;

const TYPE: &[u8] = b"multipart/form-data; boundary=XX";

fn limits(dir: &Path) -> Limits<'_> {
    Limits { max_parts: 5, max_fields: 3, spool_above: 100, dir }
}

fn read<'a>(content_type: &[u8], body: &'a [u8]) -> Result<Multipart<'a>, FieldError> {
    parse(content_type, body, limits(&std::env::temp_dir()))
}

fn body(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut body = String::new();
    for (headers, content) in parts {
        body += &format!("--XX\r\n{headers}\r\n\r\n{content}\r\n");
    }
    (body + "--XX--\r\n").into_bytes()
}

fn field(name: &str) -> String {
    format!("Content-Disposition: form-data; name=\"{name}\"")
}

fn fault(body: &[u8]) -> FieldError {
    read(TYPE, body).unwrap_err()
}

#[test]
fn fields_and_files() {
    let file = "Content-Disposition: form-data; name=up; filename=\"a.txt\"\r\nContent-Type: text/plain";
    let sent = body(&[(&field("a"), "1"), (file, "\r\nbytes\r\n"), (&field("a"), "zwei ü")]);
    let form = read(TYPE, &sent).unwrap();
    assert_eq!(form.fields, [("a".into(), "1".into()), ("a".into(), "zwei ü".into())]);
    let file = &form.files[0];
    assert_eq!((file.field.as_str(), file.filename.as_str()), ("up", "a.txt"));
    assert_eq!((file.content_type.as_str(), file.size), ("text/plain", 9));
    assert!(matches!(file.content, Content::Inline(b"\r\nbytes\r\n")));
}

#[test]
fn text_is_borrowed_from_the_body() {
    let sent = body(&[(&field("a"), "value")]);
    assert!(matches!(read(TYPE, &sent).unwrap().fields[0].1, Cow::Borrowed("value")));
}

#[test]
fn framing_that_the_rfc_allows() {
    let empty: &[u8] = b"--XX--";
    assert!(read(TYPE, empty).unwrap().fields.is_empty());
    let sent = [&b"preamble\r\n"[..], &body(&[(&field("a"), "1")]), b"epilogue --XX"].concat();
    assert_eq!(read(TYPE, &sent).unwrap().fields.len(), 1);
    let padded =
        body(&[(&field("a"), "1")]).iter().map(|b| *b as char).collect::<String>().replacen("XX\r", "XX \t\r", 1);
    assert_eq!(read(TYPE, padded.as_bytes()).unwrap().fields.len(), 1);
    let no_content = format!("--XX\r\n{}\r\n\r\n--XX--", field("a"));
    assert_eq!(read(TYPE, no_content.as_bytes()).unwrap().fields, [("a".into(), "".into())]);
    let sent = body(&[(&field("a"), "like --XX\r\n-XX")]);
    assert_eq!(read(b"Multipart/Form-Data;charset=utf-8; Boundary=\"XX\"", &sent).unwrap().fields.len(), 1);
}

#[test]
fn big_files_are_spooled_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let content = "x".repeat(101);
    let sent = body(&[("Content-Disposition: form-data; name=f; filename=f", &content)]);
    let form = parse(TYPE, &sent, limits(dir.path())).unwrap();
    let Content::Spooled(file) = &form.files[0].content else { panic!("not spooled") };
    assert_eq!(std::fs::read_to_string(file.path()).unwrap(), content);
    assert_eq!(form.files[0].content_type, "application/octet-stream");
    drop(form);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn a_refused_body_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let content = "x".repeat(101);
    let file = "Content-Disposition: form-data; name=f; filename=f";
    let sent = body(&[(file, &content), ("X: y", "")]);
    assert!(parse(TYPE, &sent, limits(dir.path())).is_err());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn file_names_are_made_harmless() {
    for (sent, name) in [
        (r"C:\dir\x.txt", "x.txt"),
        ("../../etc/passwd", "passwd"),
        ("..", ""),
        ("", ""),
        ("a/", ""),
        ("tab\there\u{85}", "tabhere"),
        ("ü 'q'.txt", "ü 'q'.txt"),
    ] {
        let header = format!("Content-Disposition: form-data; name=f; filename=\"{sent}\"");
        let sent = body(&[(&header, "x")]);
        assert_eq!(read(TYPE, &sent).unwrap().files[0].filename, name);
    }
    let header = "Content-Disposition: form-data; name=f; filename*=utf-8''%e2%82%ac%2fx%c3%bc.txt";
    let sent = body(&[(header, "x")]);
    assert_eq!(read(TYPE, &sent).unwrap().files[0].filename, "xü.txt");
}

#[test]
fn content_types_that_cannot_be_read() {
    let sent = body(&[]);
    let long = format!("multipart/form-data; boundary={}", "x".repeat(71));
    for content_type in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"a\u{7f}b\"",
        "multipart/form-data; boundary=\"a \"",
        "multipart/form-data; boundary=a; boundary=b",
        "multipart/mixed; boundary=XX",
        "text/plain",
        &long,
    ] {
        let error = read(content_type.as_bytes(), &sent).unwrap_err();
        assert_eq!((error.kind(), error.status()), (FieldErrorKind::Malformed, 400), "{content_type}");
    }
    assert_eq!(read(b"multipart/form-data; boundary=\xff", &sent).unwrap_err().kind(), FieldErrorKind::NotText);
}

#[test]
fn malformed_framing() {
    let whole = body(&[(&field("a"), "1")]);
    let final_delimiter = whole.len() - "\r\n".len();
    for length in 0..final_delimiter {
        assert_eq!(fault(&whole[..length]).kind(), FieldErrorKind::Malformed, "cut at {length}");
    }
    for sent in ["--XX\n\n\n--XX--", "x--XX--", "--XXY\r\n\r\n\r\n--XX--"] {
        assert_eq!(fault(sent.as_bytes()).kind(), FieldErrorKind::Malformed, "{sent}");
    }
}

#[test]
fn malformed_parts() {
    for headers in [
        "X: y",
        "Content-Disposition: form-data",
        "Content-Disposition: form-data; filename=x",
        "Content-Disposition: attachment; name=x",
        "Content-Disposition: form-data; name=\"x",
        "Content-Disposition: form-data; name=x; name=y",
        "Content-Disposition: form-data; name=x\r\nContent-Disposition: form-data; name=y",
        "Content-Disposition: form-data; name=x\nX: y",
        "Content-Disposition: form-data; name=x; filename*=latin1''x",
        "Content-Disposition: form-data; name=x; filename*=UTF-8''%zz",
        "Content-Disposition: form-data; name=x\r\nContent-Transfer-Encoding: base64",
        "Content Disposition: form-data; name=x",
        "\0",
    ] {
        assert_eq!(fault(&body(&[(headers, "1")])).kind(), FieldErrorKind::Malformed, "{headers:?}");
    }
    for (headers, content) in [(field("a"), "\0"), (field("a\0"), "1")] {
        assert_eq!(fault(&body(&[(&headers, content)])).status(), 400);
    }
    let latin1 = [b"--XX\r\n", field("a").as_bytes(), b"\r\n\r\n\xe9\r\n--XX--"].concat();
    assert_eq!(fault(&latin1).kind(), FieldErrorKind::NotText);
}

#[test]
fn limits_hold() {
    let a = field("a");
    let file = "Content-Disposition: form-data; name=f; filename=f";
    assert!(read(TYPE, &body(&[(&a, ""), (&a, ""), (&a, ""), (file, ""), (file, "")])).is_ok());
    assert_eq!(fault(&body(&[(&a, ""), (&a, ""), (&a, ""), (&a, "")])).kind(), FieldErrorKind::TooMany);
    assert_eq!(fault(&body(&[(file, ""); 6])).kind(), FieldErrorKind::TooMany);
    let long = format!("{a}\r\nX: {}", "y".repeat(9000));
    assert_eq!(fault(&body(&[(&long, "")])).kind(), FieldErrorKind::TooMany);
    let many = format!("{a}{}", "\r\nX: y".repeat(16));
    assert_eq!(fault(&body(&[(&many, "")])).kind(), FieldErrorKind::TooMany);
}

proptest! {
    #[test]
    fn any_bytes_never_panic(sent in proptest::collection::vec(any::<u8>(), 0..300), typ in any::<Vec<u8>>()) {
        let _ = read(TYPE, &sent);
        let _ = read(&typ, &sent);
    }

    #[test]
    fn near_bodies_never_panic(pieces in proptest::collection::vec(
        prop::sample::select(vec!["--XX", "\r\n", "--", "Content-Disposition: form-data; name=a", "; filename=b", "\"", "x", "\0", "\n"]), 0..20)) {
        let _ = read(TYPE, pieces.concat().as_bytes());
    }

    #[test]
    fn fields_come_back(pairs in proptest::collection::vec(("[^\r\n\0\\p{Cc}]{0,12}", "[^\0]{0,40}"), 0..3)) {
        let escaped: Vec<_> = pairs.iter().map(|(name, value)| {
            (field(&name.replace('\\', "\\\\").replace('"', "\\\"")), value.as_str())
        }).collect();
        let parts: Vec<_> = escaped.iter().map(|(headers, value)| (headers.as_str(), *value)).collect();
        let sent = body(&parts);
        let form = read(TYPE, &sent).unwrap();
        let fields: Vec<_> = form.fields.into_iter().map(|(n, v)| (n.into_owned(), v.into_owned())).collect();
        prop_assert_eq!(fields, pairs);
    }
}
