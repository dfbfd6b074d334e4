//! Custom modes from `.hew/modes.yaml` and `.roomodes`.
//!
//! Entries are independent: an invalid one is reported and the others are loaded, even if the file as a whole is not
//! valid YAML.

use crate::pattern_limits::is_bounded_yaml;
use crate::{ConfigProblem, Error, FileRule, Mode, ToolGroup};
use serde::Deserialize;
use serde_json::Value;

/// Maximum size of a file.
const MAX_BYTES: usize = 1024 * 1024;

/// All available modes. A later mode replaces an earlier one with the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeSet {
    list: Vec<Mode>,
}

impl Default for ModeSet {
    fn default() -> Self {
        ModeSet { list: Mode::built_in() }
    }
}

impl ModeSet {
    /// Adds modes; a mode with a known name replaces it.
    pub fn add(&mut self, modes: Vec<Mode>) {
        for mode in modes {
            match self.list.iter_mut().find(|old| old.name == mode.name) {
                Some(old) => *old = mode,
                None => self.list.push(mode),
            }
        }
    }

    /// Returns the mode with this name.
    pub fn get(&self, name: &str) -> Option<&Mode> {
        self.list.iter().find(|mode| mode.name == name)
    }

    /// All modes in display order.
    pub fn iter(&self) -> impl Iterator<Item = &Mode> {
        self.list.iter()
    }
}

/// Parses custom modes.
pub fn parse_modes(file: &str, text: &str) -> (Vec<Mode>, Vec<ConfigProblem>) {
    let mut reader = ModeFileParser {
        file,
        modes: Vec::new(),
        problems: Vec::new(),
    };
    if text.len() > MAX_BYTES {
        reader.report("file", "it is larger than 1 MiB");
    } else if !is_bounded_yaml(text) {
        reader.report("file", "it is too deeply nested");
    } else {
        reader.read(&normalize_pasted(text));
    }
    (reader.modes, reader.problems)
}

struct ModeFileParser<'f> {
    file: &'f str,
    modes: Vec<Mode>,
    problems: Vec<ConfigProblem>,
}

/// The whole file; Roo Code uses the aliases.
#[derive(Deserialize)]
struct ModesFile {
    #[serde(alias = "customModes", alias = "custom_modes")]
    modes: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct ModeEntry {
    slug: String,
    name: Option<String>,
    #[serde(alias = "roleDefinition", alias = "role_definition")]
    role: String,
    #[serde(default, alias = "customInstructions", alias = "custom_instructions")]
    instructions: Option<String>,
    #[serde(default, alias = "whenToUse")]
    when_to_use: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    model: Option<String>,
    groups: Vec<GroupEntry>,
}

/// A group by name, optionally restricted to some files.
#[derive(Deserialize)]
#[serde(untagged)]
enum GroupEntry {
    Name(String),
    Confined(String, FilesEntry),
}

#[derive(Deserialize)]
struct FilesEntry {
    #[serde(default, alias = "fileRegex", alias = "file_regex")]
    files: Option<String>,
    #[serde(default)]
    description: Option<String>,
}

impl ModeFileParser<'_> {
    fn report(&mut self, entry: &str, message: &str) {
        self.problems.push(ConfigProblem {
            file: self.file.to_owned(),
            entry: entry.to_owned(),
            message: message.to_owned(),
        });
    }

    fn read(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        match parse_yaml::<ModesFile>(text) {
            Ok(ModesFile { modes: Some(entries) }) => {
                for (at, entry) in entries.into_iter().enumerate() {
                    self.entry(at, entry);
                }
            }
            Ok(ModesFile { modes: None }) => self.report("file", "it has no list of `modes`"),
            Err(error) => self.parse_entries_separately(text, &first_line(&error)),
        }
    }

    /// Parses entries one by one if the file as a whole is not valid.
    fn parse_entries_separately(&mut self, text: &str, message: &str) {
        let pieces = entries(text);
        if pieces.is_empty() {
            return self.report("file", message);
        }
        for (at, piece) in pieces.into_iter().enumerate() {
            match parse_yaml::<Vec<Value>>(&piece) {
                Ok(values) => {
                    for value in values {
                        self.entry(at, value);
                    }
                }
                Err(error) => {
                    let label = piece
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .trim_start_matches(['-', ' '])
                        .to_owned();
                    self.report(&label, &first_line(&error));
                }
            }
        }
    }

