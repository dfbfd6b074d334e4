//! The profile of small models: a short prompt, few tools and simple schemas.
//!
//! Small models copy examples from schemas, call tools that find other tools, and lose track of long prompts. All tools can
//! still be called by name.

use crate::system_prompt::quote::{MAX_RULES_FILE_BYTES, quote_rules};
use crate::text_calls::{WrittenCall, edit_of_file, is_path, quoted_lines};
use crate::{CallProtocol, PromptEnvironment, RulesFile, SystemPrompt, SystemPromptInput};
use model::{Message, ToolSpec};
use serde_json::Value;
use std::sync::Arc;

/// How files are changed and commands are run in the reply itself.
const DIRECT_EDITS: &str = "\
You change its files and run commands yourself.

To change or create a file, write its path on a line of its own, and directly below it the complete new content in a code block:

src/main.py
```
print(\"hello\")
```

The block replaces the whole file: write all of its lines, also those that do not change. In a long file, replace only some lines, \
copied exactly:

src/main.py
```
<<<<<<< SEARCH
print(\"hello\")
=======
print(\"hello, world\")
>>>>>>> REPLACE
```

Write each file that has to change, and no others. To run a command, such as one that moves files, write it in a code block with the \
language sh; its output follows in the next message. If the task is a question, answer in a few words without code blocks.
";
/// The maximum bytes of rules.
const MAX_RULES: usize = 2_000;

/// The tools for a small model, with their required parameters only. All tools if none of them is listed.
pub fn small_model_tools(tools: &Arc<[ToolSpec]>, is_listed: impl Fn(&str) -> bool) -> Arc<[ToolSpec]> {
    let listed = tools.iter().filter(|tool| is_listed(&tool.name));
    let listed: Vec<ToolSpec> = listed.map(simplified).collect();
    match listed.is_empty() {
        true => Arc::clone(tools),
        false => listed.into(),
    }
}

fn simplified(tool: &ToolSpec) -> ToolSpec {
    let mut tool = tool.clone();
    let is_replacement = tool.input_schema["properties"].get("old_text").is_some();
    let required = match is_replacement {
        true => vec!["path".into(), "old_text".into(), "new_text".into()],
        false => tool.input_schema["required"].as_array().cloned().unwrap_or_default(),
    };
    if is_replacement && let Some(schema) = tool.input_schema.as_object_mut() {
        schema.insert("required".into(), required.clone().into());
    }
    if let Some(properties) = tool.input_schema.get_mut("properties").and_then(Value::as_object_mut)
        && !required.is_empty()
    {
        properties.retain(|name, _| required.iter().any(|required| required == name));
    }
    tool
}

/// The files of a project that are shown with the first prompt to a small model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProjectFiles {
    /// Paths and contents.
    pub files: Vec<(String, String)>,
    /// Paths of other files.
    pub others: Vec<String>,
}

/// The edits for code blocks without a path: the whole content or an edit of the only file that the task names, or of the only
/// file of the project. None if there are several, or if the code is only a part of the file.
pub fn edits_of_only_file(blocks: &[String], shown: &ProjectFiles, task: &str) -> Vec<WrittenCall> {
    let defining = || match blocks {
        [content] => only_quoted_file(shown, content).or_else(|| only_defining_file(shown, content)),
        _ => None,
    };
    let Some(path) = only_file(shown, task).or_else(defining) else {
        return Vec::new();
    };
    let edits: Vec<WrittenCall> = blocks.iter().filter_map(|block| edit_of_file(path, block)).collect();
    match blocks {
        [content] if edits.is_empty() => whole_file(path, content, shown).into_iter().collect(),
        _ => edits,
    }
}

/// The only shown file with all lines that an edit quotes.
fn only_quoted_file<'a>(shown: &'a ProjectFiles, edit: &str) -> Option<&'a str> {
    let quoted = quoted_lines(edit);
    let has_all = |text: &str| {
        quoted
            .iter()
            .all(|line| text.lines().any(|other| other.trim() == line.trim()))
    };
    let mut found = shown.files.iter().filter(|(_, text)| has_all(text));
    let first = found.next().filter(|_| !quoted.is_empty() && found.next().is_none());
    first.map(|(path, _)| path.as_str())
}

/// The shown file with all of its definitions in `content`, if there is exactly one.
fn only_defining_file<'a>(shown: &'a ProjectFiles, content: &str) -> Option<&'a str> {
    let is_new_version = |old: &str| has_definitions(old) && keeps_definitions(old, content);
    let mut found = shown.files.iter().filter(|(_, text)| is_new_version(text));
    found
        .next()
        .filter(|_| found.next().is_none())
        .map(|(path, _)| path.as_str())
}

/// Whether a reply is the task of a prompt.
pub fn repeats_task(reply: &str, prompt: &str) -> bool {
    let task = |text: &str| text.rsplit("The task:").next().unwrap_or(text).trim().to_owned();
    !task(prompt).is_empty() && task(reply) == task(prompt)
}

