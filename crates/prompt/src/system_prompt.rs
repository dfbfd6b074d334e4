//! The system prompt: sections from Handlebars templates, in blocks from stable to volatile.
//!
//! The sections, their conditions and the variants per model family are data: `templates/system/registry.json`. User
//! templates replace or wrap the built-in ones.

mod conditions;
pub(crate) mod quote;
mod registry;
mod render;

pub use quote::MAX_RULES_FILE_BYTES;
pub use registry::{ModelFamily, model_family};

use crate::small_models::small_model_prompt;
use crate::{CallProtocol, SystemPromptFacts};
use conditions::SectionConditions;
use model::{Info, ToolSpec};
use policy::Mode;
use registry::{SectionBlock, SectionRegistry};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// Facts about the environment in the system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PromptEnvironment {
    /// Such as `linux x86_64`.
    pub platform: String,
    /// The project directory.
    pub root: PathBuf,
    /// The git branch, if any.
    pub branch: Option<String>,
    /// The date as `YYYY-MM-DD`; empty if it is sent with the prompt.
    pub date: String,
    /// The shell of commands, such as `bash`.
    pub shell: String,
    /// The language for messages to the user, if configured.
    pub language: Option<String>,
    /// Rules of the project and the user for this mode, most general first.
    pub mode_rules: Vec<RulesFile>,
    /// Names of the active MCP servers.
    pub servers: Vec<String>,
    /// The modes, and when to use them.
    pub modes: Vec<(String, String)>,
    /// Rules files of the project and the user, most general first.
    pub rules: Vec<RulesFile>,
}

/// The text of a rules file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RulesFile {
    /// Its path, as shown to the model.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// Inputs that select the content of the system prompt, besides the environment.
#[derive(Debug, Clone, Copy)]
pub struct SystemPromptInput<'a> {
    /// The current mode.
    pub mode: &'a Mode,
    /// The model.
    pub model: &'a Info,
    /// The tools listed in the request.
    pub listed: &'a [ToolSpec],
    /// Names of tools that the model can search for.
    pub deferred: &'a [&'a str],
}

/// Templates of the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TemplateOverrides {
    /// By template name; `{{> original}}` includes the replaced text.
    pub templates: BTreeMap<String, TemplateFile>,
    /// Replaces everything except the role of the mode and the rules.
    pub whole: Option<TemplateFile>,
}

/// A template file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TemplateFile {
    /// Its path.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// A rendered system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    /// The text, in blocks from most stable to most volatile.
    pub blocks: Vec<Arc<str>>,
    /// The name and size in bytes of each section, in order.
    pub parts: Vec<(String, usize)>,
    /// Where each section is in the blocks, in order.
    pub places: Vec<SectionPlace>,
    /// Errors in user templates, with file and line. The built-in templates are used instead.
    pub problems: Vec<String>,
    /// What it was rendered from.
    pub facts: Option<Arc<SystemPromptFacts>>,
}

/// The place of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SectionPlace {
    /// The section.
    pub name: String,
    /// The index of its block.
    pub block: usize,
    /// Its first byte in the block.
    pub start: usize,
}

impl SystemPrompt {
    /// Adds a section that is a block of its own.
    pub(crate) fn push_block(&mut self, name: &str, text: String) {
        self.parts.push((name.into(), text.len()));
        self.places.push(SectionPlace {
            name: name.into(),
            block: self.blocks.len(),
            start: 0,
        });
        self.blocks.push(text.into());
    }

    /// The blocks that were added after rendering.
    pub fn appended(&self) -> &[Arc<str>] {
        let rendered = self.places.last().map_or(0, |place| place.block + 1);
        self.blocks.get(rendered..).unwrap_or_default()
    }
}

/// Maximum bytes of a whole-prompt override. A cut is noted.
const WHOLE_BYTES: usize = 64 * 1024;