    fn entry(&mut self, at: usize, value: Value) {
        let label = value
            .get("slug")
            .and_then(Value::as_str)
            .map_or_else(|| format!("entry {}", at + 1), str::to_owned);
        let entry: ModeEntry = match serde_json::from_value(value) {
            Ok(entry) => entry,
            Err(error) => {
                let message = match error.to_string() {
                    message if message.contains("untagged") => {
                        "a group is a name, or a name followed by `fileRegex` and `description`".to_owned()
                    }
                    message => message,
                };
                return self.report(&label, &message);
            }
        };
        match mode(entry) {
            Ok(mode) if self.modes.iter().any(|known| known.name == mode.name) => {
                self.report(&label, "an earlier entry has the same slug");
            }
            Ok(mode) => self.modes.push(mode),
            Err(error) => self.report(&label, &error.to_string()),
        }
    }
}

/// An error in an entry.
#[derive(Debug, thiserror::Error)]
enum ModeEntryError {
    #[error("the slug may only contain letters, digits and dashes")]
    Slug,
    #[error("the role is empty")]
    EmptyRole,
    #[error("the name is empty")]
    EmptyName,
    #[error("the group `{0}` is listed twice")]
    DuplicateGroup(String),
    #[error("unknown group `{0}`; available groups: read, edit, command, browser, mcp, modes")]
    UnknownGroup(String),
    #[error(transparent)]
    Pattern(#[from] Error),
}

fn mode(entry: ModeEntry) -> Result<Mode, ModeEntryError> {
    if entry.slug.is_empty() || !entry.slug.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err(ModeEntryError::Slug);
    }
    if entry.role.trim().is_empty() {
        return Err(ModeEntryError::EmptyRole);
    }
    if entry.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err(ModeEntryError::EmptyName);
    }
    let (mut groups, mut files) = (Vec::new(), Vec::new());
    for item in entry.groups {
        let (name, confined) = match item {
            GroupEntry::Name(name) => (name, None),
            GroupEntry::Confined(name, confined) => (name, Some(confined)),
        };
        let group = group(&name)?;
        if groups.contains(&group) {
            return Err(ModeEntryError::DuplicateGroup(name));
        }
        groups.push(group);
        if let Some(FilesEntry {
            files: Some(pattern),
            description,
        }) = confined
        {
            let rule = FileRule {
                group,
                pattern,
                description,
            };
            rule.check()?;
            files.push(rule);
        }
    }
    // Every mode can be left.
    if !groups.contains(&ToolGroup::Modes) {
        groups.push(ToolGroup::Modes);
    }
    Ok(Mode {
        title: entry.name.unwrap_or_else(|| entry.slug.clone()),
        name: entry.slug,
        groups,
        role: entry.role,
        instructions: entry.instructions.unwrap_or_default(),
        when_to_use: entry.when_to_use.or(entry.description).unwrap_or_default(),
        model: entry.model,
        files,
        only: None,
    })
}

fn group(name: &str) -> Result<ToolGroup, ModeEntryError> {
    match name {
        "read" => Ok(ToolGroup::Read),
        "edit" => Ok(ToolGroup::Edit),
        "command" => Ok(ToolGroup::Command),
        "browser" => Ok(ToolGroup::Browser),
        "mcp" => Ok(ToolGroup::Mcp),
        "modes" => Ok(ToolGroup::Modes),
        _ => Err(ModeEntryError::UnknownGroup(name.to_owned())),
    }
}

fn parse_yaml<T: for<'de> Deserialize<'de>>(text: &str) -> serde_yaml_ng::Result<T> {
    serde_yaml_ng::from_str(text)
}

fn first_line(error: &serde_yaml_ng::Error) -> String {
    error.to_string().lines().next().unwrap_or_default().to_owned()
}

/// Splits a file into the entries of its first list.
fn entries(text: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut indent = None;
    for line in text.lines() {
        let depth = line.len() - line.trim_start_matches(' ').len();
        let starts = line[depth..].starts_with("- ") || &line[depth..] == "-";
        match indent {
            None if starts => indent = Some(depth),
            None => continue,
            Some(_) => {}
        }
        if starts && indent == Some(depth) {
            pieces.push(String::new());
        } else if depth < indent.unwrap_or(0) && !line.trim().is_empty() && !line[depth..].starts_with('#') {
            break;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push_str(line.get(indent.unwrap_or(0)..).unwrap_or_default());
            piece.push('\n');
        }
    }
    pieces
}

/// Reverts typographic changes by word processors and chat programs.
fn normalize_pasted(text: &str) -> String {
    text.trim_start_matches('\u{feff}')
        .chars()
        .filter(|c| !matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'))
        .map(|c| match c {
            '\u{a0}' => ' ',
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201c}' | '\u{201d}' => '"',
            '\u{2010}'..='\u{2015}' => '-',
            other => other,
        })
        .collect()
}
