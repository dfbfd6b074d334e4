//! Parses server-sent events incrementally.

use memchr::memchr2;

/// The maximum size of an event.
const MAX_EVENT: usize = 8 * 1024 * 1024;

/// One server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The `event:` field, if sent.
    pub(crate) name: Option<String>,
    /// The `data:` fields, joined by line feeds.
    pub(crate) data: String,
}

/// An event exceeds the maximum size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one event is longer than {} MB", MAX_EVENT / 1024 / 1024)]
pub(crate) struct OversizedEvent;

/// Parses bytes into events. Lines may end with LF, CRLF or CR; the bytes may be split anywhere.
#[derive(Debug, Default)]
pub(crate) struct SseParser {
    /// The incomplete line.
    line: Vec<u8>,
    name: Option<String>,
    data: Option<String>,
    after_cr: bool,
    begun: bool,
}

impl SseParser {
    /// Adds bytes and returns the events that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, OversizedEvent> {
        let mut events = Vec::new();
        while let Some(&first) = bytes.first() {
            if self.after_cr {
                self.after_cr = false;
                if first == b'\n' {
                    bytes = &bytes[1..];
                    continue;
                }
            }
            let Some(end) = memchr2(b'\n', b'\r', bytes) else {
                self.check_size(bytes.len())?;
                self.line.extend_from_slice(bytes);
                break;
            };
            self.check_size(end)?;
            self.after_cr = bytes[end] == b'\r';
            if self.line.is_empty() {
                self.line(&bytes[..end], &mut events);
            } else {
                let mut line = std::mem::take(&mut self.line);
                line.extend_from_slice(&bytes[..end]);
                self.line(&line, &mut events);
                line.clear();
                self.line = line;
            }
            bytes = &bytes[end + 1..];
        }
        Ok(events)
    }

    /// The event that was open when the bytes ended, if any. It may be truncated, so the caller must verify it.
    pub(crate) fn finish(&mut self) -> Option<SseEvent> {
        let mut events = Vec::new();
        let line = std::mem::take(&mut self.line);
        self.line(&line, &mut events);
        self.line(b"", &mut events);
        events.pop()
    }

    fn check_size(&self, more: usize) -> Result<(), OversizedEvent> {
        let data = self.data.as_ref().map_or(0, String::len);
        if self.line.len() + data + more > MAX_EVENT {
            return Err(OversizedEvent);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], events: &mut Vec<SseEvent>) {
        let line = if self.begun {
            line
        } else {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        };
        self.begun = true;
        if line.is_empty() {
            let name = self.name.take();
            if let Some(data) = self.data.take() {
                events.push(SseEvent { name, data });
            }
            return;
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                let text = text(value);
                match &mut self.data {
                    Some(data) => {
                        data.push('\n');
                        data.push_str(&text);
                    }
                    None => self.data = Some(text),
                }
            }
            b"event" => self.name = Some(text(value)),
            // Older versions of llama.cpp.
            b"error" => self.data = Some(format!("{{\"error\":{}}}", text(value))),
            // Comments have an empty field name; `id` and `retry` are ignored.
            _ => {}
        }
    }
}

/// Decodes text; the check for valid UTF-8 is faster than a lossy conversion.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_string(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], size: usize) -> Vec<SseEvent> {
        let mut parser = SseParser::default();
        let mut events: Vec<SseEvent> = bytes
            .chunks(size)
            .flat_map(|chunk| parser.feed(chunk).unwrap())
            .collect();
        events.extend(parser.finish());
        events
    }

    fn event(name: Option<&str>, data: &str) -> SseEvent {
        SseEvent {
            name: name.map(str::to_string),
            data: data.to_string(),
        }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_split() {
        let cases: [(&[u8], Vec<SseEvent>); 10] = [
            (
                b"error: {\"code\":500}\n\n",
                vec![event(None, "{\"error\":{\"code\":500}}")],
            ),
            (b"data: a\n\ndata: b\n\n", vec![event(None, "a"), event(None, "b")]),
            (b"event: x\r\ndata: a\r\n\r\n", vec![event(Some("x"), "a")]),
            (
                b"event: x\rdata: a\r\rdata: b\r\r",
                vec![event(Some("x"), "a"), event(None, "b")],
            ),
            (b"data: a\ndata\ndata:b\n\n", vec![event(None, "a\n\nb")]),
            (b": comment\n\ndata: a\nid: 7\nretry: 10\n\n", vec![event(None, "a")]),
            (b"\xEF\xBB\xBFdata: a\n\n", vec![event(None, "a")]),
            (
                "data: gr\u{fc}n \u{1F600}\n\n".as_bytes(),
                vec![event(None, "gr\u{fc}n \u{1F600}")],
            ),
            (b"data: bad \xFF utf8\n\n", vec![event(None, "bad \u{FFFD} utf8")]),
            (
                b"event: nothing\n\ndata: last line without an end",
                vec![event(None, "last line without an end")],
            ),
        ];
        for (bytes, expected) in cases {
            for size in [1, 2, 3, 7, 4096] {
                assert_eq!(
                    read(bytes, size),
                    expected,
                    "{} by {size}",
                    String::from_utf8_lossy(bytes)
                );
            }
        }
    }

    #[test]
    fn an_endless_line_is_rejected_before_it_exhausts_the_memory() {
        let mut parser = SseParser::default();
        let piece = vec![b'a'; 1024 * 1024];
        let fed = (0..20).map(|_| parser.feed(&piece)).take_while(Result::is_ok).count();
        assert_eq!(fed, 8);
        let mut parser = SseParser::default();
        let lines = [b"data: ".as_slice(), &piece, b"\n"].concat();
        let fed = (0..20).map(|_| parser.feed(&lines)).take_while(Result::is_ok).count();
        assert!(fed < 9);
    }
}
