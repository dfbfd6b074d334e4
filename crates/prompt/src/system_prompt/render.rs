//! Renders a section from the user's template if it is valid, otherwise from the built-in one.

use super::registry::{ModelFamily, PromptSection};
use super::{PromptEnvironment, SystemPromptInput, TemplateFile, TemplateOverrides};
use handlebars::{Handlebars, no_escape};
use serde_json::Value;

/// The built-in templates by name.
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

/// The name by which a user's template includes the text that it replaces.
const ORIGINAL: &str = "original";

/// Returns the built-in template with this name.
pub(super) fn built_in(name: &str) -> Option<&'static str> {
    BUILT_IN.iter().find(|(own, _)| *own == name).map(|(_, text)| *text)
}

/// The names of the built-in templates.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    BUILT_IN.iter().map(|(name, _)| *name)
}

/// Renders a section; errors in the user's template are added to `problems`.
pub(super) fn section(
    section: &PromptSection,
    family: Option<&ModelFamily>,
    overrides: &TemplateOverrides,
    values: &Value,
    problems: &mut Vec<String>,
) -> String {
    let variant = family.and_then(|family| family.variants.get(&section.name));
    let ours = variant.map_or(section.name.as_str(), String::as_str);
    let ours_text = built_in(ours).unwrap_or_default();
    let by_name = |name: &str| overrides.templates.get(name);
    // A user's template for a section applies to every family, unless there is one for the family.
    if let Some(own) = by_name(ours).or_else(|| by_name(&section.name)) {
        match render(&own.text, Some(ours_text), values) {
            Ok(text) => return text,
            Err(error) => problems.push(error.of(own)),
        }
    }
    render(ours_text, None, values).unwrap_or_default()
}

/// Replaces Roo's variables in a text. Other braces stay unchanged.
pub(super) fn fill_roo_variables(text: &str, facts: &PromptEnvironment, input: &SystemPromptInput<'_>) -> String {
    let system = facts.platform.split(' ').next().unwrap_or_default();
    let root = facts.root.to_string_lossy();
    [
        ("{{workspace}}", root.as_ref()),
        ("{{mode}}", input.mode.name.as_str()),
        ("{{language}}", facts.language.as_deref().unwrap_or("en")),
        ("{{shell}}", facts.shell.as_str()),
        ("{{operatingSystem}}", system),
    ]
    .into_iter()
    .fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
}

/// An error in a template, with its line.
struct TemplateError {
    line: Option<usize>,
    reason: String,
}

impl TemplateError {
    fn of(self, template: &TemplateFile) -> String {
        let line = self.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!(
            "{}{line}: {}; using the built-in template",
            template.path.display(),
            self.reason
        )
    }
}

fn render(text: &str, original: Option<&str>, values: &Value) -> Result<String, TemplateError> {
    // Most built-in templates are plain text; compiling them would dominate the cost.
    if !text.contains("{{") {
        return Ok(text.trim().to_owned());
    }
    let mut templates = Handlebars::new();
    templates.register_escape_fn(no_escape);
    // An unknown variable is an error, not an empty string.
    templates.set_strict_mode(true);
    for (name, text) in [(ORIGINAL, original), ("section", Some(text))] {
        let Some(text) = text else { continue };
        templates
            .register_template_string(name, text)
            .map_err(|error| TemplateError {
                line: error.pos().map(|(line, _)| line),
                reason: one_line(&error.reason().to_string()),
            })?;
    }
    let rendered = templates.render("section", values).map_err(|error| TemplateError {
        line: error.line_no,
        reason: one_line(&error.reason().to_string()),
    })?;
    Ok(rendered.trim().to_owned())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
