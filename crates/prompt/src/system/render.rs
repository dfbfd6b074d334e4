//! Renders a section: the person's template where there is a good one, else ours.

use super::registry::{Family, Section};
use super::{Facts, Overrides, Scene, Template};
use handlebars::{Handlebars, no_escape};
use serde_json::Value;

/// Our templates by name.
const BUILT_IN: &[(&str, &str)] = &[
    ("capabilities", include_str!("../../templates/system/capabilities.hbs")),
    ("code-blocks", include_str!("../../templates/system/code-blocks.hbs")),
    (
        "communication",
        include_str!("../../templates/system/communication.hbs"),
    ),
    ("debugging", include_str!("../../templates/system/debugging.hbs")),
    ("diagnostics", include_str!("../../templates/system/diagnostics.hbs")),
    (
        "external-apis",
        include_str!("../../templates/system/external-apis.hbs"),
    ),
    ("identity", include_str!("../../templates/system/identity.hbs")),
    ("instructions", include_str!("../../templates/system/instructions.hbs")),
    ("mode", include_str!("../../templates/system/mode.hbs")),
    (
        "mode-instructions",
        include_str!("../../templates/system/mode-instructions.hbs"),
    ),
    (
        "model-information",
        include_str!("../../templates/system/model-information.hbs"),
    ),
    (
        "model-notes.claude",
        include_str!("../../templates/system/model-notes.claude.hbs"),
    ),
    (
        "model-notes.gemini",
        include_str!("../../templates/system/model-notes.gemini.hbs"),
    ),
    (
        "model-notes.gpt",
        include_str!("../../templates/system/model-notes.gpt.hbs"),
    ),
    ("modes", include_str!("../../templates/system/modes.hbs")),
    ("no-tools", include_str!("../../templates/system/no-tools.hbs")),
    ("objective", include_str!("../../templates/system/objective.hbs")),
    ("rules", include_str!("../../templates/system/rules.hbs")),
    ("searching", include_str!("../../templates/system/searching.hbs")),
    (
        "system-information",
        include_str!("../../templates/system/system-information.hbs"),
    ),
    (
        "tool-protocol",
        include_str!("../../templates/system/tool-protocol.hbs"),
    ),
    ("tool-use", include_str!("../../templates/system/tool-use.hbs")),
    (
        "tool-use.open",
        include_str!("../../templates/system/tool-use.open.hbs"),
    ),
];

/// The name under which a person's template finds the text that it replaces.
const ORIGINAL: &str = "original";

/// Our template of this name.
pub(super) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// The names of our templates.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// The text of a section; what is wrong with a person's template is added to the problems.
pub(super) fn section(
    section: &Section,
    family: Option<&Family>,
    overrides: &Overrides,
    values: &Value,
    problems: &mut Vec<String>,
) -> String {
    let variant = family.and_then(|family| family.variants.get(&section.name));
    let ours = variant.map_or(section.name.as_str(), String::as_str);
    let ours_text = built_in(ours).unwrap_or_default();
    let by_name = |name: &str| overrides.templates.get(name);
    // What a person says of the section counts for every family, unless they speak of the family.
    if let Some(own) = by_name(ours).or_else(|| by_name(&section.name)) {
        match render(&own.text, Some(ours_text), values) {
            Ok(text) => return text,
            Err(wrong) => problems.push(wrong.of(own)),
        }
    }
    render(ours_text, None, values).unwrap_or_default()
}

/// A text with Roo's variables put in. Anything else in braces stays as it is.
pub(super) fn replaced(text: &str, facts: &Facts, scene: &Scene<'_>) -> String {
    let system = facts.platform.split(' ').next().unwrap_or_default();
    let root = facts.root.to_string_lossy();
    [
        ("{{workspace}}", root.as_ref()),
        ("{{mode}}", scene.mode.name.as_str()),
        ("{{language}}", facts.language.as_deref().unwrap_or("en")),
        ("{{shell}}", facts.shell.as_str()),
        ("{{operatingSystem}}", system),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// What is wrong with a template, and where.
struct Wrong {
    line: Option<usize>,
    reason: String,
}

impl Wrong {
    fn of(self, template: &Template) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!(
            "{}{line}: {}; hew's own text stands in for it",
            template.path.display(),
            self.reason
        )
    }
}

fn render(text: &str, original: Option<&str>, values: &Value) -> Result<String, Wrong> {
    // Most of ours are plain text, and compiling it would be most of the work.
    if !text.contains("{{") {
        return Ok(text.trim().to_owned());
    }
    let mut templates = Handlebars::new();
    templates.register_escape_fn(no_escape);
    // A name that does not exist is a mistake to be told of, not an empty place.
    templates.set_strict_mode(true);
    for (name, text) in [(ORIGINAL, original), ("section", Some(text))] {
        let Some(text) = text else { continue };
        templates.register_template_string(name, text).map_err(|error| Wrong {
            line: error.pos().map(|(line, _)| line),
            reason: one_line(&error.reason().to_string()),
        })?;
    }
    let rendered = templates.render("section", values).map_err(|error| Wrong {
        line: error.line_no,
        reason: one_line(&error.reason().to_string()),
    })?;
    Ok(rendered.trim().to_owned())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
