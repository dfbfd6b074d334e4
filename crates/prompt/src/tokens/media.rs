//! Estimates the tokens of images and documents by the vendors' published rules.

use super::TokenizerFamily;
use model::Media;

/// Used for an image of unknown size.
const UNKNOWN: u64 = 1_500;
/// Bytes per token of a document; its pages are sent as text and images.
const DOCUMENT_BYTES: u64 = 8;

/// Estimates the tokens of an image or a document.
pub(super) fn tokens(family: TokenizerFamily, media: &Media) -> u64 {
    if media.is_pdf() {
        return (media.data.len() as u64).div_ceil(DOCUMENT_BYTES).max(UNKNOWN);
    }
    match (size(&media.data), family) {
        (None, _) => UNKNOWN,
        (Some((width, height)), TokenizerFamily::O200k | TokenizerFamily::Cl100k | TokenizerFamily::Other) => {
            tiles(width, height)
        }
        (Some((width, height)), TokenizerFamily::Claude) => area(width, height),
        // Tiles of 768 by 768 pixels.
        (Some((width, height)), TokenizerFamily::Gemini) => {
            258 * width.div_ceil(768).max(1) * height.div_ceil(768).max(1)
        }
    }
}

/// OpenAI: fit into 2,048 pixels square, scale the short side to 768, then 170 per tile of 512, plus 85.
fn tiles(width: u64, height: u64) -> u64 {
    let (mut width, mut height) = (width.max(1), height.max(1));
    let long = width.max(height);
    if long > 2_048 {
        (width, height) = (width * 2_048 / long, height * 2_048 / long);
    }
    let short = width.min(height).max(1);
    if short > 768 {
        (width, height) = (width * 768 / short, height * 768 / short);
    }
    85 + 170 * width.div_ceil(512).max(1) * height.div_ceil(512).max(1)
}

/// Anthropic: one token per 750 pixels, after scaling the long side to 1,568.
fn area(width: u64, height: u64) -> u64 {
    let (mut width, mut height) = (width.max(1), height.max(1));
    let long = width.max(height);
    if long > 1_568 {
        (width, height) = (width * 1_568 / long, height * 1_568 / long);
    }
    (width * height).div_ceil(750).clamp(1, 1_600)
}

/// The width and height of a PNG, GIF or JPEG image.
fn size(data: &[u8]) -> Option<(u64, u64)> {
    let big = |at: usize, bytes: usize| -> Option<u64> {
        let field = data.get(at..at + bytes)?;
        Some(field.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    };
    if data.starts_with(b"\x89PNG") {
        return Some((big(16, 4)?, big(20, 4)?));
    }
    if data.starts_with(b"GIF8") {
        let little = |at: usize| Some(u64::from(*data.get(at)?) | u64::from(*data.get(at + 1)?) << 8);
        return Some((little(6)?, little(8)?));
    }
    if !data.starts_with(b"\xff\xd8") {
        return None;
    }
    // JPEG: skip segments up to the start of a frame.
    let mut at = 2;
    loop {
        match (data.get(at)?, data.get(at + 1)?) {
            (0xff, 0xff) => at += 1,
            (0xff, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf) => {
                return Some((big(at + 7, 2)?, big(at + 5, 2)?));
            }
            (0xff, _) => at += 2 + usize::try_from(big(at + 2, 2)?.max(2)).ok()?,
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_costs_what_its_pixels_cost() {
        let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        png.extend([0, 0, 4, 0, 0, 0, 4, 0]);
        assert_eq!(size(&png), Some((1024, 1024)));
        let jpeg = [
            0xff, 0xd8, 0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xc0, 0, 17, 8, 0, 64, 0, 128, 3,
        ];
        assert_eq!(size(&jpeg), Some((128, 64)));
        assert_eq!(size(b"GIF89a\x10\x00\x20\x00"), Some((16, 32)));
        assert_eq!(size(b"whatever"), None);
        for (width, height, openai, anthropic) in [
            (1024, 1024, 765, 1_399),
            (512, 512, 255, 350),
            (4096, 2048, 1105, 1_600),
        ] {
            assert_eq!(
                (tiles(width, height), area(width, height)),
                (openai, anthropic),
                "{width}x{height}"
            );
        }
    }
}
