//! Files that are attached to a prompt.

use crate::failure::{Failure, Result};
use model::{Media, Part, PartOrigin};
use std::io::Read as _;
use std::path::Path;

/// The maximum size of text from stdin or an attached file.
pub const MAX_TEXT_BYTES: u64 = 4 << 20;
/// The maximum size of an attached image or document; vendors accept less.
const MAX_MEDIA_BYTES: u64 = 32 << 20;

/// A file as a part of a message: an image, a document or text.
pub fn attach(path: &Path) -> Result<Part> {
    let refuse = |error: &std::io::Error| Failure::file("attach", path, error);
    let file = std::fs::File::open(path).map_err(|error| refuse(&error))?;
    let mut bytes = Vec::new();
    file.take(MAX_MEDIA_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| refuse(&error))?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
    if let Some(mime) = media_type(&bytes) {
        if bytes.len() as u64 > MAX_MEDIA_BYTES {
            return Err(Failure::usage(format!("{} is larger than 32 MB", path.display())));
        }
        return Ok(Part::Media(Media {
            mime: mime.into(),
            name,
            data: bytes.into(),
        }));
    }
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return Err(Failure::usage(format!("{} is larger than 4 MB", path.display()))
            .hint("ask hew to look at the file instead of attaching it"));
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let text = format!(
                "<file path=\"{}\">\n{}\n</file>",
                path.display(),
                text.trim_end_matches('\n')
            );
            Ok(Part::with_origin(text, PartOrigin::Attachment))
        }
        Err(_) => Err(
            Failure::usage(format!("{} is neither text, an image nor a PDF", path.display()))
                .hint("PNG, JPEG, GIF, WebP, PDF and UTF-8 text can be attached"),
        ),
    }
}

fn media_type(bytes: &[u8]) -> Option<&'static str> {
    Some(match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_is_classified_by_its_bytes() {
        let temp = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| {
            let path = temp.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            path
        };
        let Part::Media(media) = attach(&write("wrong.txt", b"\x89PNG\r\n\x1a\nrest")).unwrap() else {
            panic!("not media")
        };
        assert_eq!(
            (media.mime.as_str(), media.name.as_deref()),
            ("image/png", Some("wrong.txt"))
        );
        let path = write("a.rs", b"fn main() {}\n");
        let text = format!("<file path=\"{}\">\nfn main() {{}}\n</file>", path.display());
        assert_eq!(attach(&path).unwrap(), Part::with_origin(text, PartOrigin::Attachment));
        assert!(attach(&write("b.bin", b"\xff\xfe\x00")).is_err());
        assert!(
            attach(&temp.path().join("missing"))
                .unwrap_err()
                .message
                .contains("missing: No such file")
        );
    }
}
