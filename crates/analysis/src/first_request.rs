//! The first request of a new session: its sections with their tokens, as text and as JSON.

use model::{Info, Request};
use prompt::tokens::{ExactTokenizer, TokenizerFamily};
use prompt::{LayoutCache, RequestFrame, SystemPrompt, SystemPromptInput};
use serde_json::{Value, json};

/// The first request of a new session.
#[derive(Debug)]
pub struct FirstRequest<'a> {
    request: Request,
    rendered: &'a SystemPrompt,
    input: &'a SystemPromptInput<'a>,
}

impl<'a> FirstRequest<'a> {
    /// Assembles a request from a rendered system prompt.
    pub fn new(rendered: &'a SystemPrompt, input: &'a SystemPromptInput<'a>) -> Self {
        let frame = RequestFrame {
            tools: input.listed.into(),
            system: rendered.blocks.clone(),
            protocol: input.protocol(),
            ..RequestFrame::default()
        };
        FirstRequest {
            request: prompt::assemble(&frame, &[], &mut LayoutCache::default()).request,
            rendered,
            input,
        }
    }

    /// The system prompt and the tools with their tokens.
    pub fn json(&self) -> Value {
        as_json(
            &self.request,
            self.rendered,
            self.input.model,
            &self.input.mode.name,
            self.input,
        )
    }

    /// The system prompt and the tools.
    pub fn text(&self) -> String {
        as_text(&self.request)
    }

    /// The model and the token cost, in one line.
    pub fn summary(&self) -> String {
        summary(&self.request, self.rendered, self.input.model, &self.input.mode.name)
    }
}

fn as_json(
    request: &Request,
    rendered: &SystemPrompt,
    info: &Info,
    mode: &str,
    input: &SystemPromptInput<'_>,
) -> Value {
    let counted = SectionTokens::of(request, rendered, info);
    let parts: Vec<_> = counted
        .parts
        .iter()
        .map(|(name, tokens)| json!({"name": name, "tokens": tokens}))
        .collect();
    json!({
        "model": info.name(),
        "mode": mode,
        "protocol": input.protocol().name(),
        "family": prompt::model_family(&info.id).map(|family| family.name),
        "tokenizer": counted.by,
        "tokens": counted.system + counted.tools,
        "sections": parts,
        "system": request.system,
        "tools": request.tools.iter().collect::<Vec<_>>(),
    })
}

fn as_text(request: &Request) -> String {
    let mut text = request.system.join("\n\n");
    text.push('\n');
    for tool in request.tools.iter() {
        text.push_str(&format!(
            "\n## {}\n{}\n{}\n",
            tool.name, tool.description, tool.input_schema
        ));
    }
    text
}

/// A number of tokens.
struct SectionTokens {
    /// The tokenizer if it is public; the count is then exact.
    by: Option<&'static str>,
    system: u64,
    tools: u64,
    /// Sections of the system prompt.
    parts: Vec<(String, u64)>,
}

impl SectionTokens {
    fn of(request: &Request, rendered: &SystemPrompt, info: &Info) -> Self {
        let family = TokenizerFamily::of(info);
        let exact = ExactTokenizer::load(family);
        let count = |text: &str| match &exact {
            Some(exact) => exact.count(text),
            None => family.estimate(text),
        };
        let system: u64 = request.system.iter().map(|block| count(block)).sum();
        let bytes: usize = rendered.parts.iter().map(|(_, bytes)| bytes).sum();
        let share = |part: usize| system * part as u64 / bytes.max(1) as u64;
        let tools = match request.tools.is_empty() {
            true => 0,
            false => count(&serde_json::to_string(&*request.tools).unwrap_or_default()),
        };
        SectionTokens {
            by: exact.and(family.tokenizer()),
            system,
            tools,
            parts: rendered
                .parts
                .iter()
                .map(|(name, bytes)| (name.to_string(), share(*bytes)))
                .collect(),
        }
    }
}

/// The model and the token cost.
fn summary(request: &Request, rendered: &SystemPrompt, info: &Info, mode: &str) -> String {
    let SectionTokens {
        by,
        system,
        tools,
        parts,
    } = SectionTokens::of(request, rendered, info);
    let parts: Vec<String> = parts.iter().map(|(name, tokens)| format!("{name} {tokens}")).collect();
    format!(
        "for {} in mode {mode}: {} {} tokens{}, {system} of them for the system prompt ({}) and {tools} for {} tools\n",
        info.name(),
        if by.is_some() { "exactly" } else { "about" },
        system + tools,
        by.map(|by| format!(" of {by}")).unwrap_or_default(),
        parts.join(", "),
        request.tools.len(),
    )
}
