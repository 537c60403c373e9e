//! The response that a static file or `dr_file()` gives.

use crate::assets::AssetBody;
use httpd::{Body, Failure, Response};

/// The response of `asset`, or the failure that it was refused with.
pub fn from_asset(asset: http::Response<AssetBody>) -> Result<Response, Failure> {
    let (head, body) = asset.into_parts();
    let body = match body {
        AssetBody::Refused => return Err(Failure { fields: head.headers.into(), ..Failure::new(head.status, "") }),
        AssetBody::Empty => Body::empty(),
        AssetBody::Bytes(bytes) => Body::bytes(bytes),
        AssetBody::File { file, offset, len } => Body::file(file, offset, len),
    };
    Ok(Response::new(head.status, head.headers.into(), body))
}
