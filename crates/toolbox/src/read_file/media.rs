//! Images and PDFs, for models that take them.

use model::{Block, Features, Media};
use tool::Error;
use workspace::Location;

use super::Seen;

/// So many bytes tell what a file is.
pub(super) const SNIFF: usize = 16;
/// What the pickiest vendor takes, base64 included.
const MAX_IMAGE: u64 = 3_750_000;
/// A request of the pickiest vendor holds 32 MB, base64 and all else included.
const MAX_PDF: u64 = 16_000_000;

/// What kind of medium a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Image(&'static str),
    Pdf,
}

impl Kind {
    /// The kinds that models take, by their first bytes.
    pub(super) fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0x89, b'P', b'N', b'G', ..] => Some(Kind::Image("image/png")),
            [0xFF, 0xD8, 0xFF, ..] => Some(Kind::Image("image/jpeg")),
            [b'G', b'I', b'F', b'8', ..] => Some(Kind::Image("image/gif")),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Kind::Image("image/webp")),
            [b'%', b'P', b'D', b'F', b'-', ..] => Some(Kind::Pdf),
            _ => None,
        }
    }
}

/// A medium that was read.
pub(super) struct Medium {
    kind: Kind,
    data: Vec<u8>,
}

impl Medium {
    /// Reads a medium of at most the size that vendors take.
    pub(super) fn read(file: &Location, kind: Kind) -> Result<Self, workspace::Error> {
        let most = match kind {
            Kind::Image(_) => MAX_IMAGE,
            Kind::Pdf => MAX_PDF,
        };
        let data = file.read_bytes(most)?;
        Ok(Medium { kind, data })
    }

    /// Shows it to a model that takes it.
    pub(super) fn show(self, file: &Location, features: Features) -> Result<Seen, Error> {
        let name = file.shown();
        let mime = match self.kind {
            Kind::Image(mime) if features.images => mime,
            Kind::Pdf if features.pdf => "application/pdf",
            Kind::Image(_) => {
                return Err(Error::Failed(format!(
                    "{name} is an image, which this model cannot see"
                )));
            }
            Kind::Pdf => {
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
        Ok(Seen {
            blocks: vec![Block::Media(media)],
            summary,
        })
    }
}