fn only_file<'a>(shown: &'a ProjectFiles, task: &'a str) -> Option<&'a str> {
    // The task follows the files.
    let task = task.rsplit("\nThe task:").next().unwrap_or(task);
    let words = task.split(|letter: char| letter.is_whitespace() || "`'\"(),:;".contains(letter));
    let mut named: Vec<&str> = words
        .map(|word| word.trim_end_matches(['.', '?', '!']))
        .filter(|word| is_path(word))
        .collect();
    named.sort_unstable();
    named.dedup();
    match (&named[..], &shown.files[..]) {
        ([only], _) => Some(*only),
        ([], [(only, _)]) if shown.others.is_empty() => Some(only.as_str()),
        _ => None,
    }
}

fn whole_file(path: &str, content: &str, shown: &ProjectFiles) -> Option<WrittenCall> {
    let old = shown
        .files
        .iter()
        .find(|(known, _)| known == path)
        .map_or("", |(_, text)| text.as_str());
    keeps_definitions(old, content).then(|| WrittenCall {
        name: "write_file".into(),
        input: [("path".to_owned(), path.into()), ("content".to_owned(), content.into())]
            .into_iter()
            .collect(),
    })
}

/// Whether a new version of a file contains the names of all definitions of the old one.
fn keeps_definitions(old: &str, new: &str) -> bool {
    let new = words(new);
    defined_names(old).iter().all(|name| new.contains(name))
}

fn has_definitions(text: &str) -> bool {
    !defined_names(text).is_empty()
}

/// The words after keywords of definitions.
fn defined_names(text: &str) -> Vec<String> {
    const KEYWORDS: [&str; 9] = [
        "def",
        "class",
        "function",
        "fn",
        "sub",
        "struct",
        "interface",
        "TABLE",
        "module.exports",
    ];
    let words = words(text);
    let defined = words.windows(2).filter(|pair| KEYWORDS.contains(&pair[0].as_str()));
    defined.map(|pair| pair[1].clone()).collect()
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && !"_.".contains(letter));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// The note with the files of a project, in the form in which a small model writes files. `None` without files.
pub fn shown_files_note(shown: &ProjectFiles) -> Option<String> {
    if shown.files.is_empty() && shown.others.is_empty() {
        return None;
    }
    let mut note = String::from("The files of the project:\n");
    for (path, text) in &shown.files {
        let fence = if text.contains("```") { "~~~~" } else { "```" };
        let end = if text.ends_with('\n') { "" } else { "\n" };
        note.push_str(&format!("\n{path}\n{fence}\n{text}{end}{fence}\n"));
    }
    if !shown.others.is_empty() {
        note.push_str(&format!("\nOther files: {}\n", shown.others.join(", ")));
    }
    Some(note + "\nThe task:")
}

/// The prompt after a reply without calls, if all earlier calls failed.
pub fn failed_calls_message() -> Message {
    Message::user(
        "All of your calls failed, so nothing is done yet. Write each changed file in full, with its path on the line above \
         the code block, or call one of the tools that are listed above.",
    )
}

/// Asks a small model to name the file of its code.
pub fn unnamed_code_message() -> Message {
    Message::user(
        "Nothing was changed yet: your code block has no file name. Write the path of the file on a line of its own and, directly below it, the complete content of the file in a code block. To run a command, use a code block with the language sh. If nothing has to be changed, answer in plain words.",
    )
}

/// The system prompt for a small model.
pub(crate) fn small_model_prompt(facts: &PromptEnvironment, input: &SystemPromptInput<'_>) -> SystemPrompt {
    let can_write = input.listed.iter().any(|tool| tool.name == "write_file");
    let mut text = format!(
        "You are hew, a coding agent. You work on the project in {}. ",
        facts.root.display()
    );
    text.push_str(match can_write {
        true => DIRECT_EDITS,
        false => "Answer in plain words.\n",
    });
    match input.protocol() {
        CallProtocol::Xml => text.push_str(
            "To read another file, write this and nothing else:\n\n<read_file>\n<path>src/main.py</path>\n</read_file>",
        ),
        CallProtocol::Native => text.push_str("To read another file, call the tool `read_file` with its path."),
    }
    let instructions = input.mode.instructions.trim();
    if !instructions.is_empty() {
        text.push_str("\n\n");
        text.push_str(instructions);
    }
    let mut rendered = SystemPrompt::default();
    let rules: Vec<RulesFile> = facts.rules.iter().chain(&facts.mode_rules).cloned().collect();
    let rules = crate::budget::cut_middle(&quote_rules(&rules, MAX_RULES_FILE_BYTES), MAX_RULES);
    for (name, text) in [("small", text), ("instructions", rules)] {
        if !text.is_empty() {
            rendered.push_block(name, text);
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
        let is_listed = |name: &str| name == "read_file";
        let listed = small_model_tools(&all, is_listed);
        assert_eq!(listed.len(), 1);
        assert_eq!(
            listed[0].input_schema["properties"],
            json!({"path": {"type": "string"}})
        );
        let others: Arc<[ToolSpec]> = [tool("answer", &["path"])].into();
        assert_eq!(small_model_tools(&others, is_listed), others);
    }
}
