//! `multipart/form-data`: the limits hold, file names cannot lead anywhere, and the contents are those that a search
//! for the delimiter finds; what is read is written and read again the same.
//!
//! Input: limits, the content type as a line, the body.

use crate::input::Input;
use fields::multipart::{parse, Content, Limits, Multipart};

/// See the module.
pub fn run(data: &[u8]) {
    let mut input = Input(data);
    let (flags, content_type) = (input.byte(), input.until(b'\n'));
    let folder = std::env::temp_dir();
    // one file in 64 goes to disk, which takes long
    let spool_above = if flags >> 2 == 1 { 100 } else { u64::MAX };
    let (max_parts, max_fields) = if flags & 1 == 0 { (100, 100) } else { (3, 2) };
    let limits = Limits { max_parts, max_fields, spool_above, dir: &folder };
    let Ok(form) = parse(content_type, input.0, limits) else { return };
    assert!(form.fields.len() <= max_fields && form.fields.len() + form.files.len() <= max_parts);
    assert!(!form.fields.iter().any(|(name, value)| name.contains('\0') || value.contains('\0')));
    for file in &form.files {
        assert!(!file.filename.contains(['/', '\\', '\0']) && !file.filename.contains(char::is_control));
        assert!(file.filename != "." && file.filename != "..");
        assert!(!file.content_type.contains(['\r', '\n', '\0']));
    }
    let contents = contents(&form);
    // the boundary is somewhere in what is before the first content, and before each of the others
    assert_eq!(contents.len(), form.fields.len() + form.files.len());
    again(&form, &contents, limits);
}

/// The contents of all parts, fields first.
fn contents(form: &Multipart) -> Vec<Vec<u8>> {
    let files = form.files.iter().map(|file| {
        let content = match &file.content {
            Content::Inline(bytes) => bytes.to_vec(),
            Content::Spooled(file) => std::fs::read(file.path()).expect("the file is there"),
        };
        assert_eq!(content.len() as u64, file.size);
        content
    });
    form.fields.iter().map(|(_, value)| value.as_bytes().to_vec()).chain(files).collect()
}

/// Writes the form with another boundary, and reads that.
fn again(form: &Multipart, contents: &[Vec<u8>], limits: Limits) {
    let boundary = "a-boundary-that-is-in-no-content-but-by-accident";
    if contents.iter().any(|content| content.windows(boundary.len()).any(|w| w == boundary.as_bytes())) {
        return;
    }
    let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut body = Vec::new();
    let names = form.fields.iter().map(|(name, _)| (&name[..], None));
    let names = names.chain(form.files.iter().map(|file| (&file.field[..], Some(file))));
    for ((name, file), content) in names.zip(contents) {
        body.extend_from_slice(
            format!("--{boundary}\r\ncontent-disposition: form-data; name=\"{}\"", quoted(name)).as_bytes(),
        );
        if let Some(file) = file {
            body.extend_from_slice(format!("; filename=\"{}\"", quoted(&file.filename)).as_bytes());
            body.extend_from_slice(format!("\r\nContent-Type: {}", file.content_type).as_bytes());
        }
        body.extend_from_slice(b"\r\n\r\n");
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--").as_bytes());
    let content_type = format!("multipart/form-data; boundary={boundary}");
    let read = parse(content_type.as_bytes(), &body, limits).expect("what was written is read");
    assert_eq!(read.fields, form.fields);
    let described = |form: &Multipart| -> Vec<_> {
        form.files.iter().map(|f| (f.field.clone(), f.filename.clone(), f.content_type.clone())).collect()
    };
    assert_eq!(described(&read), described(form));
    assert_eq!(self::contents(&read), contents);
}
