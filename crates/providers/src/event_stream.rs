//! Parses AWS binary event streams incrementally.

/// The maximum size of a frame.
const LONGEST: usize = 8 * 1024 * 1024;
/// The prelude holds the frame length, the header length and a checksum; a checksum follows the payload.
const PRELUDE: usize = 12;
const CHECKSUM: usize = 4;

/// One frame with the fields that hew uses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EventStreamFrame {
    /// `event`, `exception` or `error`.
    pub(crate) message_type: String,
    /// The kind of event or exception.
    pub(crate) kind: String,
    /// Usually JSON.
    pub(crate) payload: Vec<u8>,
}

/// The bytes are not an event stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EventStreamError {
    #[error("a frame has an invalid length")]
    Length,
    #[error("a frame's checksum does not match")]
    Checksum,
    #[error("a frame has invalid headers")]
    Headers,
}

/// Parses bytes into frames.
#[derive(Debug, Default)]
pub(crate) struct EventStreamParser {
    buffer: Vec<u8>,
}

impl EventStreamParser {
    /// Adds bytes and returns the frames that they complete.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<Vec<EventStreamFrame>, EventStreamError> {
        self.buffer.extend_from_slice(bytes);
        let mut frames = Vec::new();
        let mut start = 0;
        while let Some(length) = frame_length(&self.buffer[start..])? {
            let Some(frame) = self.buffer.get(start..start + length) else {
                break;
            };
            frames.push(read(frame)?);
            start += length;
        }
        self.buffer.drain(..start);
        Ok(frames)
    }
}

/// The length of the next frame, once its prelude has arrived.
fn frame_length(bytes: &[u8]) -> Result<Option<usize>, EventStreamError> {
    let Some(prelude) = bytes.get(..PRELUDE) else {
        return Ok(None);
    };
    if crc32(&prelude[..8]) != number(&prelude[8..]) {
        return Err(EventStreamError::Checksum);
    }
    let (total, headers) = (number(prelude) as usize, number(&prelude[4..]) as usize);
    if total > LONGEST || total < PRELUDE + headers + CHECKSUM {
        return Err(EventStreamError::Length);
    }
    Ok(Some(total))
}

fn read(frame: &[u8]) -> Result<EventStreamFrame, EventStreamError> {
    let end = frame.len() - CHECKSUM;
    if crc32(&frame[..end]) != number(&frame[end..]) {
        return Err(EventStreamError::Checksum);
    }
    let payload_start = PRELUDE + number(&frame[4..]) as usize;
    let mut read = EventStreamFrame {
        payload: frame[payload_start..end].to_vec(),
        ..EventStreamFrame::default()
    };
    let mut headers = &frame[PRELUDE..payload_start];
    while !headers.is_empty() {
        let name = take_short(&mut headers).ok_or(EventStreamError::Headers)?;
        let value = take_value(&mut headers).ok_or(EventStreamError::Headers)?;
        let text = || String::from_utf8_lossy(value).into_owned();
        match name {
            b":message-type" => read.message_type = text(),
            b":event-type" | b":exception-type" | b":error-code" => read.kind = text(),
            _ => {}
        }
    }
    Ok(read)
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (head, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(head)
}

fn take_short<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = take(bytes, 1)?[0];
    take(bytes, usize::from(length))
}

/// The value of a header; hew needs only strings and byte strings.
fn take_value<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    match take(bytes, 1)?[0] {
        0 | 1 => take(bytes, 0),
        2 => take(bytes, 1),
        3 => take(bytes, 2),
        4 => take(bytes, 4),
        5 | 8 => take(bytes, 8),
        6 | 7 => {
            let length = take(bytes, 2)?;
            take(bytes, usize::from(u16::from_be_bytes([length[0], length[1]])))
        }
        9 => take(bytes, 16),
        _ => None,
    }
}

/// Four bytes as a big-endian number; callers have checked the length.
fn number(bytes: &[u8]) -> u32 {
    bytes.iter().take(4).fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
}

/// CRC-32, as in zip and Ethernet.
fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut n = 0;
        while n < 256 {
            let mut c = n as u32;
            let mut bit = 0;
            while bit < 8 {
                c = if c & 1 == 1 { 0xEDB8_8320 ^ (c >> 1) } else { c >> 1 };
                bit += 1;
            }
            table[n] = c;
            n += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc: u32, byte| {
        TABLE[((crc ^ u32::from(*byte)) & 0xFF) as usize] ^ (crc >> 8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame as AWS sends it.
    fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
        let mut head = Vec::new();
        for (name, value) in headers {
            head.push(name.len() as u8);
            head.extend_from_slice(name.as_bytes());
            head.push(7);
            head.extend_from_slice(&(value.len() as u16).to_be_bytes());
            head.extend_from_slice(value.as_bytes());
        }
        let total = PRELUDE + head.len() + payload.len() + CHECKSUM;
        let mut out = Vec::new();
        out.extend_from_slice(&(total as u32).to_be_bytes());
        out.extend_from_slice(&(head.len() as u32).to_be_bytes());
        out.extend_from_slice(&crc32(&out).to_be_bytes());
        out.extend_from_slice(&head);
        out.extend_from_slice(payload);
        out.extend_from_slice(&crc32(&out).to_be_bytes());
        out
    }

    #[test]
    fn the_checksum_is_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
    }

    #[test]
    fn frames_are_the_same_however_the_bytes_are_split() {
        let bytes = [
            frame(&[(":message-type", "event"), (":event-type", "chunk")], b"{}"),
            frame(
                &[
                    (":message-type", "exception"),
                    (":exception-type", "throttlingException"),
                ],
                b"",
            ),
        ]
        .concat();
        let expected = vec![
            EventStreamFrame {
                message_type: "event".into(),
                kind: "chunk".into(),
                payload: b"{}".to_vec(),
            },
            EventStreamFrame {
                message_type: "exception".into(),
                kind: "throttlingException".into(),
                payload: Vec::new(),
            },
        ];
        for size in [1, 7, 4096] {
            let mut parser = EventStreamParser::default();
            let frames: Vec<EventStreamFrame> = bytes
                .chunks(size)
                .flat_map(|chunk| parser.feed(chunk).unwrap())
                .collect();
            assert_eq!(frames, expected);
        }
    }

    #[test]
    fn damaged_frames_are_rejected() {
        let whole = frame(&[(":message-type", "event")], b"payload");
        for place in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[place] ^= 0x40;
            assert!(EventStreamParser::default().feed(&damaged).is_err(), "byte {place}");
        }
        assert_eq!(
            EventStreamParser::default().feed(b"<html>not found</html>"),
            Err(EventStreamError::Checksum)
        );
    }
}
