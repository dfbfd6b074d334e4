//! What servers answer, as blocks for the model.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use model::{Block, Features, Media};
use rmcp::model::{CallToolResult, ContentBlock, PromptMessage, ResourceContents, Role};
use serde_json::Value;
use tool::{Error, Output};

/// The largest image or document that is passed on, in bytes.
const MOST_MEDIA: usize = 5 * 1024 * 1024;
/// Images and documents of one answer.
const MOST_MEDIA_BLOCKS: usize = 10;
/// What vendors take as images.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The answer of a tool.
pub(crate) fn output(result: CallToolResult, features: Features) -> Result<Output, Error> {
    let mut blocks = blocks(result.content, features);
    if let Some(structured) = result.structured_content
        && !repeats(&blocks, &structured)
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
            true => "the tool failed and did not say why".into(),
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

/// What a resource holds.
pub(crate) fn resource(contents: Vec<ResourceContents>, features: Features) -> Vec<Block> {
    let many = contents.len() > 1;
    let mut media = 0;
    let mut blocks = Vec::new();
    for content in contents {
        blocks.extend(held(content, many, features, &mut media));
    }
    if blocks.is_empty() {
        blocks.push(Block::text("(empty)"));
    }
    blocks
}

/// The messages of a prompt as one text, for the person's next prompt.
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
        let said = blocks(vec![message.content], none);
        let said: Vec<String> = said.into_iter().map(words).collect();
        match (only, message.role) {
            (true, _) | (_, Role::User) => said.join("\n"),
            (false, _) => format!("[assistant] {}", said.join("\n")),
        }
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

fn words(block: Block) -> String {
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
                blocks.push(picture(&image.mime_type, &image.data, None, features, &mut media));
            }
            ContentBlock::Audio(audio) => {
                blocks.push(Block::text(format!("[audio, {}: not passed on]", audio.mime_type)));
            }
            ContentBlock::Resource(embedded) => {
                blocks.extend(held(embedded.resource, true, features, &mut media));
            }
            ContentBlock::ResourceLink(link) => {
                let about = link.description.or(link.title).unwrap_or(link.name);
                blocks.push(Block::text(format!("[resource {}: {about}]", link.uri)));
            }
            // The protocol grows; what is new is at least named.
            other => blocks.push(Block::text(format!("[{other:.200?}]"))),
        }
    }
    blocks
}

fn held(content: ResourceContents, named: bool, features: Features, media: &mut usize) -> Vec<Block> {
    match content {
        ResourceContents::TextResourceContents { uri, text, .. } => match named {
            true => vec![Block::text(format!("[{uri}]\n{text}"))],
            false => vec![Block::text(text)],
        },
        ResourceContents::BlobResourceContents {
            uri, mime_type, blob, ..
        } => {
            let mime = mime_type.unwrap_or_else(|| "application/octet-stream".into());
            vec![picture(&mime, &blob, Some(uri), features, media)]
        }
        other => vec![Block::text(format!("[{other:.200?}]"))],
    }
}

/// An image or a document, or what can be said of it.
fn picture(mime: &str, data: &str, name: Option<String>, features: Features, media: &mut usize) -> Block {
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
        return note("not passed on, because the model does not take it");
    }
    if size > MOST_MEDIA || *media >= MOST_MEDIA_BLOCKS {
        return note("too large to pass on");
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

/// Whether the text says already what the structured content says, as the protocol asks servers to do.
fn repeats(blocks: &[Block], structured: &Value) -> bool {
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
        let output = output(result, features(images)).map_err(|error| error.to_string())?;
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
                "[audio, audio/wav: not passed on]",
                "[a://b]\ninside",
                "[x/y a://c, 3 bytes: not passed on, because the model does not take it]",
                "[resource a://d: dee]",
                "{\"n\":1}",
            ]
        );
        let without = answer(content, false).unwrap();
        assert_eq!(
            without[1],
            "[image/png, 3 bytes: not passed on, because the model does not take it]"
        );
    }

    #[test]
    fn structured_content_is_not_said_twice_and_errors_are_errors() {
        let twice = json!({"content": [{"type": "text", "text": "{\"n\": 1}"}], "structuredContent": {"n": 1}});
        assert_eq!(answer(twice, false).unwrap(), ["{\"n\": 1}"]);
        assert_eq!(answer(json!({"content": []}), false).unwrap(), ["(no output)"]);
        let failed = json!({"content": [{"type": "text", "text": "no such city"}], "isError": true});
        assert_eq!(answer(failed, false).unwrap_err(), "no such city");
        let silent = json!({"content": [], "isError": true});
        assert!(answer(silent, false).unwrap_err().contains("did not say why"));
        let damaged = json!({"content": [{"type": "image", "mimeType": "image/png", "data": "*"}]});
        assert_eq!(answer(damaged, true).unwrap(), ["[image/png, 0 bytes: damaged]"]);
    }
}
