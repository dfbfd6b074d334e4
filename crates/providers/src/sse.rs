//! Reads server-sent events from bytes that arrive in any pieces.

use memchr::memchr2;

/// The most bytes that one event may have.
const LONGEST: usize = 8 * 1024 * 1024;

/// One server-sent event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Event {
    /// What follows `event:`, where it was sent.
    pub(crate) name: Option<String>,
    /// What follows `data:`, lines joined by line feeds.
    pub(crate) data: String,
}

/// An event has more bytes than any real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("one event is longer than {} MB", LONGEST / 1024 / 1024)]
pub(crate) struct Oversized;

/// Turns bytes into events. Lines may end with LF, CRLF or CR; the bytes may be split anywhere.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    /// The line that has not ended yet.
    line: Vec<u8>,
    name: Option<String>,
    data: Option<String>,
    after_cr: bool,
    begun: bool,
}

impl Parser {
    /// Takes in more bytes and gives the events that they complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, Oversized> {
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
                self.bounded(bytes.len())?;
                self.line.extend_from_slice(bytes);
                break;
            };
            self.bounded(end)?;
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

    /// The event that was still open when the bytes ended, if any. It may be cut: the caller must doubt it.
    pub(crate) fn finish(&mut self) -> Option<Event> {
        let mut events = Vec::new();
        let line = std::mem::take(&mut self.line);
        self.line(&line, &mut events);
        self.line(b"", &mut events);
        events.pop()
    }

    fn bounded(&self, more: usize) -> Result<(), Oversized> {
        let data = self.data.as_ref().map_or(0, String::len);
        if self.line.len() + data + more > LONGEST {
            return Err(Oversized);
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], events: &mut Vec<Event>) {
        let line = if self.begun {
            line
        } else {
            line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(line)
        };
        self.begun = true;
        if line.is_empty() {
            let name = self.name.take();
            if let Some(data) = self.data.take() {
                events.push(Event { name, data });
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
            // Comments have an empty field name; ids and retry times mean nothing here.
            _ => {}
        }
    }
}

/// Bytes as text. Nearly all are UTF-8 already, which is quicker to see than to mend.
fn text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_string(),
        Err(_) => String::from_utf8_lossy(bytes).into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], size: usize) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events: Vec<Event> = bytes
            .chunks(size)
            .flat_map(|chunk| parser.feed(chunk).unwrap())
            .collect();
        events.extend(parser.finish());
        events
    }

    fn event(name: Option<&str>, data: &str) -> Event {
        Event {
            name: name.map(str::to_string),
            data: data.to_string(),
        }
    }

    #[test]
    fn events_are_the_same_however_the_bytes_are_split() {
        let cases: [(&[u8], Vec<Event>); 9] = [
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
    fn an_endless_line_is_refused_before_it_fills_the_memory() {
        let mut parser = Parser::default();
        let piece = vec![b'a'; 1024 * 1024];
        let fed = (0..20).map(|_| parser.feed(&piece)).take_while(Result::is_ok).count();
        assert_eq!(fed, 8);
        let mut parser = Parser::default();
        let lines = [b"data: ".as_slice(), &piece, b"\n"].concat();
        let fed = (0..20).map(|_| parser.feed(&lines)).take_while(Result::is_ok).count();
        assert!(fed < 9);
    }
}
