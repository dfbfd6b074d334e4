//! Images through the kitty graphics protocol or iTerm2 inline images.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::Media;

/// The image protocol of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ImageProtocol {
    /// No images.
    #[default]
    None,
    /// The kitty graphics protocol, if the terminal confirms it.
    Kitty,
    /// iTerm2 inline images.
    Iterm,
}

/// Queries support for kitty graphics with a one-pixel image that is not stored.
pub(crate) const QUERY_KITTY: &str = "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\";

/// Maximum rows of an image.
const MAX_ROWS: usize = 16;
/// Maximum columns of an image.
const MAX_COLUMNS: usize = 64;
/// Approximate width of a column in pixels; a row is twice as high.
const PIXELS_PER_COLUMN: usize = 9;
/// Larger images are only named.
const MAX_BYTES: usize = 4 << 20;
/// Characters per chunk.
const CHUNK: usize = 4096;

/// The sequence that shows an image at the cursor and ends in the row below. `None` if it cannot be shown.
pub(crate) fn image_sequence(media: &Media, how: ImageProtocol) -> Option<String> {
    let (width, height) = size(&media.data).filter(|_| media.data.len() <= MAX_BYTES)?;
    let rows = rows(width, height);
    let image = match how {
        ImageProtocol::None => return None,
        // Only PNG is supported directly.
        ImageProtocol::Kitty if media.mime != "image/png" => return None,
        ImageProtocol::Kitty => kitty_sequence(&media.data, rows),
        ImageProtocol::Iterm => format!(
            "\x1b]1337;File=inline=1;size={};height={rows};preserveAspectRatio=1:{}\x07",
            media.data.len(),
            STANDARD.encode(&media.data)
        ),
    };
    // Scroll first: an image that scrolls the terminal while it is drawn invalidates the saved cursor.
    Some(format!(
        "{}\x1b[{rows}A\x1b7{image}\x1b8\x1b[{rows}B",
        "\n".repeat(rows)
    ))
}

/// The image in chunks, without moving the cursor and without a reply.
fn kitty_sequence(data: &[u8], rows: usize) -> String {
    let text = STANDARD.encode(data);
    let mut out = String::with_capacity(text.len() + 256);
    let mut rest = text.as_str();
    let mut head = format!("a=T,f=100,q=2,C=1,r={rows},");
    loop {
        let (piece, after) = rest.split_at(rest.len().min(CHUNK));
        let more = u8::from(!after.is_empty());
        out.push_str(&format!("\x1b_G{head}m={more};{piece}\x1b\\"));
        if after.is_empty() {
            return out;
        }
        head.clear();
        rest = after;
    }
}

/// Rows for an image in its original size, within limits.
fn rows(width: usize, height: usize) -> usize {
    let columns = (width / PIXELS_PER_COLUMN).clamp(1, MAX_COLUMNS);
    let rows = (columns * height).div_ceil(width * 2);
    rows.clamp(1, MAX_ROWS)
}

/// Width and height of a PNG, JPEG or GIF.
fn size(data: &[u8]) -> Option<(usize, usize)> {
    let at = |offset: usize| data.get(offset).copied().map(usize::from);
    let big = |offset: usize| Some(at(offset)? << 8 | at(offset + 1)?);
    let found = if data.starts_with(b"\x89PNG\r\n\x1a\n") {
        (big(16)? << 16 | big(18)?, big(20)? << 16 | big(22)?)
    } else if data.starts_with(b"GIF8") {
        (at(7)? << 8 | at(6)?, at(9)? << 8 | at(8)?)
    } else if data.starts_with(b"\xff\xd8") {
        let mut offset = 2;
        loop {
            let marker = at(offset + 1).filter(|_| at(offset) == Some(0xff))?;
            // The frame header contains the size; earlier segments are skipped.
            if matches!(marker, 0xc0..=0xcf) && !matches!(marker, 0xc4 | 0xc8 | 0xcc) {
                break (big(offset + 7)?, big(offset + 5)?);
            }
            offset += 2 + big(offset + 2)?;
        }
    } else {
        return None;
    };
    (found.0 > 0 && found.1 > 0).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of a PNG with this size, and additional bytes.
    fn png(width: u32, height: u32, more: usize) -> Media {
        let mut data = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        data.extend(width.to_be_bytes());
        data.extend(height.to_be_bytes());
        data.extend(vec![0; more]);
        Media {
            mime: "image/png".into(),
            name: None,
            data: data.into(),
        }
    }

    #[test]
    fn the_size_is_read_from_each_format() {
        assert_eq!(size(&png(640, 480, 0).data), Some((640, 480)));
        assert_eq!(size(b"GIF89a\x40\x01\xf0\x00"), Some((320, 240)));
        let jpeg = b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0\x00\x11\x08\x00\x10\x00\x20";
        assert_eq!(size(jpeg), Some((32, 16)));
        for broken in [&b"\xff\xd8\xff"[..], b"\x89PNG\r\n\x1a\n", b"text", b""] {
            assert_eq!(size(broken), None);
        }
        assert_eq!(size(&png(0, 5, 0).data), None);
    }

    #[test]
    fn images_take_the_rows_they_need_within_limits() {
        assert_eq!(
            [(9, 18), (90, 90), (4000, 3000), (4000, 10)].map(|(w, h)| rows(w, h)),
            [1, 5, 16, 1]
        );
    }

    #[test]
    fn kitty_gets_a_png_in_chunks() {
        let media = png(90, 90, 6000);
        let text = image_sequence(&media, ImageProtocol::Kitty).unwrap();
        assert!(
            text.starts_with("\n\n\n\n\n\x1b[5A\x1b7\x1b_Ga=T,f=100,q=2,C=1,r=5,m=1;iVBOR"),
            "{text:?}"
        );
        assert!(text.ends_with("\x1b\\\x1b8\x1b[5B"), "{text:?}");
        let pieces: Vec<&str> = text.split("\x1b_G").skip(1).collect();
        assert_eq!(pieces.len(), 2);
        assert!(pieces[1].starts_with("m=0;"));
        let sent: String = pieces
            .iter()
            .map(|piece| piece.split_once(';').unwrap().1.split_once('\x1b').unwrap().0)
            .collect();
        assert_eq!(STANDARD.decode(sent).unwrap(), media.data);
    }

    #[test]
    fn iterm_gets_the_file_and_unsupported_terminals_nothing() {
        let media = png(90, 90, 10);
        let text = image_sequence(&media, ImageProtocol::Iterm).unwrap();
        assert!(
            text.contains("\x1b]1337;File=inline=1;size=34;height=5;preserveAspectRatio=1:iVBOR"),
            "{text:?}"
        );
        assert_eq!(image_sequence(&media, ImageProtocol::None), None);
        let jpeg = Media {
            mime: "image/jpeg".into(),
            name: None,
            data: b"\xff\xd8\xff\xc0\x00\x11\x08\x00\x10\x00\x20".to_vec().into(),
        };
        assert_eq!(image_sequence(&jpeg, ImageProtocol::Kitty), None);
        assert!(image_sequence(&jpeg, ImageProtocol::Iterm).is_some());
    }
}
