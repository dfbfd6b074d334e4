//! When a section applies, and what templates may name.

use super::registry::Family;
use super::{Facts, Scene, quoted};
use crate::Protocol;
use policy::{Group, Mode};
use serde_json::{Map, Value, json};

/// All conditions by name, and whether each holds. Templates see them too, with `{{#if name}}`.
pub(super) struct Conditions([(&'static str, bool); 19]);

/// Tools that change files.
const EDITS: [&str; 3] = ["edit_file", "apply_patch", "write_file"];

impl Conditions {
    pub(super) fn of(facts: &Facts, scene: &Scene<'_>, family: Option<&Family>) -> Self {
        let mode = scene.mode;
        let (lists, reaches) = (|name: &str| scene.lists(name), |name: &str| scene.reaches(name));
        // Those that depend on the mode are for sections of its block: the others stay the same when it changes.
        let index = reaches("codebase_search") && mode.includes(Group::Read);
        let mcp = !facts.servers.is_empty() && mode.includes(Group::Mcp);
        let browser = reaches("browser_action") && mode.includes(Group::Browser) && scene.model.features.images;
        let modes = mode.includes(Group::Modes) && facts.modes.iter().any(|(name, _)| *name != mode.name);
        Conditions([
            ("tools", !scene.listed.is_empty()),
            ("xml", scene.protocol() == Protocol::Xml),
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
            ("subtasks", reaches("new_task") && mode.includes(Group::Modes)),
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

    /// Everything that a template may name.
    pub(super) fn values(&self, facts: &Facts, scene: &Scene<'_>, family: Option<&Family>) -> Value {
        let conditions = self
            .0
            .iter()
            .map(|(name, holds)| ((*name).to_owned(), Value::from(*holds)));
        let mut values: Map<String, Value> = conditions.collect();
        if let Value::Object(said) = variables(facts, scene, family) {
            values.extend(said);
        }
        Value::Object(values)
    }
}

fn variables(facts: &Facts, scene: &Scene<'_>, family: Option<&Family>) -> Value {
    let mode = scene.mode;
    let edit_tool = EDITS.into_iter().find(|name| scene.lists(name));
    let (tool, parameter, value) = example(scene);
    let modes = facts.modes.iter().filter(|(name, _)| *name != mode.name);
    let modes: Vec<Value> = modes
        .map(|(name, when)| json!({"name": name, "when": quoted::bound(when.trim(), 400).0}))
        .collect();
    let only = mode.only.as_ref().map(|files| {
        let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        names.join(", ")
    });
    let patterns = mode.files.iter().filter(|rule| rule.group == Group::Edit);
    json!({
        "model": scene.model.name(),
        "family": family.map(|family| &family.name),
        "tool_names": scene.listed.iter().map(|tool| tool.name.as_str()).collect::<Vec<_>>(),
        "further_tools": scene.further,
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
        "quoted": quoted::quote(&facts.rules),
        "quoted_mode": quoted::quote(&facts.mode_rules),
        "mode": mode.name,
        "role": quoted::of_mode(&mode.role),
        "mode_instructions": quoted::of_mode(&mode.instructions),
        "missing": missing(mode).join(", "),
        "patterns": patterns.map(|rule| rule.pattern.as_str()).collect::<Vec<_>>(),
        "only": only,
        "modes": modes,
    })
}

/// What the mode leaves out, in words.
fn missing(mode: &Mode) -> Vec<&'static str> {
    [
        Group::Read,
        Group::Edit,
        Group::Command,
        Group::Browser,
        Group::Mcp,
        Group::Modes,
    ]
    .into_iter()
    .filter(|group| !mode.includes(*group))
    .map(Group::doing)
    .collect()
}

/// A call to show how calls are written.
fn example(scene: &Scene<'_>) -> (String, String, &'static str) {
    let first_parameter = |tool: &model::ToolSpec| {
        let required = tool.input_schema["required"][0].as_str();
        let first = tool.input_schema["properties"]
            .as_object()
            .and_then(|all| all.keys().next());
        required.map(String::from).or_else(|| first.cloned())
    };
    let by_name = scene.listed.iter().find(|tool| tool.name == "read_file");
    match by_name.or(scene.listed.first()) {
        Some(tool) if tool.name == "read_file" => (tool.name.clone(), "path".into(), "src/main.rs"),
        Some(tool) => (
            tool.name.clone(),
            first_parameter(tool).unwrap_or_else(|| "parameter".into()),
            "value",
        ),
        None => ("tool".into(), "parameter".into(), "value"),
    }
}
