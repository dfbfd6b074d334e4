//! A response with a limit on its body.

use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Response, StatusCode};
use tool::Error;
use url::Url;

use super::charset;
use super::failed;

/// Maximum text of an error response.
const MAX_ERROR_EXCERPT_BYTES: usize = 1_000;

/// A response with an unread body.
#[derive(Debug)]
pub(crate) struct WebReply {
    /// The final URL.
    pub(crate) url: Url,
    response: Response,
}

/// The received part of a body.
#[derive(Debug)]
pub(crate) struct ReceivedBody {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: BodyEnd,
}

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// It is complete.
    Whole,
    /// It was longer than the limit.
    TooLong,
    /// It timed out.
    TooSlow,
    /// The connection broke.
    Broken,
}

impl WebReply {
    pub(crate) fn new(url: Url, response: Response) -> Self {
        Self { url, response }
    }

    /// The response if its status is a success, otherwise an error with the server's message.
    pub(crate) async fn success(mut self) -> Result<Self, Error> {
        let status = self.response.status();
        if status.is_success() {
            return Ok(self);
        }
        let complaint_text = match status {
            StatusCode::NOT_MODIFIED => String::new(),
            _ => self.complaint().await,
        };
        Err(failed(format!("{} answered {status}{complaint_text}", self.url)))
    }

    /// The MIME type in lower case; empty if missing.
    pub(crate) fn kind(&self) -> String {
        let kind = self.header(CONTENT_TYPE).split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    }

    /// The charset of the Content-Type header.
    pub(crate) fn charset(&self) -> Option<&str> {
        charset::of_type(self.header(CONTENT_TYPE))
    }

    /// The Content-Length, if given.
    pub(crate) fn length(&self) -> Option<u64> {
        self.header(CONTENT_LENGTH).parse().ok()
    }

    /// Reads the body, up to `most` bytes.
    pub(crate) async fn take(&mut self, most: usize) -> ReceivedBody {
        let mut bytes = Vec::new();
        loop {
            let end = match self.response.chunk().await {
                Ok(Some(piece)) => {
                    let room = most - bytes.len();
                    bytes.extend_from_slice(&piece[..piece.len().min(room)]);
                    match piece.len() > room {
                        true => BodyEnd::TooLong,
                        false => continue,
                    }
                }
                Ok(None) => BodyEnd::Whole,
                Err(error) if error.is_timeout() => BodyEnd::TooSlow,
                Err(_) => BodyEnd::Broken,
            };
            return ReceivedBody { bytes, end };
        }
    }

    /// The Content-Encoding of a body that was not decompressed.
    pub(crate) fn packed(&self) -> Option<&str> {
        match self.header(CONTENT_ENCODING) {
            "" | "identity" => None,
            other => Some(other),
        }
    }

    fn header(&self, name: reqwest::header::HeaderName) -> &str {
        let value = self.response.headers().get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    async fn complaint(&mut self) -> String {
        let (kind, charset) = (self.kind(), self.charset().map(str::to_owned));
        let taken = self.take(16 * 1024).await;
        if taken.bytes.contains(&0) {
            return String::new();
        }
        let html = kind.contains("html");
        let text = charset::decode(&taken.bytes, charset.as_deref(), html);
        let text = match html {
            true => super::markdown::markdown(&text, &self.url).text,
            false => text.trim().to_owned(),
        };
        match text.is_empty() {
            true => String::new(),
            false => format!(":\n{}", super::shorten(&text, MAX_ERROR_EXCERPT_BYTES)),
        }
    }
}
