//! The files of the web page, embedded in the binary.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use std::io::Write as _;
use std::sync::OnceLock;

/// An embedded file.
struct Asset {
    path: &'static str,
    media_type: &'static str,
    content: &'static [u8],
    /// Whether it is served without a token: what a browser needs for pairing.
    is_public: bool,
    compressed: OnceLock<Bytes>,
}

macro_rules! assets {
    ($($path:literal, $file:literal, $media_type:literal, $is_public:literal;)*) => {
        static ASSETS: [Asset; [$($path),*].len()] = [$(Asset {
            path: $path,
            media_type: $media_type,
            content: include_bytes!(concat!("../../web/", $file)),
            is_public: $is_public,
            compressed: OnceLock::new(),
        }),*];
    };
}

assets! {
    "/", "index.html", "text/html; charset=utf-8", false;
    "/pair", "pair.html", "text/html; charset=utf-8", true;
    "/pair.js", "pair.js", "text/javascript; charset=utf-8", true;
    "/app.css", "app.css", "text/css; charset=utf-8", true;
    "/icon.svg", "icon.svg", "image/svg+xml", true;
    "/manifest.webmanifest", "manifest.webmanifest", "application/manifest+json", true;
    "/api.js", "api.js", "text/javascript; charset=utf-8", false;
    "/app.js", "app.js", "text/javascript; charset=utf-8", false;
    "/charts.js", "charts.js", "text/javascript; charset=utf-8", false;
    "/composer.js", "composer.js", "text/javascript; charset=utf-8", false;
    "/conversation.js", "conversation.js", "text/javascript; charset=utf-8", false;
    "/diff.js", "diff.js", "text/javascript; charset=utf-8", false;
    "/dom.js", "dom.js", "text/javascript; charset=utf-8", false;
    "/input.js", "input.js", "text/javascript; charset=utf-8", false;
    "/markdown.js", "markdown.js", "text/javascript; charset=utf-8", false;
    "/questions.js", "questions.js", "text/javascript; charset=utf-8", false;
    "/session.js", "session.js", "text/javascript; charset=utf-8", false;
    "/sidebar.js", "sidebar.js", "text/javascript; charset=utf-8", false;
    "/views.js", "views.js", "text/javascript; charset=utf-8", false;
}

/// Whether a path is a file of the page.
pub(super) fn is_asset(path: &str) -> bool {
    ASSETS.iter().any(|asset| asset.path == path)
}

/// Whether a path is served without a token.
pub(super) fn is_public(path: &str) -> bool {
    ASSETS.iter().any(|asset| asset.path == path && asset.is_public)
}

/// A file of the page, or 404.
pub(super) async fn asset(request: Request<Body>) -> Response {
    let is_read = request.method() == Method::GET || request.method() == Method::HEAD;
    let found = ASSETS
        .iter()
        .find(|asset| is_read && asset.path == request.uri().path());
    match found {
        Some(asset) => asset.response(request.headers()),
        None => super::api_json::error_response(StatusCode::NOT_FOUND, "there is nothing at this address", None),
    }
}

/// The page that pairs a device.
pub(super) fn pairing_page(status: StatusCode) -> Response {
    let page = ASSETS.iter().find(|asset| asset.path == "/pair");
    let mut response = page.map_or_else(Response::default, |page| page.response(&HeaderMap::new()));
    *response.status_mut() = status;
    response.headers_mut().remove(ETAG);
    response
}

impl Asset {
    fn response(&self, request: &HeaderMap) -> Response {
        let text = |name| request.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        let version = concat!("\"", env!("CARGO_PKG_VERSION"), "-");
        let tag = format!("{version}{:x}\"", checksum(self.content));
        let mut response = Response::default();
        if text(IF_NONE_MATCH) == Some(tag.as_str()) {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        } else if text(ACCEPT_ENCODING).is_some_and(|accepted| accepted.contains("gzip")) {
            let compressed = self.compressed.get_or_init(|| compress(self.content));
            *response.body_mut() = Body::from(compressed.clone());
            response
                .headers_mut()
                .insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        } else {
            *response.body_mut() = Body::from(Bytes::from_static(self.content));
        }
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(ETAG, tag);
        }
        response
    }
}

fn compress(content: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    // Writing to memory does not fail.
    encoder.write_all(content).unwrap_or_default();
    encoder.finish().unwrap_or_default().into()
}

/// FNV-1a.
fn checksum(content: &[u8]) -> u64 {
    content.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_small_and_has_no_inline_script() {
        let size: usize = ASSETS.iter().map(|asset| compress(asset.content).len()).sum();
        assert!(size <= 150_000, "{size} bytes compressed");
        for asset in ASSETS.iter().filter(|asset| asset.media_type.starts_with("text/html")) {
            let text = std::str::from_utf8(asset.content).unwrap();
            assert!(!text.contains("style=") && !text.contains("<style"), "{}", asset.path);
            assert!(!text.contains(" on") || !text.contains("onclick"), "{}", asset.path);
            for script in text.split("<script").skip(1) {
                assert!(script.contains("src=\"/"), "{}", asset.path);
            }
            assert!(
                !text.contains("http://") && !text.contains("https://"),
                "{}",
                asset.path
            );
        }
    }

    #[test]
    fn all_scripts_load_at_once() {
        let page = ASSETS.iter().find(|asset| asset.path == "/").unwrap();
        let page = std::str::from_utf8(page.content).unwrap();
        let scripts = ASSETS
            .iter()
            .filter(|asset| asset.path.ends_with(".js") && asset.path != "/pair.js");
        for script in scripts {
            assert!(page.contains(&format!("=\"{}\"", script.path)), "{}", script.path);
        }
    }

    #[test]
    fn scripts_do_not_parse_strings_as_html() {
        for asset in ASSETS
            .iter()
            .filter(|asset| asset.media_type.starts_with("text/javascript"))
        {
            let text = std::str::from_utf8(asset.content).unwrap();
            for sink in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "srcdoc",
                "DOMParser",
            ] {
                assert!(!text.contains(sink), "{} uses {sink}", asset.path);
            }
        }
    }
}
