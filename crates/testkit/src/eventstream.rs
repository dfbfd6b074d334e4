//! The binary framing of AWS event streams.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The frame of one model event on Bedrock.
pub(crate) fn chunk(data: &str) -> Vec<u8> {
    let payload = format!(r#"{{"bytes":"{}","p":"abcdefgh"}}"#, STANDARD.encode(data));
    let headers = [
        (":event-type", "chunk"),
        (":content-type", "application/json"),
        (":message-type", "event"),
    ];
    frame(&headers, payload.as_bytes())
}

/// The frame of an error that ends a stream. `kind` is the name in lower camel case.
pub(crate) fn exception(kind: &str, payload: &str) -> Vec<u8> {
    let headers = [
        (":exception-type", kind),
        (":content-type", "application/json"),
        (":message-type", "exception"),
    ];
    frame(&headers, payload.as_bytes())
}

/// Total length, header length, checksum of both; headers; payload; checksum of everything.
fn frame(headers: &[(&str, &str)], payload: &[u8]) -> Vec<u8> {
    const STRING: u8 = 7;
    let mut head = Vec::new();
    for (name, value) in headers {
        head.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
        head.extend_from_slice(name.as_bytes());
        head.push(STRING);
        head.extend_from_slice(&u16::try_from(value.len()).unwrap_or(u16::MAX).to_be_bytes());
        head.extend_from_slice(value.as_bytes());
    }
    let mut out = Vec::with_capacity(16 + head.len() + payload.len());
    out.extend_from_slice(&length(16 + head.len() + payload.len()));
    out.extend_from_slice(&length(head.len()));
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out.extend_from_slice(&head);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32(&out).to_be_bytes());
    out
}

fn length(bytes: usize) -> [u8; 4] {
    u32::try_from(bytes).unwrap_or(u32::MAX).to_be_bytes()
}

/// CRC-32 as in zlib.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        TABLE[usize::from(crc.to_le_bytes()[0] ^ byte)] ^ (crc >> 8)
    })
}

static TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 {
                (crc >> 1) ^ 0xedb8_8320
            } else {
                crc >> 1
            };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_crc_32() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn a_frame_has_the_documented_layout() {
        let frame = frame(&[("a", "bc")], b"{}");
        assert_eq!(frame[..8], [0, 0, 0, 25, 0, 0, 0, 7]);
        assert_eq!(frame[12..19], [1, b'a', 7, 0, 2, b'b', b'c']);
        assert_eq!(&frame[19..21], b"{}");
        assert_eq!(frame.len(), 25);
    }
}
