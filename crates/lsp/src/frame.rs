//! One message on the wire: a header with its length, then JSON.

use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

use crate::Error;

/// Longer messages are not read; a server that sends one is beyond help.
const LONGEST: usize = 64 * 1024 * 1024;
/// A header is short. What goes on for longer without one is no language server.
const LONGEST_LINE: u64 = 8 * 1024;
const MOST_LINES: usize = 64;

/// The message as bytes for the wire.
pub(crate) fn write(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// The next message; nothing at the end of the stream. Lines that are no header, which some servers print when they
/// start, are passed over.
pub(crate) async fn read(stream: &mut (impl AsyncBufRead + Unpin)) -> Result<Option<Value>, Error> {
    let mut length = None;
    for _ in 0..MOST_LINES {
        let mut line = Vec::new();
        let count = (&mut *stream)
            .take(LONGEST_LINE)
            .read_until(b'\n', &mut line)
            .await
            .map_err(|_| Error::Gone)?;
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
                    .map_err(|_| Error::garbled("a length that is no number"))?;
                if bytes > LONGEST {
                    return Err(Error::garbled(format!("a message of {bytes} bytes")));
                }
                length = Some(bytes);
            }
            (None, Some(bytes)) if line.is_empty() => return body(stream, bytes).await.map(Some),
            _ => {}
        }
    }
    Err(Error::garbled("lines that are no messages"))
}

async fn body(stream: &mut (impl AsyncBufRead + Unpin), bytes: usize) -> Result<Value, Error> {
    let mut body = vec![0; bytes];
    stream.read_exact(&mut body).await.map_err(|_| Error::Gone)?;
    serde_json::from_slice(&body).map_err(|error| Error::garbled(error.to_string()))
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
    async fn messages_are_read_as_they_were_written() {
        let messages = [
            json!({"id": 1, "text": "naïve\r\n"}),
            json!([]),
            json!({"a": {"b": null}}),
        ];
        let bytes: Vec<u8> = messages.iter().flat_map(write).collect();
        assert_eq!(all(&bytes).await.unwrap(), messages);
    }

    #[tokio::test]
    async fn what_is_printed_before_a_message_is_passed_over() {
        let bytes = b"Starting up\nwarning: hot\nContent-Type: x\r\ncontent-length: 2\r\n\r\n{}";
        assert_eq!(all(bytes).await.unwrap(), [json!({})]);
    }

    #[tokio::test]
    async fn bad_messages_are_errors_and_take_no_memory() {
        let endless = "no header\n".repeat(100);
        for bytes in [
            "Content-Length: 99999999999\r\n\r\n",
            "Content-Length: x\r\n\r\n",
            "Content-Length: 3\r\n\r\n{,}",
            &endless,
        ] {
            assert!(
                matches!(all(bytes.as_bytes()).await, Err(Error::Garbled { .. })),
                "{bytes}"
            );
        }
        assert!(
            matches!(all(b"Content-Length: 10\r\n\r\n{}").await, Err(Error::Gone)),
            "cut off"
        );
    }
}
