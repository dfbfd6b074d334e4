//! The constant part of a request in the ledger: its tools and its system prompt.

use super::message_kind::{FNV_OFFSET, fnv1a, json_size_and_hash};
use super::token_counter::TokenCounter;
use model::{Request, ToolSpec};
use std::sync::Arc;

/// The tools and the system prompt of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct FrameSections {
    tools: Arc<[ToolSpec]>,
    pub(crate) parts: Vec<FrameSection>,
}

/// The tools, or a section of the system prompt.
#[derive(Debug, Clone)]
pub(crate) struct FrameSection {
    /// `tools`, or `system/…`.
    pub(crate) name: String,
    pub(crate) bytes: u64,
    /// Estimated tokens.
    pub(crate) weight: u64,
    hash: u64,
    /// Hash of everything up to here.
    pub(crate) chain: u64,
    /// Its share of the tokens, once known.
    pub(crate) tokens: u64,
    text: Option<Arc<str>>,
}

/// Where a frame differs from another, and what changed.
pub(crate) struct FrameDifference {
    pub(crate) byte: u64,
    pub(crate) part: String,
}

impl FrameSections {
    /// The frame of a request. Unchanged sections cost no work.
    pub(crate) fn of(
        request: &Request,
        model: &str,
        weigh: &dyn TokenCounter,
        before: Option<&FrameSections>,
    ) -> FrameSections {
        let mut parts = Vec::with_capacity(request.system.len() + 1);
        let mut chain = fnv1a(FNV_OFFSET, model.as_bytes());
        let known = before.filter(|frame| Arc::ptr_eq(&frame.tools, &request.tools));
        let tools = match known.and_then(|frame| frame.parts.first()) {
            Some(part) => (part.bytes, part.weight, part.hash),
            None if request.tools.is_empty() => (0, 0, FNV_OFFSET),
            None => {
                let (bytes, hash) = json_size_and_hash(&&*request.tools);
                (bytes, weigh.tools(&request.tools), hash)
            }
        };
        let mut push = |name: String, (bytes, weight, hash): (u64, u64, u64), text: Option<Arc<str>>| {
            chain = fnv1a(chain, &hash.to_be_bytes());
            parts.push(FrameSection {
                name,
                bytes,
                weight,
                hash,
                chain,
                tokens: 0,
                text,
            });
        };
        push("tools".into(), tools, None);
        for (index, section) in request.system.iter().enumerate() {
            let same = before
                .and_then(|frame| frame.parts.get(index + 1))
                .filter(|part| part.text.as_ref().is_some_and(|text| Arc::ptr_eq(text, section)));
            let (name, size) = match same {
                Some(part) => (part.name.clone(), (part.bytes, part.weight, part.hash)),
                None => {
                    let hash = fnv1a(FNV_OFFSET, section.as_bytes());
                    let size = (section.len() as u64, weigh.text(section), hash);
                    (format!("system/{}", section_name(section, index)), size)
                }
            };
            push(name, size, Some(Arc::clone(section)));
        }
        FrameSections {
            tools: Arc::clone(&request.tools),
            parts,
        }
    }

    /// Hash of the whole frame.
    pub(crate) fn chain(&self) -> u64 {
        self.parts.last().map_or(FNV_OFFSET, |part| part.chain)
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.bytes).sum()
    }

    /// Where it differs from the previous request.
    pub(crate) fn difference_from(&self, before: &FrameSections) -> Option<FrameDifference> {
        let pairs = self.parts.iter().zip(&before.parts);
        let same = pairs.take_while(|(now, then)| now.hash == then.hash).count();
        if same == self.parts.len() && same == before.parts.len() {
            return None;
        }
        let bytes: u64 = self.parts[..same].iter().map(|part| part.bytes).sum();
        if same == 0 {
            let (now, then) = (json(&self.tools), json(&before.tools));
            return Some(FrameDifference {
                byte: common_prefix(&now, &then),
                part: tools_changed(&before.tools, &self.tools),
            });
        }
        let (now, then) = (self.parts.get(same), before.parts.get(same));
        let text = |part: Option<&FrameSection>| part.and_then(|part| part.text.clone()).unwrap_or_default();
        let name = |part: &FrameSection| part.name.replacen('/', ": ", 1);
        let part = match (now, then) {
            (Some(now), Some(then)) if now.name == then.name => format!("{} changed", name(now)),
            (Some(now), Some(then)) if self.has(&then.name) && !before.has(&now.name) => format!("{} added", name(now)),
            (Some(now), Some(then)) if !self.has(&then.name) && before.has(&now.name) => {
                format!("{} removed", name(then))
            }
            (Some(now), Some(then)) => format!("{} became {}", name(then), name(now)),
            (Some(now), None) => format!("{} added", name(now)),
            (None, Some(then)) => format!("{} removed", name(then)),
            (None, None) => "system changed".into(),
        };
        Some(FrameDifference {
            byte: bytes + common_prefix(text(now).as_bytes(), text(then).as_bytes()),
            part,
        })
    }

    fn has(&self, name: &str) -> bool {
        self.parts.iter().any(|part| part.name == name)
    }
}

/// Describes changes of the tools.
fn tools_changed(before: &[ToolSpec], now: &[ToolSpec]) -> String {
    /// Maximum number of names per kind of change.
    const MOST: usize = 5;
    let named = |tools: Vec<&str>, word: &str| {
        let more = tools.len().saturating_sub(MOST);
        let mut text = tools[..tools.len() - more].join(", ");
        if more > 0 {
            text.push_str(&format!(" and {more} more"));
        }
        (!tools.is_empty()).then(|| format!("{text} {word}"))
    };
    let find = |tools: &'_ [ToolSpec], name: &str| tools.iter().any(|tool| tool.name == name);
    let added = now.iter().filter(|tool| !find(before, &tool.name));
    let removed = before.iter().filter(|tool| !find(now, &tool.name));
    let changed = now
        .iter()
        .filter(|tool| before.iter().any(|b| b.name == tool.name && b != *tool));
    let name = |tool: &'_ ToolSpec| -> String { tool.name.replace("__", " ") };
    let added: Vec<String> = added.map(name).collect();
    let removed: Vec<String> = removed.map(name).collect();
    let changed: Vec<String> = changed.map(name).collect();
    let list = |names: &'_ [String], word: &str| named(names.iter().map(String::as_str).collect(), word);
    let all = [
        list(&added, "added"),
        list(&removed, "removed"),
        list(&changed, "changed"),
    ];
    let all: Vec<String> = all.into_iter().flatten().collect();
    match all.is_empty() {
        true => "tools changed: order".into(),
        false => format!("tools changed: {}", all.join("; ")),
    }
}

/// Name of a section of the system prompt: its first heading.
fn section_name(section: &str, index: usize) -> String {
    let first = section.trim_start().lines().next().unwrap_or_default();
    match first.strip_prefix('#') {
        Some(heading) => {
            let words = heading.trim_start_matches('#').trim().to_lowercase();
            let words = words.split(':').next().unwrap_or_default();
            let mut short = words.split_whitespace().take(3).collect::<Vec<&str>>();
            if short.first() == Some(&"rules") {
                short.truncate(1);
            }
            short.join(" ")
        }
        None if index == 0 => "identity".into(),
        None => format!("part_{}", index + 1),
    }
}

fn json(tools: &[ToolSpec]) -> Vec<u8> {
    serde_json::to_vec(tools).unwrap_or_default()
}

/// Length of the common prefix in bytes.
pub(crate) fn common_prefix(one: &[u8], other: &[u8]) -> u64 {
    one.iter().zip(other).take_while(|(a, b)| a == b).count() as u64
}
