//! An answer, of which only so much is taken as was asked for.

use reqwest::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use reqwest::{Response, StatusCode};
use tool::Error;
use url::Url;

use super::charset;
use super::failed;

/// How much is told of an answer that is an error.
const LONGEST_COMPLAINT: usize = 1_000;

/// An answer whose body has not been read.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Where it came from in the end.
    pub(crate) url: Url,
    response: Response,
}

/// As much of a body as was taken.
#[derive(Debug)]
pub(crate) struct Taken {
    pub(crate) bytes: Vec<u8>,
    pub(crate) end: End,
}

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// It is complete.
    Whole,
    /// There was more than was wanted.
    TooLong,
    /// The time was up.
    TooSlow,
    /// The connection broke.
    Broken,
}

impl Reply {
    pub(crate) fn new(url: Url, response: Response) -> Self {
        Self { url, response }
    }

    /// The answer, if it is one: another status becomes an error that tells what the server said.
    pub(crate) async fn success(mut self) -> Result<Self, Error> {
        let status = self.response.status();
        if status.is_success() {
            return Ok(self);
        }
        let said = match status {
            StatusCode::NOT_MODIFIED => String::new(),
            _ => self.complaint().await,
        };
        Err(failed(format!("{} answered {status}{said}", self.url)))
    }

    /// Such as `text/html`, in small letters; empty where the server does not say.
    pub(crate) fn kind(&self) -> String {
        let kind = self.header(CONTENT_TYPE).split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    }

    /// What the server says the letters are.
    pub(crate) fn charset(&self) -> Option<&str> {
        charset::of_type(self.header(CONTENT_TYPE))
    }

    /// How long the body will be, where the server says so.
    pub(crate) fn length(&self) -> Option<u64> {
        self.header(CONTENT_LENGTH).parse().ok()
    }

    /// Reads the body, but no more than so many bytes.
    pub(crate) async fn take(&mut self, most: usize) -> Taken {
        let mut bytes = Vec::new();
        loop {
            let end = match self.response.chunk().await {
                Ok(Some(piece)) => {
                    let room = most - bytes.len();
                    bytes.extend_from_slice(&piece[..piece.len().min(room)]);
                    match piece.len() > room {
                        true => End::TooLong,
                        false => continue,
                    }
                }
                Ok(None) => End::Whole,
                Err(error) if error.is_timeout() => End::TooSlow,
                Err(_) => End::Broken,
            };
            return Taken { bytes, end };
        }
    }

    /// How the body is still packed; what has been unpacked no longer says that it was.
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
            false => format!(":\n{}", super::shorten(&text, LONGEST_COMPLAINT)),
        }
    }
}
