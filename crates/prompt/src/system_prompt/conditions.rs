//! Conditions of sections, and variables of templates.

use super::registry::ModelFamily;
use super::{PromptEnvironment, SystemPromptInput, quote};
use crate::CallProtocol;
use policy::{Mode, ToolGroup};
use serde_json::{Map, Value, json};

/// All conditions by name. Templates use them with `{{#if name}}`.
pub(super) struct SectionConditions([(&'static str, bool); 20]);

/// Tools that change files.
const EDITS: [&str; 3] = ["edit_file", "apply_patch", "write_file"];

impl SectionConditions {
    pub(super) fn of(facts: &PromptEnvironment, input: &SystemPromptInput<'_>, family: Option<&ModelFamily>) -> Self {
        let mode = input.mode;
        let (lists, reaches) = (|name: &str| input.lists(name), |name: &str| input.can_use(name));
        // Conditions that depend on the mode are for sections of its block: the others stay the same when it changes.
        // The tool is listed once the project has an index.
        let index = lists("codebase_search") && mode.includes(ToolGroup::Read);
        let mcp = !facts.servers.is_empty() && mode.includes(ToolGroup::Mcp);
        let browser = reaches("browser_action") && mode.includes(ToolGroup::Browser) && input.model.features.images;
        let switching = reaches("switch_mode") && mode.includes(ToolGroup::Modes);
        let subtasks = reaches("new_task") && mode.includes(ToolGroup::Modes);
        let modes = (switching || subtasks) && facts.modes.iter().any(|(name, _)| *name != mode.name);
        SectionConditions([
            ("tools", !input.listed.is_empty()),
            ("xml", input.protocol() == CallProtocol::Xml),
            ("reading", lists("read_file")),
            ("grep", lists("grep")),
            ("find_path", lists("find_path")),
            ("editing", EDITS.into_iter().any(lists)),
            ("commands", lists("terminal")),
            ("checking", lists("terminal") || reaches("diagnostics")),
            ("todo", lists("todo")),
            ("skills", reaches("skill")),
            ("index", index),
            ("mcp", mcp),
            ("browser", browser),
            ("capabilities", index || mcp || browser),
            ("switching", switching),
            ("subtasks", subtasks),
            ("modes", modes),
            (
                "notes",
                family.is_some_and(|family| family.variants.contains_key("model-notes")),
            ),
            ("instructions", !facts.rules.is_empty() || facts.language.is_some()),
            ("mode_rules", !facts.mode_rules.is_empty()),
        ])
    }

    /// Whether all of these hold.
    pub(super) fn hold(&self, names: &[String]) -> bool {
        names.iter().all(|name| match name.strip_prefix('!') {
            Some(name) => !self.holds(name),
            None => self.holds(name),
        })
    }

    fn holds(&self, name: &str) -> bool {
        self.0.contains(&(name, true))
    }

    /// The names of all conditions.
    #[cfg(test)]
    pub(super) fn names(&self) -> Vec<&'static str> {
        self.0.iter().map(|(name, _)| *name).collect()
    }

    /// All variables of a template.
    pub(super) fn values(
        &self,
        facts: &PromptEnvironment,
        input: &SystemPromptInput<'_>,
        family: Option<&ModelFamily>,
    ) -> Value {
        let conditions = self
            .0
            .iter()
            .map(|(name, holds)| ((*name).to_owned(), Value::from(*holds)));
        let mut values: Map<String, Value> = conditions.collect();
        if let Value::Object(entries) = variables(facts, input, family) {
            values.extend(entries);
        }
        Value::Object(values)
    }
}

fn variables(facts: &PromptEnvironment, input: &SystemPromptInput<'_>, family: Option<&ModelFamily>) -> Value {
    let mode = input.mode;
    let edit_tool = EDITS.into_iter().find(|name| input.lists(name));
    let (tool, parameter, value) = example(input);
    let modes = facts.modes.iter().filter(|(name, _)| *name != mode.name);
    let modes: Vec<Value> = modes
        .map(|(name, when)| json!({"name": name, "when": quote::truncate_lines(when.trim(), 400).0}))
        .collect();
    let only = mode.only.as_ref().map(|files| {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        names.join(", ")
    });
    let patterns = mode.files.iter().filter(|rule| rule.group == ToolGroup::Edit);
    let rules = facts.rules.iter().chain(&facts.mode_rules);
    let rules_limit = quote::rules_file_limit(rules, input.model.limits.window);
    json!({
        "model": input.model.name(),
        "family": family.map(|family| &family.name),
        "tool_names": input.listed.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        "further_tools": input.deferred,
        "edit_tool": edit_tool,
        "example_tool": tool,
        "example_parameter": parameter,
        "example_value": value,
        "mcp_servers": facts.servers.join(", "),
        "platform": facts.platform,
        "operatingSystem": facts.platform.split(' ').next(),
        "workspace": facts.root.to_string_lossy(),
        "shell": facts.shell,
        "language": facts.language,
        "branch": facts.branch,
        "date": facts.date,
        "quoted": quote::quote_rules(&facts.rules, rules_limit),
        "quoted_mode": quote::quote_rules(&facts.mode_rules, rules_limit),
        "mode": mode.name,
        "role": quote::bounded_mode_text(&mode.role),
        "mode_instructions": quote::bounded_mode_text(&mode.instructions),
        "missing": missing(mode).join(", "),
        "patterns": patterns.map(|rule| rule.pattern.as_str()).collect::<Vec<_>>(),
        "only": only,
        "modes": modes,
    })
}

/// What is not available in the mode, in words.
fn missing(mode: &Mode) -> Vec<&'static str> {
    [
        ToolGroup::Read,
        ToolGroup::Edit,
        ToolGroup::Command,
        ToolGroup::Browser,
        ToolGroup::Mcp,
        ToolGroup::Modes,
    ]
    .into_iter()
    .filter(|group| !mode.includes(*group))
    .map(ToolGroup::description)
    .collect()
}

/// An example call.
fn example(input: &SystemPromptInput<'_>) -> (String, String, &'static str) {
    let first_parameter = |tool: &model::ToolSpec| {
        let required = tool.input_schema["required"][0].as_str();
        let first = tool.input_schema["properties"]
            .as_object()
            .and_then(|all| all.keys().next());
        required.map(String::from).or_else(|| first.cloned())
    };
    let by_name = input.listed.iter().find(|tool| tool.name == "read_file");
    match by_name.or(input.listed.first()) {
        Some(tool) if tool.name == "read_file" => (tool.name.clone(), "path".into(), "src/main.rs"),
        Some(tool) => (
            tool.name.clone(),
            first_parameter(tool).unwrap_or_else(|| "parameter".into()),
            "value",
        ),
        None => ("tool".into(), "parameter".into(), "value"),
    }
}
