//! Decides which attachments a model supports and creates notices about the others.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::Info;

/// How an attachment is sent.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MediaSupport {
    /// As an image.
    Image,
    /// As a PDF document.
    Pdf,
    /// Not supported; this text is sent instead.
    Unsupported(String),
}

/// Decides how an attachment is sent, and adds a notice for the user if it is omitted.
pub(crate) fn media_support(
    media: &model::Media,
    info: &Info,
    takes_pdf: bool,
    notices: &mut Vec<String>,
) -> MediaSupport {
    let image = matches!(
        media.mime.as_str(),
        "image/png" | "image/jpeg" | "image/gif" | "image/webp"
    );
    if image && info.features.images {
        return MediaSupport::Image;
    }
    if media.is_pdf() && info.features.pdf && takes_pdf {
        return MediaSupport::Pdf;
    }
    let kind = match (image, media.is_pdf()) {
        (true, _) => "images",
        (_, true) => "PDF documents",
        (false, false) => media.mime.as_str(),
    };
    let name = media.name.as_deref().unwrap_or("an attachment");
    notices.push(format!("{name} was left out: {} cannot take {kind}", info.name()));
    MediaSupport::Unsupported(format!("[{name} was left out: this model cannot take {kind}]"))
}

/// The bytes as a data URL.
pub(crate) fn data_url(media: &model::Media) -> String {
    let mut url = format!("data:{};base64,", media.mime);
    STANDARD.encode_string(&media.data, &mut url);
    url
}
