//! Loads the instructions of a skill: a directory with a SKILL.md.

use std::path::Path;
use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    CallContext, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolKind, ToolListing, ToolSet, erase,
};
use workspace::{Location, Workspace};

use crate::middleware::append_description;
use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;
use crate::support::project::{run_blocking, tool_error};
use crate::support::skills::{FILE, FILE_BYTES, SkillInfo, all, belongs, catalogue, split};

/// The instructions that Roo Code's `fetch_instructions` returns.
const SETUP_INSTRUCTIONS: [(&str, &str); 2] = [("create_mode", CREATE_MODE), ("create_mcp_server", CREATE_MCP_SERVER)];
const CREATE_MODE: &str = "\
A mode is an entry of `modes` in `.hew/modes.yaml` of the project, or in `modes.yaml` next to the user's configuration:

modes:
  - slug: docs
    name: Documentation
    role: You write documentation.
    instructions: Short sentences.
    when_to_use: To write or correct documentation.
    groups:
      - read
      - [edit, { files: '\\.md$', description: Markdown only }]

The groups are read, edit, command, browser, mcp and modes. New sessions have the mode; `hew modes` lists it.";
const CREATE_MCP_SERVER: &str = "\
An MCP server is a program that speaks the Model Context Protocol over stdin and stdout, or an HTTP address. Write the
program with one of the official SDKs, in a folder of its own, and add it with one of

hew mcp add NAME -- COMMAND ARGUMENTS
hew mcp add NAME --url URL

`--project` adds it to the project's configuration. `hew mcp test NAME` connects to it and lists its tools.";

/// Maximum number of files listed.
const MAX_FILES: usize = 50;

/// The tool, with the known skills.
pub(crate) struct SkillTool(Vec<SkillInfo>);

/// Loads the instructions of a skill. Load it before a task that it is for:
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "skill", alias = "id", alias = "skill_name")]
    name: String,
    /// A file of the skill, instead of its instructions.
    file: Option<String>,
    #[schemars(skip)]
    #[serde(alias = "arguments")]
    args: Option<String>,
}

impl BuiltIn for SkillTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        let known = all(&parts.options.skills, &parts.project.workspace);
        if known.is_empty() {
            return None;
        }
        let catalogue = catalogue(&known);
        Some(append_description(erase(SkillTool(known)), &catalogue))
    }
}

impl Tool for SkillTool {
    const NAME: &'static str = "skill";
    const ALIASES: &'static [&'static str] = &["skill_load", "load_skill", "use_skill", "Skill", "fetch_instructions"];
    const EFFECT: ToolEffect = ToolEffect::ReadOnly;
    const FACTS: ToolFacts = ToolFacts {
        listing: ToolListing::Listed,
        kind: ToolKind::Read,
        sets: &[ToolSet::AskProfile],
        peers: &[
            (PeerAgent::Zed, &["skill"]),
            (PeerAgent::RooCode, &["run_slash_command", "skill"]),
            (PeerAgent::ContextPilot, &["skill_load"]),
            (PeerAgent::ClaudeCode, &["Skill", "SlashCommand"]),
            (PeerAgent::GeminiCli, &["activate_skill"]),
            (PeerAgent::OpenCode, &["skill"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match &input.file {
            Some(file) => format!("{}/{file}", input.name),
            None => input.name.clone(),
        }
    }

    /// Other agents call a skill a command: `/name arguments`.
    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        arguments::rename(input, &["skill", "command", "task", "skill_name", "id"], "name");
        let Some(given) = arguments::text(input, "name") else {
            return;
        };
        let (name, args) = match given
            .strip_prefix('/')
            .map(|given| given.split_once(char::is_whitespace))
        {
            Some(Some((name, args))) => (name.to_owned(), Some(args.trim().to_owned())),
            Some(None) => (given.trim_start_matches('/').to_owned(), None),
            None => (given.to_owned(), None),
        };
        input.insert("name".into(), name.into());
        if let Some(args) = args {
            input.entry("args").or_insert(args.into());
        }
    }

    /// Skill directories are configured to be read.
    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, _: CallContext) -> Result<Output, Error> {
        let name = input.name.trim();
        let own = self.0.iter().any(|skill| skill.name == name);
        if let Some((_, text)) = SETUP_INSTRUCTIONS.iter().find(|(known, _)| !own && *known == name) {
            return Ok(Output::text(*text));
        }
        let Some(skill) = self.0.iter().find(|skill| skill.name == name).cloned() else {
            let names: Vec<&str> = self.0.iter().map(|skill| skill.name.as_str()).collect();
            return Err(Error::Failed(format!(
                "there is no skill `{name}`; there are: {}",
                names.join(", ")
            )));
        };
        run_blocking(move || load(&skill, &input)).await
    }
}

fn load(skill: &SkillInfo, input: &Input) -> Result<Output, Error> {
    let folder = Workspace::open(&skill.folder).map_err(tool_error)?;
    let name = input
        .file
        .as_deref()
        .map_or(FILE, |file| file.trim().trim_start_matches("./"));
    let file = folder.locate(name).map_err(tool_error)?;
    let may_be_shown = match &skill.project {
        Some(project) => belongs(file.path(), project),
        None => true,
    };
    if !may_be_shown || !file.path().starts_with(folder.root()) {
        return Err(Error::Failed(format!(
            "`{name}` is not a file of the skill {}",
            skill.name
        )));
    }
    let bytes = file.read_bytes(FILE_BYTES).map_err(tool_error)?;
    let text = String::from_utf8_lossy(&bytes);
    if input.file.is_some() {
        return Ok(Output::text(text.into_owned()).with_summary(format!("{} bytes", bytes.len())));
    }
    let (_, body) = split(&text);
    let mut result = format!(
        "# Skill {} (in {})\n{}",
        skill.name,
        folder.root().display(),
        body.trim()
    );
    if let Some(args) = input.args.as_deref().filter(|args| !args.trim().is_empty()) {
        result.push_str(&format!("\n\nArguments: {args}"));
    }
    let files = bundled(&folder.locate("").map_err(tool_error)?, folder.root());
    if !files.is_empty() {
        result.push_str(&format!("\n\nFiles (load with `file`):\n{}", files.join("\n")));
    }
    Ok(Output::text(result).with_summary(format!("{} bytes", bytes.len())))
}

fn bundled(folder: &Location, root: &Path) -> Vec<String> {
    let mut files: Vec<String> = folder
        .names_below(MAX_FILES * 2)
        .into_iter()
        .filter(|path| path.is_file())
        .filter_map(|path| Some(path.strip_prefix(root).ok()?.to_string_lossy().into_owned()))
        .filter(|name| name != FILE)
        .collect();
    files.sort();
    let more = files.len().saturating_sub(MAX_FILES);
    files.truncate(MAX_FILES);
    if more > 0 {
        files.push(format!("[and {more} more]"));
    }
    files
}
