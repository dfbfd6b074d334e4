//! Images and PDFs, for models that support them.

use model::{Block, Features, Media};
use tool::Error;
use workspace::Location;

use super::FileView;

/// Bytes needed to detect the file type.
pub(crate) const SNIFF: usize = 16;
/// The strictest vendor limit, including base64.
const MAX_IMAGE: u64 = 3_750_000;
/// The strictest vendor limit is 32 MB per request, including base64 and everything else.
const MAX_PDF: u64 = 16_000_000;

/// A media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MediaKind {
    Image(&'static str),
    Pdf,
}

impl MediaKind {
    /// Detects supported types by their first bytes.
    pub(crate) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', ..] => Some(MediaKind::Image("image/png")),
            [0xFF, 0xD8, 0xFF, ..] => Some(MediaKind::Image("image/jpeg")),
            [b'G', b'I', b'F', b'8', ..] => Some(MediaKind::Image("image/gif")),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(MediaKind::Image("image/webp")),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(MediaKind::Pdf),
            _ => None,
        }
    }
}

/// A media file.
pub(crate) struct MediaFile {
    kind: MediaKind,
    data: Vec<u8>,
}

impl MediaFile {
    /// Reads a file, up to the vendor limit.
    pub(crate) fn read(file: &Location, kind: MediaKind) -> Result<Self, workspace::Error> {
        let most = match kind {
            MediaKind::Image(_) => MAX_IMAGE,
            MediaKind::Pdf => MAX_PDF,
        };
        let data = file.read_bytes(most)?;
        Ok(MediaFile { kind, data })
    }

    /// The result for a model that supports the type.
    pub(crate) fn show(self, file: &Location, features: Features) -> Result<FileView, Error> {
        let name = file.shown();
        let mime = match self.kind {
            MediaKind::Image(mime) if features.images => mime,
            MediaKind::Pdf if features.pdf => "application/pdf",
            MediaKind::Image(_) => {
                return Err(Error::Failed(format!(
                    "{name} is an image, which this model cannot see"
                )));
            }
            MediaKind::Pdf => {
                return Err(Error::Failed(format!(
                    "{name} is a PDF, which this model cannot read; take out its text with terminal, as with pdftotext"
                )));
            }
        };
        let summary = format!("{mime}, {} bytes", self.data.len());
        let file_name = file.path().file_name().map(|name| name.to_string_lossy().into_owned());
        let media = Media {
            mime: mime.to_owned(),
            name: file_name,
            data: self.data.into(),
        };
        Ok(FileView {
            blocks: vec![Block::Media(media)],
            summary,
        })
    }
}
