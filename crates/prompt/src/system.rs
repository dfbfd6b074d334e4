//! The system prompt: sections from Handlebars templates, each where it applies, in blocks from stable to volatile.
//!
//! Which sections there are, when each applies and what a family of models gets in the place of the usual text is data:
//! `templates/system/registry.json`. A person's own templates take the place of ours or go around them.

mod conditions;
pub(crate) mod quoted;
mod registry;
mod render;

pub use registry::{Family, family, section_names};

use crate::Protocol;
use conditions::Conditions;
use model::{Info, ToolSpec};
use policy::Mode;
use registry::{Block, Registry};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What the system prompt says about the place in which hew works.
#[derive(Debug, Clone, Default)]
pub struct Facts {
    /// Such as `linux x86_64`.
    pub platform: String,
    /// The project's folder.
    pub root: PathBuf,
    /// The git branch, where there is one.
    pub branch: Option<String>,
    /// Today, as `YYYY-MM-DD`; empty where the model learns it with the prompt.
    pub date: String,
    /// What commands run in, such as `bash`.
    pub shell: String,
    /// The language in which the person wants to be spoken to, where they said so.
    pub language: Option<String>,
    /// What the project and the person ask for in this mode, most general first.
    pub mode_rules: Vec<Rules>,
    /// MCP servers that are used, by name.
    pub servers: Vec<String>,
    /// Modes that are not built in, with when to choose them.
    pub modes: Vec<(String, String)>,
    /// What the project and the person ask for in rules files, most general first.
    pub rules: Vec<Rules>,
}

/// The text of a rules file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Where it stands, as the model is told.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// For whom a system prompt is: it changes only with these, and with the facts.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// What the agent is for at the moment.
    pub mode: &'a Mode,
    /// The model that reads it.
    pub model: &'a Info,
    /// The tools that the model is told of.
    pub listed: &'a [ToolSpec],
    /// The names of further tools that it can find.
    pub further: &'a [&'a str],
}

/// A person's own templates.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// By the name of the template; `{{> original}}` in one stands for the text that it replaces.
    pub templates: BTreeMap<String, Template>,
    /// A text in the place of everything but the mode's role and the rules.
    pub whole: Option<Template>,
}

/// A template from a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Where it stands.
    pub path: PathBuf,
    /// What it says.
    pub text: String,
}

/// A system prompt.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Its text, in blocks from the most stable to the most volatile.
    pub blocks: Vec<Arc<str>>,
    /// What it is made of: the name of each section and its bytes, in order.
    pub parts: Vec<(String, usize)>,
    /// What is wrong with a person's own templates, with file and line. Ours stand in for them.
    pub problems: Vec<String>,
}

/// A longer text in the place of the whole prompt is cut, and says so.
const WHOLE_BYTES: usize = 64 * 1024;

/// The system prompt for a scene.
///
/// Templates are compiled for the one rendering and then dropped: a session renders when its mode, model or rules change.
pub fn system(facts: &Facts, scene: &Scene<'_>, overrides: &Overrides) -> Rendered {
    if let Some(whole) = &overrides.whole {
        return in_place_of_all(facts, scene, whole);
    }
    let registry = Registry::built_in();
    let family = registry.family(&scene.model.id);
    let conditions = Conditions::of(facts, scene, family);
    let values = conditions.values(facts, scene, family);
    let mut rendered = Rendered {
        problems: unknown(&registry, overrides),
        ..Rendered::default()
    };
    for block in Block::ALL {
        let mut text = String::new();
        let sections = registry.sections.iter().filter(|section| section.block == block);
        for section in sections.filter(|section| conditions.hold(&section.when)) {
            let own = render::section(section, family, overrides, &values, &mut rendered.problems);
            if own.is_empty() {
                continue;
            }
            if !text.is_empty() {
                text.push_str(section.glue.as_deref().unwrap_or("\n\n"));
            }
            text.push_str(&own);
            rendered.parts.push((section.name.clone(), own.len()));
        }
        if !text.is_empty() {
            rendered.blocks.push(text.into());
        }
    }
    rendered
}

/// The mode's role, the text, and the rules; nothing else.
fn in_place_of_all(facts: &Facts, scene: &Scene<'_>, whole: &Template) -> Rendered {
    let text = render::replaced(&whole.text, facts, scene);
    let (kept, cut) = quoted::bound(text.trim(), WHOLE_BYTES);
    let mut said = String::from(kept);
    if cut > 0 {
        said.push_str(&format!("\n({cut} bytes left out)"));
    }
    let role = scene.mode.role.trim();
    if !role.is_empty() {
        said = format!("{role}\n\n{said}");
    }
    let mut rendered = Rendered::default();
    let rules: Vec<Rules> = facts.rules.iter().chain(&facts.mode_rules).cloned().collect();
    for (name, text) in [("whole", said), ("instructions", quoted::quote(&rules))] {
        if !text.is_empty() {
            rendered.parts.push((name.into(), text.len()));
            rendered.blocks.push(text.into());
        }
    }
    rendered
}

/// Templates of the person's that have the name of none of ours.
fn unknown(registry: &Registry, overrides: &Overrides) -> Vec<String> {
    let is_known = |name: &str| render::built_in(name).is_some() || registry.has_section(name);
    let strangers = overrides.templates.iter().filter(|(name, _)| !is_known(name));
    let told = strangers.map(|(name, template)| {
        format!(
            "{}: there is no template `{name}`; the templates are {}",
            template.path.display(),
            render::names().collect::<Vec<_>>().join(", ")
        )
    });
    told.collect()
}

impl Scene<'_> {
    /// How the model calls tools.
    pub fn protocol(&self) -> Protocol {
        Protocol::of(self.model)
    }

    fn lists(&self, name: &str) -> bool {
        self.listed.iter().any(|tool| tool.name == name)
    }

    /// Whether the model has a tool or can find it.
    fn reaches(&self, name: &str) -> bool {
        self.lists(name) || self.further.contains(&name)
    }
}

#[cfg(test)]
mod tests;
