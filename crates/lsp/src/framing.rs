//! Message framing: a header with the length, then JSON.

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use crate::Error;

/// Maximum size of a message.
const MAX_BODY: usize = 64 * 1024 * 1024;
/// Maximum length of a header line. Longer lines are not from a language server.
const MAX_LINE: u64 = 8 * 1024;
const MAX_LINES: usize = 64;

/// Encodes a message.
pub fn write(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Reads the next message; `None` at the end of the stream. Other lines, which some servers print at startup, are
/// skipped.
pub async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Value>, Error> {
    let mut length = None;
    for _ in 0..MAX_LINES {
        let mut line = Vec::new();
        let count = (&mut *stream)
            .take(MAX_LINE)
            .read_until(b'\n', &mut line)
            .await
            .map_err(|_| Error::Closed)?;
        if count == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        match (line.split_once(':'), length) {
            (Some((name, value)), _) if name.eq_ignore_ascii_case("content-length") => {
                let bytes: usize = value
                    .trim()
                    .parse()
                    .map_err(|_| Error::protocol("an invalid Content-Length"))?;
                if bytes > MAX_BODY {
                    return Err(Error::protocol(format!("a message of {bytes} bytes")));
                }
                length = Some(bytes);
            }
            (None, Some(bytes)) if line.is_empty() => return body(stream, bytes).await.map(Some),
            _ => {}
        }
    }
    Err(Error::protocol("lines that are not messages"))
}

async fn body(stream: &mut (impl AsyncBufRead + Unpin), bytes: usize) -> Result<Value, Error> {
    let mut body = vec![0; bytes];
    stream.read_exact(&mut body).await.map_err(|_| Error::Closed)?;
    serde_json::from_slice(&body).map_err(|error| Error::protocol(error.to_string()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    async fn all(mut bytes: &[u8]) -> Result<Vec<Value>, Error> {
        let mut messages = Vec::new();
        while let Some(message) = read(&mut bytes).await? {
            messages.push(message);
        }
        Ok(messages)
    }

    #[tokio::test]
    async fn messages_survive_framing() {
        let messages = [
            json!({"id": 1, "text": "naïve\r\n"}),
            json!([]),
            json!({"a": {"b": null}}),
        ];
        let bytes: Vec<u8> = messages.iter().flat_map(write).collect();
        assert_eq!(all(&bytes).await.unwrap(), messages);
    }

    #[tokio::test]
    async fn output_before_a_message_is_skipped() {
        let bytes = b"Starting up\nwarning: hot\nContent-Type: x\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(all(bytes).await.unwrap(), [json!({})]);
    }

    #[tokio::test]
    async fn invalid_messages_are_errors_and_allocate_no_memory() {
        let endless = "no header\n".repeat(100);
        for bytes in [
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: x\r\n\r\n",
            "Content-Length: 3\r\n\r\n{,}",
            &endless,
        ] {
            assert!(
                matches!(all(bytes.as_bytes()).await, Err(Error::Protocol { .. })),
                "{bytes}"
            );
        }
        assert!(
            matches!(all(b"Content-Length: 10\r\n\r\n{}").await, Err(Error::Closed)),
            "cut off"
        );
    }
}
