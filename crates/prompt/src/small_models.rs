//! The profile of small models: a short prompt, few tools and simple schemas.
//!
//! Small models copy examples from schemas, call tools that find other tools, and lose track of long prompts. All tools can
//! still be called by name.

use crate::system_prompt::quote::quote_rules;
use crate::{CallProtocol, PromptEnvironment, RulesFile, SystemPrompt, SystemPromptInput};
use model::ToolSpec;
use serde_json::Value;
use std::sync::Arc;

/// The tools that are listed, if they are available.
const SMALL_MODEL_TOOLS: [&str; 4] = ["read_file", "edit_file", "write_file", "terminal"];
/// The maximum bytes of rules.
const MAX_RULES: usize = 2_000;

/// The tools for a small model, with their required parameters only. All tools if none of them is available.
pub fn small_model_tools(tools: &Arc<[ToolSpec]>) -> Arc<[ToolSpec]> {
    let listed = tools
        .iter()
        .filter(|tool| SMALL_MODEL_TOOLS.contains(&tool.name.as_str()));
    let listed: Vec<ToolSpec> = listed.map(simplified).collect();
    match listed.is_empty() {
        true => Arc::clone(tools),
        false => listed.into(),
    }
}

fn simplified(tool: &ToolSpec) -> ToolSpec {
    let mut tool = tool.clone();
    let required = tool.input_schema["required"].as_array().cloned().unwrap_or_default();
    if let Some(properties) = tool.input_schema.get_mut("properties").and_then(Value::as_object_mut)
        && !required.is_empty()
    {
        properties.retain(|name, _| required.iter().any(|required| required == name));
    }
    tool
}

/// The system prompt for a small model.
pub(crate) fn small_model_prompt(facts: &PromptEnvironment, input: &SystemPromptInput<'_>) -> SystemPrompt {
    let mut text = format!(
        "You are hew, a coding agent. You work on the project in {}.\n\n\
         Solve the task step by step. In each reply, call one tool and wait for its result. Read a file before you \
         change it. Use paths relative to the project. Run commands with `terminal`. When the task is complete, \
         answer in one or two sentences without a tool call. Do not invent results.",
        facts.root.display()
    );
    if input.protocol() == CallProtocol::Xml {
        text.push_str(
            "\n\nTo call a tool, write its name and its parameters as tags, and nothing after them:\n\n\
             <read_file>\n<path>src/main.py</path>\n</read_file>\n\n\
             The result follows in the next message.",
        );
    }
    let instructions = input.mode.instructions.trim();
    if !instructions.is_empty() {
        text.push_str("\n\n");
        text.push_str(instructions);
    }
    let mut rendered = SystemPrompt::default();
    let rules: Vec<RulesFile> = facts.rules.iter().chain(&facts.mode_rules).cloned().collect();
    let rules = crate::budget::cut_middle(&quote_rules(&rules), MAX_RULES);
    for (name, text) in [("small", text), ("instructions", rules)] {
        if !text.is_empty() {
            rendered.parts.push((name.into(), text.len()));
            rendered.blocks.push(text.into());
        }
    }
    rendered
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_small_model_gets_few_tools_with_their_required_parameters() {
        let tool = |name: &str, required: &[&str]| ToolSpec {
            name: name.into(),
            description: String::new(),
            input_schema: json!({"type": "object", "required": required,
                "properties": {"path": {"type": "string"}, "type": {"type": "string"}}}),
        };
        let all: Arc<[ToolSpec]> = [tool("find_tools", &["path"]), tool("read_file", &["path"])].into();
        let listed = small_model_tools(&all);
        assert_eq!(listed.len(), 1);
        assert_eq!(
            listed[0].input_schema["properties"],
            json!({"path": {"type": "string"}})
        );
        let others: Arc<[ToolSpec]> = [tool("answer", &["path"])].into();
        assert_eq!(small_model_tools(&others), others);
    }
}
