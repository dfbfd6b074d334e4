//! The project files that hew reads as instructions, rules or settings. All of them are protected.

/// Rules files that agents share; the first one in a folder is used.
pub const SHARED_RULES: &[&str] = &["AGENTS.override.md", "AGENTS.md", "AGENT.md"];
/// Rules files of single agents; the first one in a folder is used, after the shared one. A folder of such a name
/// contains several files.
pub const AGENT_RULES: &[&str] = &[
    ".rules",
    ".cursorrules",
    ".windsurfrules",
    ".roorules",
    ".clinerules",
    ".github/copilot-instructions.md",
    "CLAUDE.md",
    ".claude/CLAUDE.md",
    "GEMINI.md",
    "CRUSH.md",
    "rules.md",
];
/// Rules files that are not shared with others; all of them are used.
pub const LOCAL_RULES: &[&str] = &["AGENTS.local.md", "CLAUDE.local.md", "CRUSH.local.md"];
/// Folders that contain rules folders, in increasing precedence.
pub const RULES_FOLDERS: [&str; 2] = [".roo", ".hew"];
/// Folders with instructions for some files.
pub const INSTRUCTION_FOLDERS: &[&str] = &[
    ".claude/rules",
    ".cursor/rules",
    ".windsurf/rules",
    ".github/instructions",
    ".hew/instructions",
];
/// Folders with slash commands, in increasing precedence.
pub const COMMAND_FOLDERS: &[&str] = &[".github/prompts", ".claude/commands", ".roo/commands", ".hew/commands"];
/// Folders with skills.
pub const SKILL_FOLDERS: [&str; 3] = [".claude/skills", ".agents/skills", ".hew/skills"];
/// Files with modes, in increasing precedence.
pub const MODE_FILES: [&str; 2] = [".roomodes", ".hew/modes.yaml"];
/// Ignore files in the project directory.
pub const IGNORE_FILES: [&str; 3] = [".hewignore", ".rooignore", ".aiignore"];

/// All of the above, relative to a folder of the project.
pub(super) fn all() -> impl Iterator<Item = &'static str> {
    let files = [SHARED_RULES, AGENT_RULES, LOCAL_RULES, &MODE_FILES, &IGNORE_FILES];
    let folders = [&RULES_FOLDERS, INSTRUCTION_FOLDERS, COMMAND_FOLDERS, &SKILL_FOLDERS];
    files.into_iter().chain(folders).flatten().copied()
}