/// Renders the system prompt.
///
/// Templates are compiled for one rendering and then dropped: a session renders when its mode, model or rules change.
pub fn system_prompt(
    facts: &PromptEnvironment,
    input: &SystemPromptInput<'_>,
    overrides: &TemplateOverrides,
) -> SystemPrompt {
    let mut rendered = render_blocks(facts, input, overrides);
    rendered.facts = Some(Arc::new(SystemPromptFacts {
        environment: facts.clone(),
        overrides: overrides.clone(),
    }));
    rendered
}

fn render_blocks(
    facts: &PromptEnvironment,
    input: &SystemPromptInput<'_>,
    overrides: &TemplateOverrides,
) -> SystemPrompt {
    if let Some(whole) = &overrides.whole {
        return whole_override(facts, input, whole);
    }
    if input.model.is_small() {
        return small_model_prompt(facts, input);
    }
    let registry = SectionRegistry::built_in();
    let family = registry.family(&input.model.id);
    let conditions = SectionConditions::of(facts, input, family);
    let values = conditions.values(facts, input, family);
    let mut rendered = SystemPrompt {
        problems: unknown_templates(&registry, overrides),
        ..SystemPrompt::default()
    };
    for block in SectionBlock::ALL {
        let mut text = String::new();
        let sections = registry.sections.iter().filter(|section| section.block == block);
        for section in sections.filter(|section| conditions.hold(&section.when)) {
            let section_text = render::section(section, family, overrides, &values, &mut rendered.problems);
            if section_text.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str(section.glue.as_deref().unwrap_or("\n\n"));
            }
            rendered.places.push(SectionPlace {
                name: section.name.clone(),
                block: rendered.blocks.len(),
                start: text.len(),
            });
            text.push_str(&section_text);
            rendered.parts.push((section.name.clone(), section_text.len()));
        }
        if !text.is_empty() {
            rendered.blocks.push(text.into());
        }
    }
    rendered
}

/// The role of the mode, the text, and the rules.
fn whole_override(facts: &PromptEnvironment, input: &SystemPromptInput<'_>, whole: &TemplateFile) -> SystemPrompt {
    let text = render::fill_roo_variables(&whole.text, facts, input);
    let (kept, cut) = quote::truncate_lines(text.trim(), WHOLE_BYTES);
    let mut body = String::from(kept);
    if cut > 0 {
        body.push_str(&format!("\n({cut} bytes omitted)"));
    }
    let role = input.mode.role.trim();
    if !role.is_empty() {
        body = format!("{role}\n\n{body}");
    }
    let mut rendered = SystemPrompt::default();
    let rules: Vec<RulesFile> = facts.rules.iter().chain(&facts.mode_rules).cloned().collect();
    let limit = quote::rules_file_limit(rules.iter(), input.model.limits.window);
    for (name, text) in [("whole", body), ("instructions", quote::quote_rules(&rules, limit))] {
        if !text.is_empty() {
            rendered.push_block(name, text);
        }
    }
    rendered
}

/// Reports user templates that replace no built-in template.
fn unknown_templates(registry: &SectionRegistry, overrides: &TemplateOverrides) -> Vec<String> {
    let is_known = |name: &str| render::built_in(name).is_some() || registry.has_section(name);
    let unknown = overrides.templates.iter().filter(|(name, _)| !is_known(name));
    let messages = unknown.map(|(name, template)| {
        format!(
            "{}: unknown template `{name}`; available templates: {}",
            template.path.display(),
            render::names().collect::<Vec<_>>().join(", ")
        )
    });
    messages.collect()
}

impl SystemPromptInput<'_> {
    /// How the model calls tools.
    pub fn protocol(&self) -> CallProtocol {
        CallProtocol::of(self.model)
    }

    fn lists(&self, name: &str) -> bool {
        self.listed.iter().any(|tool| tool.name == name)
    }

    /// Whether the model has a tool or can search for it.
    fn can_use(&self, name: &str) -> bool {
        self.lists(name) || self.deferred.contains(&name)
    }
}

#[cfg(test)]
mod tests;
