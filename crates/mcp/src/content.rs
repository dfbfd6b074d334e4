//! Converts responses of servers to blocks for the model.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Features, Media};
use rmcp::model::{CallToolResult, ContentBlock, PromptMessage, ResourceContents, Role};
use serde_json::Value;
use tool::{Error, Output};

/// Maximum size of an image or document, in bytes.
const MAX_MEDIA_BYTES: usize = 5 * 1024 * 1024;
/// Maximum number of images and documents in one response.
const MAX_MEDIA_BLOCKS: usize = 10;
/// Image types that vendors accept.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// Converts the result of a tool.
pub(crate) fn tool_output(result: CallToolResult, features: Features) -> Result<Output, Error> {
    let mut blocks = blocks(result.content, features);
    if let Some(structured) = result.structured_content
        && !is_repeated(&blocks, &structured)
    {
        blocks.push(Block::text(structured.to_string()));
    }
    if result.is_error == Some(true) {
        let texts = blocks.iter().filter_map(|block| match block {
            Block::Text { text } => Some(text.as_str()),
            Block::Media(_) => None,
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        return Err(Error::Failed(match text.is_empty() {
            true => "the tool failed without a message".into(),
            false => text,
        }));
    }
    if blocks.is_empty() {
        blocks.push(Block::text("(no output)"));
    }
    Ok(Output {
        content: blocks,
        ..Output::default()
    })
}

/// Converts the content of a resource.
pub(crate) fn resource(contents: Vec<ResourceContents>, features: Features) -> Vec<Block> {
    let many = contents.len() > 1;
    let mut media = 0;
    let mut blocks = Vec::new();
    for content in contents {
        blocks.extend(resource_blocks(content, many, features, &mut media));
    }
    if blocks.is_empty() {
        blocks.push(Block::text("(empty)"));
    }
    blocks
}

/// Joins the messages of a prompt into one text, for the user's next prompt.
pub(crate) fn prompt(messages: Vec<PromptMessage>) -> String {
    let only = messages.len() == 1;
    let none = Features {
        tools: true,
        parallel_tools: true,
        images: false,
        pdf: false,
        reasoning: false,
        caching: false,
    };
    let texts = messages.into_iter().map(|message| {
        let texts = blocks(vec![message.content], none);
        let texts: Vec<String> = texts.into_iter().map(block_text).collect();
        match (only, message.role) {
            (true, _) | (_, Role::User) => texts.join("\n"),
            (false, _) => format!("[assistant] {}", texts.join("\n")),
        }
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn block_text(block: Block) -> String {
    match block {
        Block::Text { text } => text,
        Block::Media(media) => format!("[{}]", media.mime),
    }
}

fn blocks(content: Vec<ContentBlock>, features: Features) -> Vec<Block> {
    let mut media = 0;
    let mut blocks = Vec::new();
    for block in content {
        match block {
            ContentBlock::Text(text) => blocks.push(Block::text(text.text)),
            ContentBlock::Image(image) => {
                blocks.push(media_block(&image.mime_type, &image.data, None, features, &mut media));
            }
            ContentBlock::Audio(audio) => {
                blocks.push(Block::text(format!("[audio, {}: not supported]", audio.mime_type)));
            }
            ContentBlock::Resource(embedded) => {
                blocks.extend(resource_blocks(embedded.resource, true, features, &mut media));
            }
            ContentBlock::ResourceLink(link) => {
                let about = link.description.or(link.title).unwrap_or(link.name);
                blocks.push(Block::text(format!("[resource {}: {about}]", link.uri)));
            }
            // Unknown content types are at least named.
            other => blocks.push(Block::text(format!("[{other:.200?}]"))),
        }
    }
    blocks
}

fn resource_blocks(content: ResourceContents, named: bool, features: Features, media: &mut usize) -> Vec<Block> {
    match content {
        ResourceContents::TextResourceContents { uri, text, .. } => match named {
            true => vec![Block::text(format!("[{uri}]\n{text}"))],
            false => vec![Block::text(text)],
        },
        ResourceContents::BlobResourceContents {
            uri, mime_type, blob, ..
        } => {
            let mime = mime_type.unwrap_or_else(|| "application/octet-stream".into());
            vec![media_block(&mime, &blob, Some(uri), features, media)]
        }
        other => vec![Block::text(format!("[{other:.200?}]"))],
    }
}

/// Converts an image or document; if that is not possible, describes it.
fn media_block(mime: &str, data: &str, name: Option<String>, features: Features, media: &mut usize) -> Block {
    let kind = match mime {
        "application/pdf" if features.pdf => true,
        mime => IMAGES.contains(&mime) && features.images,
    };
    let size = data.len() / 4 * 3;
    let note = |why: &str| {
        let name = name.as_deref().map(|name| format!(" {name}")).unwrap_or_default();
        Block::text(format!("[{mime}{name}, {size} bytes: {why}]"))
    };
    if !kind {
        return note("omitted, because the model does not support it");
    }
    if size > MAX_MEDIA_BYTES || *media >= MAX_MEDIA_BLOCKS {
        return note("omitted, because it is too large");
    }
    let clean: String = data.chars().filter(|letter| !letter.is_whitespace()).collect();
    match STANDARD.decode(clean) {
        Ok(bytes) => {
            *media += 1;
            Block::Media(Media {
                mime: mime.to_owned(),
                name,
                data: bytes.into(),
            })
        }
        Err(_) => note("damaged"),
    }
}

/// Whether a text block repeats the structured content, as the protocol recommends.
fn is_repeated(blocks: &[Block], structured: &Value) -> bool {
    structured.is_null()
        || blocks.iter().any(|block| match block {
            Block::Text { text } => {
                serde_json::from_str::<Value>(text).is_ok_and(|value| {
                    value == *structured || structured.get("result").is_some_and(|result| *result == value)
                }) || structured.get("result").and_then(Value::as_str) == Some(text)
            }
            Block::Media(_) => false,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn features(images: bool) -> Features {
        Features {
            tools: true,
            parallel_tools: true,
            images,
            pdf: false,
            reasoning: false,
            caching: false,
        }
    }

    fn answer(value: Value, images: bool) -> Result<Vec<String>, String> {
        let result: CallToolResult = serde_json::from_value(value).unwrap();
        let output = tool_output(result, features(images)).map_err(|error| error.to_string())?;
        let shown = output.content.into_iter().map(|block| match block {
            Block::Text { text } => text,
            Block::Media(media) => format!("{} of {} bytes", media.mime, media.data.len()),
        });
        Ok(shown.collect())
    }

    #[test]
    fn every_kind_of_content_reaches_the_model_or_is_named() {
        let content = json!({"content": [
            {"type": "text", "text": "hello"},
            {"type": "image", "mimeType": "image/png", "data": "aGk="},
            {"type": "audio", "mimeType": "audio/wav", "data": "aGk="},
            {"type": "resource", "resource": {"uri": "a://b", "text": "inside"}},
            {"type": "resource", "resource": {"uri": "a://c", "mimeType": "x/y", "blob": "aGk="}},
            {"type": "resource_link", "uri": "a://d", "name": "dee"},
        ], "structuredContent": {"n": 1}});
        assert_eq!(
            answer(content.clone(), true).unwrap(),
            [
                "hello",
                "image/png of 2 bytes",
                "[audio, audio/wav: not supported]",
                "[a://b]\ninside",
                "[x/y a://c, 3 bytes: omitted, because the model does not support it]",
                "[resource a://d: dee]",
                "{\"n\":1}",
            ]
        );
        let without = answer(content, false).unwrap();
        assert_eq!(
            without[1],
            "[image/png, 3 bytes: omitted, because the model does not support it]"
        );
    }

    #[test]
    fn structured_content_is_not_repeated_and_errors_are_errors() {
        let twice = json!({"content": [{"type": "text", "text": "{\"n\": 1}"}], "structuredContent": {"n": 1}});
        assert_eq!(answer(twice, false).unwrap(), ["{\"n\": 1}"]);
        assert_eq!(answer(json!({"content": []}), false).unwrap(), ["(no output)"]);
        let failed = json!({"content": [{"type": "text", "text": "no such city"}], "isError": true});
        assert_eq!(answer(failed, false).unwrap_err(), "no such city");
        let silent = json!({"content": [], "isError": true});
        assert!(answer(silent, false).unwrap_err().contains("without a message"));
        let damaged = json!({"content": [{"type": "image", "mimeType": "image/png", "data": "*"}]});
        assert_eq!(answer(damaged, true).unwrap(), ["[image/png, 0 bytes: damaged]"]);
    }
}
