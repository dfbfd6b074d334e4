//! Which attachments a model can take, and what the person is told of those it cannot.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::Info;

/// What becomes of an attachment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// The model sees it as an image.
    Image,
    /// The model reads it as a PDF document.
    Pdf,
    /// The model cannot take it and is told so in these words.
    LeftOut(String),
}

/// Decides what becomes of an attachment, and adds a notice for the person where it is left out.
pub(crate) fn judge(media: &model::Media, info: &Info, takes_pdf: bool, notices: &mut Vec<String>) -> Media {
    let image = matches!(
        media.mime.as_str(),
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    );
    if image && info.features.images {
        return Media::Image;
    }
    if media.is_pdf() && info.features.pdf && takes_pdf {
        return Media::Pdf;
    }
    let kind = match (image, media.is_pdf()) {
        (true, _) => "images",
        (_, true) => "PDF documents",
        (false, false) => media.mime.as_str(),
    };
    let name = media.name.as_deref().unwrap_or("an attachment");
    notices.push(format!("{name} was left out: {} cannot take {kind}", info.name()));
    Media::LeftOut(format!("[{name} was left out: this model cannot take {kind}]"))
}

/// The bytes as a data URL.
pub(crate) fn data_url(media: &model::Media) -> String {
    let mut url = format!("data:{};base64,", media.mime);
    STANDARD.encode_string(&media.data, &mut url);
    url
}
