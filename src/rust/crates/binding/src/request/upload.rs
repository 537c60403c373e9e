//! The parts of a multipart body, and where the bytes of its files are.

use super::fault::Fault;
use super::rules::Rules;
use fields::multipart;
use std::ops::Range;

/// The parts of a multipart body.
pub(super) struct Upload {
    pub(super) fields: Vec<(String, String)>,
    pub(super) files: Vec<File>,
}

pub(super) struct File {
    pub(super) field: String,
    pub(super) name: String,
    pub(super) media_type: String,
    pub(super) size: u64,
    pub(super) content: FileContent,
}

pub(super) enum FileContent {
    /// a piece of the body
    Within(Range<usize>),
    /// on disk until the request is over
    Spooled(fields::spool::SpooledFile),
}

impl Upload {
    /// Reads `body`, within the limits.
    pub(super) fn read(content_type: &[u8], body: &[u8], rules: &Rules) -> Result<Self, Fault> {
        let limits = multipart::Limits {
            max_parts: rules.limits.max_parts,
            max_fields: rules.limits.max_fields,
            spool_above: rules.limits.spool_above,
            dir: &rules.upload_path,
        };
        let parsed = multipart::parse(content_type, body, limits)?;
        let fields = parsed.fields.into_iter().map(|(n, v)| (n.into_owned(), v.into_owned())).collect();
        let start = body.as_ptr() as usize;
        let files = parsed.files.into_iter().map(|f| File {
            field: f.field,
            name: f.filename,
            media_type: f.content_type,
            size: f.size,
            content: match f.content {
                multipart::Content::Inline(bytes) => {
                    let at = bytes.as_ptr() as usize - start;
                    FileContent::Within(at..at + bytes.len())
                }
                multipart::Content::Spooled(file) => FileContent::Spooled(file),
            },
        });
        Ok(Upload { fields, files: files.collect() })
    }
}
