//! Converts an editor's prompt to a message for the model.

use std::path::{Path, PathBuf};

use acp::schema::{ContentBlock, EmbeddedResourceResource, Error};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Media, Message, Part, PartOrigin, Role};
use serde_json::Value;

/// Maximum bytes of an embedded resource.
const MAX_EMBEDDED: usize = 200_000;

/// Converts a prompt. Text and links become one text in their order, as the user wrote them.
pub(super) fn prompt_message(blocks: Vec<ContentBlock>, root: &Path) -> Result<Message, Error> {
    let (mut text, mut behind, mut media) = (String::new(), Vec::new(), Vec::new());
    let mut after_link = false;
    for block in blocks {
        match block {
            ContentBlock::Text(content) => {
                if after_link && joins_word(&content.text) {
                    text.push(' ');
                }
                text.push_str(&content.text);
                after_link = after_link && content.text.is_empty();
            }
            ContentBlock::ResourceLink(link) => {
                push_word(&mut text, &mention(&link.uri, &link.name, root));
                after_link = true;
            }
            ContentBlock::Image(image) => media.push(Part::Media(Media {
                data: decoded(&image.data)?.into(),
                mime: image.mime_type,
                name: None,
            })),
            ContentBlock::Resource(embedded) => match embedded.resource {
                EmbeddedResourceResource::TextResourceContents(resource) => {
                    // Not a mention: the editor's text applies, not the file on disk.
                    push_word(&mut text, &format!("`{}`", name_of(&resource.uri)));
                    after_link = true;
                    behind.push(embedded_text(&resource.uri, &resource.text, root));
                }
                EmbeddedResourceResource::BlobResourceContents(resource) => {
                    let mime = resource.mime_type.unwrap_or_default();
                    if !(mime.starts_with("image/") || mime == "application/pdf") {
                        return Err(invalid_params(format!(
                            "`{mime}` cannot be shown to a model; send text, an image or a PDF"
                        )));
                    }
                    media.push(Part::Media(Media {
                        data: decoded(&resource.blob)?.into(),
                        mime,
                        name: Some(name_of(&resource.uri)),
                    }));
                }
                _ => return Err(invalid_params("unsupported kind of resource")),
            },
            ContentBlock::Audio(_) => return Err(invalid_params("audio is not supported")),
            _ => return Err(invalid_params("unsupported kind of content")),
        }
    }
    let parts = Some(text).filter(|text| !text.trim().is_empty()).map(Part::text);
    let parts: Vec<Part> = parts
        .into_iter()
        .chain(
            behind
                .into_iter()
                .map(|text| Part::with_origin(text, PartOrigin::Mention)),
        )
        .chain(media)
        .collect();
    match parts.is_empty() {
        true => Err(invalid_params("the prompt is empty")),
        false => Ok(Message {
            role: Role::User,
            parts,
        }),
    }
}

/// Appends a mention, which must begin a word.
fn push_word(text: &mut String, word: &str) {
    if !text.is_empty() && !text.ends_with(char::is_whitespace) {
        text.push(' ');
    }
    text.push_str(word);
}

/// Whether a text after a mention would become part of it: all but spaces, and punctuation at the end of a word.
fn joins_word(text: &str) -> bool {
    let rest = text.trim_start_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}', '"', '\'']);
    !rest.is_empty() && !rest.starts_with(char::is_whitespace)
}

/// A link as text: files as mentions, so that the model gets their content.
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

/// The path of a file URL, or of a plain path.
pub(super) fn file_path(uri: &str) -> PathBuf {
    file(uri).map_or_else(|| uri.into(), |(path, _)| path)
}

/// The path and lines of a file URL.
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
    Some((PathBuf::from(percent_decoded(path)), lines))
}

/// Decodes percent escapes.
fn percent_decoded(text: &str) -> String {
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

/// An embedded resource, such as an unsaved buffer.
fn embedded_text(uri: &str, text: &str, root: &Path) -> String {
    let place = match file(uri) {
        Some((path, lines)) => {
            let path = path.strip_prefix(root).unwrap_or(&path).display().to_string();
            format!("{path}{}", lines.map(|lines| format!(":{lines}")).unwrap_or_default())
        }
        None => uri.to_owned(),
    };
    let end = text.floor_char_boundary(MAX_EMBEDDED.min(text.len()));
    let cut = match text.len() - end {
        0 => String::new(),
        left => format!("\n[{left} bytes omitted]"),
    };
    format!(
        "<context>\n<resource uri=\"{place}\">\n{}{cut}\n</resource>\n</context>",
        &text[..end]
    )
}

fn decoded(data: &str) -> Result<Vec<u8>, Error> {
    STANDARD
        .decode(data)
        .map_err(|error| invalid_params(format!("the data is not base64: {error}")))
}

fn invalid_params(why: impl Into<String>) -> Error {
    Error::invalid_params().data(Value::from(why.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn content(blocks: Value) -> Result<Message, Error> {
        prompt_message(serde_json::from_value(blocks).unwrap(), Path::new("/p"))
    }

    #[test]
    fn links_become_mentions_in_place() {
        let message = content(json!([
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
    fn links_are_separated_from_the_text_around_them() {
        let link = json!({"type": "resource_link", "uri": "file:///p/a.txt", "name": "a.txt"});
        let embedded = json!({"type": "resource", "resource": {"uri": "file:///p/a.txt", "text": "x"}});
        let text = |text: &str| json!({"type": "text", "text": text});
        for (blocks, expected) in [
            (vec![link.clone(), text("please")], "@a.txt please"),
            (vec![text("See"), link.clone(), text("now")], "See @a.txt now"),
            (vec![link.clone(), text(""), text("please")], "@a.txt please"),
            (vec![link.clone(), text(" please")], "@a.txt please"),
            (vec![link.clone(), text("\nplease")], "@a.txt\nplease"),
            (vec![link.clone(), text(", please")], "@a.txt, please"),
            (vec![text("See "), link.clone(), text(".")], "See @a.txt."),
            (vec![link.clone(), text(".bak")], "@a.txt .bak"),
            (vec![link.clone(), link.clone()], "@a.txt @a.txt"),
            (vec![text("See"), embedded, text("now")], "See `a.txt` now"),
        ] {
            let message = content(Value::from(blocks)).unwrap();
            assert_eq!(session::user_text(&message), expected);
        }
    }

    #[test]
    fn embedded_resources_follow_the_text_and_are_not_user_text() {
        let message = content(json!([
            {"type": "text", "text": "Explain "},
            {"type": "resource", "resource": {"uri": "file:///p/a.rs", "text": "fn a() {}"}},
            {"type": "image", "mimeType": "image/png", "data": "AQID"},
        ]))
        .unwrap();
        assert_eq!(session::user_text(&message), "Explain `a.rs`");
        assert!(message.text().contains("<resource uri=\"a.rs\">\nfn a() {}"));
        assert!(matches!(&message.parts[2], Part::Media(media) if media.data[..] == [1, 2, 3]));
    }

    #[test]
    fn unsupported_content_is_named() {
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
            let error = content(blocks).unwrap_err();
            assert!(error.data.unwrap().as_str().unwrap().contains(why), "{why}");
        }
    }
}
