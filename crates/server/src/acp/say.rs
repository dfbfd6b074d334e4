//! What an editor says in a prompt, as a message to the model.

use std::path::{Path, PathBuf};

use acp::schema::{ContentBlock, EmbeddedResourceResource, Error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Media, Message, Part, Role};
use serde_json::Value;

/// More text of one embedded resource is cut.
const MOST: usize = 200_000;

/// The message that a prompt stands for. Text and links are one text, in their order: that is how a person wrote them.
pub(super) fn message(blocks: Vec<ContentBlock>, root: &Path) -> Result<Message, Error> {
    let (mut text, mut behind, mut media) = (String::new(), Vec::new(), Vec::new());
    for block in blocks {
        match block {
            ContentBlock::Text(said) => text.push_str(&said.text),
            ContentBlock::ResourceLink(link) => {
                // A mention begins where a word may begin.
                if !text.is_empty() && !text.ends_with(char::is_whitespace) {
                    text.push(' ');
                }
                text.push_str(&mention(&link.uri, &link.name, root));
            }
            ContentBlock::Image(image) => media.push(Part::Media(Media {
                data: decoded(&image.data)?.into(),
                mime: image.mime_type,
                name: None,
            })),
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(resource) => {
                    // No mention: what the editor shows counts, not what is on disk.
                    text.push_str(&format!("`{}`", name_of(&resource.uri)));
                    behind.push(quoted(&resource.uri, &resource.text, root));
                }
                EmbeddedResourceResource::BlobResourceContents(resource) => {
                    let mime = resource.mime_type.unwrap_or_default();
                    if !(mime.starts_with("image/") || mime == "application/pdf") {
                        return Err(wrong(format!(
                            "`{mime}` cannot be shown to a model; send text, an image or a PDF"
                        )));
                    }
                    media.push(Part::Media(Media {
                        data: decoded(&resource.blob)?.into(),
                        mime,
                        name: Some(name_of(&resource.uri)),
                    }));
                }
                _ => return Err(wrong("a resource of this kind is not understood")),
            },
            ContentBlock::Audio(_) => return Err(wrong("hew does not take audio")),
            _ => return Err(wrong("content of this kind is not understood")),
        }
    }
    let parts = Some(text).filter(|text| !text.trim().is_empty()).map(Part::text);
    let parts: Vec<Part> = parts
        .into_iter()
        .chain(behind.into_iter().map(Part::text))
        .chain(media)
        .collect();
    match parts.is_empty() {
        true => Err(wrong("the prompt is empty")),
        false => Ok(Message {
            role: Role::User,
            parts,
        }),
    }
}

/// How a link is written in a prompt: files the way people mention them, so that the model gets what is in them.
fn mention(uri: &str, name: &str, root: &Path) -> String {
    match file(uri) {
        Some((path, lines)) => {
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            let path = path.replace(' ', "\\ ");
            format!("@{path}{}", lines.map(|lines| format!(":{lines}")).unwrap_or_default())
        }
        None if name.is_empty() || name == uri => uri.to_owned(),
        None => format!("[{name}]({uri})"),
    }
}

/// The file that an address names, and the lines of it.
fn file(uri: &str) -> Option<(PathBuf, Option<String>)> {
    let path = uri.strip_prefix("file://")?;
    let (path, fragment) = path
        .split_once('#')
        .map_or((path, None), |(path, rest)| (path, Some(rest)));
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    let lines = fragment.and_then(|text| {
        let text = text.replace('L', "").replace(':', "-");
        let plain = !text.is_empty() && text.chars().all(|it| it.is_ascii_digit() || it == '-');
        plain.then_some(text)
    });
    Some((PathBuf::from(unescaped(path)), lines))
}

/// `%20` and the like, read as bytes.
fn unescaped(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while let Some(byte) = bytes.get(at) {
        let code = match (byte, text.get(at + 1..at + 3)) {
            (b'%', Some(digits)) => u8::from_str_radix(digits, 16).ok(),
            _ => None,
        };
        plain.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn name_of(uri: &str) -> String {
    uri.rsplit('/').next().unwrap_or(uri).to_owned()
}

/// What an editor embeds, such as a buffer that is not saved.
fn quoted(uri: &str, text: &str, root: &Path) -> String {
    let place = match file(uri) {
        Some((path, lines)) => {
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            format!("{path}{}", lines.map(|lines| format!(":{lines}")).unwrap_or_default())
        }
        None => uri.to_owned(),
    };
    let end = text.floor_char_boundary(MOST.min(text.len()));
    let cut = match text.len() - end {
        0 => String::new(),
        left => format!("\n[{left} bytes left out]"),
    };
    format!(
        "<context>\n<resource uri=\"{place}\">\n{}{cut}\n</resource>\n</context>",
        &text[..end]
    )
}

fn decoded(data: &str) -> Result<Vec<u8>, Error> {
    STANDARD
        .decode(data)
        .map_err(|error| wrong(format!("the data is not base64: {error}")))
}

fn wrong(why: impl Into<String>) -> Error {
    Error::invalid_params().data(Value::from(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(blocks: Value) -> Result<Message, Error> {
        message(serde_json::from_value(blocks).unwrap(), Path::new("/p"))
    }

    #[test]
    fn links_become_mentions_in_their_place() {
        let message = said(json!([
            {"type": "text", "text": "Look at "},
            {"type": "resource_link", "uri": "file:///p/src/a%20b.rs#L3-9", "name": "a b.rs"},
            {"type": "text", "text": " and "},
            {"type": "resource_link", "uri": "https://example.org/x", "name": "x"},
        ]));
        assert_eq!(
            message.unwrap().text(),
            "Look at @src/a\\ b.rs:3-9 and [x](https://example.org/x)"
        );
    }

    #[test]
    fn what_is_embedded_stands_behind_and_counts_as_no_word_of_the_person() {
        let message = said(json!([
            {"type": "text", "text": "Explain "},
            {"type": "resource", "resource": {"uri": "file:///p/a.rs", "text": "fn a() {}"}},
            {"type": "image", "mimeType": "image/png", "data": "AQID"},
        ]))
        .unwrap();
        assert_eq!(session::spoken(&message), "Explain `a.rs`");
        assert!(message.text().contains("<resource uri=\"a.rs\">\nfn a() {}"));
        assert!(matches!(&message.parts[2], Part::Media(media) if media.data[..] == [1, 2, 3]));
    }

    #[test]
    fn what_cannot_be_taken_is_named() {
        for (blocks, why) in [
            (json!([]), "empty"),
            (json!([{"type": "audio", "mimeType": "audio/wav", "data": ""}]), "audio"),
            (
                json!([{"type": "image", "mimeType": "image/png", "data": "%"}]),
                "base64",
            ),
            (
                json!([{"type": "resource", "resource": {"uri": "x:y", "blob": "AA==", "mimeType": "x/y"}}]),
                "`x/y`",
            ),
        ] {
            let error = said(blocks).unwrap_err();
            assert!(error.data.unwrap().as_str().unwrap().contains(why), "{why}");
        }
    }
}
