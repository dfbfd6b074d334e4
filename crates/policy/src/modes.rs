//! Custom modes, as people write them in `.hew/modes.yaml` and `.roomodes`.
//!
//! Every entry stands for itself: a bad one is reported, and the rest still counts, even when the file as a whole is not
//! valid YAML.

use crate::{FileRule, Group, Mode, Problem};
use serde::Deserialize;
use serde_json::Value;

/// Larger files are not read.
const MOST_BYTES: usize = 1024 * 1024;

/// All modes that can be chosen, later ones in place of earlier ones of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Modes {
    list: Vec<Mode>,
}

impl Default for Modes {
    fn default() -> Self {
        Modes { list: Mode::built_in() }
    }
}

impl Modes {
    /// Adds modes; one with a known name takes the place of the one before.
    pub fn add(&mut self, modes: Vec<Mode>) {
        for mode in modes {
            match self.list.iter_mut().find(|old| old.name == mode.name) {
                Some(old) => *old = mode,
                None => self.list.push(mode),
            }
        }
    }

    /// The mode of this name.
    pub fn get(&self, name: &str) -> Option<&Mode> {
        self.list.iter().find(|mode| mode.name == name)
    }

    /// All modes, in the order in which they are shown.
    pub fn iter(&self) -> impl Iterator<Item = &Mode> {
        self.list.iter()
    }
}

/// Reads custom modes from the text of a file.
pub fn parse_modes(file: &str, text: &str) -> (Vec<Mode>, Vec<Problem>) {
    let mut reader = Reader {
        file,
        modes: Vec::new(),
        problems: Vec::new(),
    };
    if text.len() > MOST_BYTES {
        reader.report("file", "it is larger than 1 MiB");
    } else {
        reader.read(&tidy(text));
    }
    (reader.modes, reader.problems)
}

struct Reader<'f> {
    file: &'f str,
    modes: Vec<Mode>,
    problems: Vec<Problem>,
}

/// The file as a whole; the second name is the one that Roo Code uses.
#[derive(Deserialize)]
struct Document {
    #[serde(alias = "customModes", alias = "custom_modes")]
    modes: Option<Vec<Value>>,
}

#[derive(Deserialize)]
struct Entry {
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

/// A group by its name, or confined to some files.
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

impl Reader<'_> {
    fn report(&mut self, entry: &str, message: &str) {
        self.problems.push(Problem {
            file: self.file.to_owned(),
            entry: entry.to_owned(),
            message: message.to_owned(),
        });
    }

    fn read(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        match parse_yaml::<Document>(text) {
            Ok(Document { modes: Some(entries) }) => {
                for (at, entry) in entries.into_iter().enumerate() {
                    self.entry(at, entry);
                }
            }
            Ok(Document { modes: None }) => self.report("file", "it has no list of `modes`"),
            Err(message) => self.piecewise(text, &message),
        }
    }

    /// Reads one entry after another where the file as a whole cannot be read.
    fn piecewise(&mut self, text: &str, message: &str) {
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
                Err(message) => {
                    let label = piece
                        .lines()
                        .next()
                        .unwrap_or_default()
                        .trim_start_matches(['-', ' '])
                        .to_owned();
                    self.report(&label, &message);
                }
            }
        }
    }

    fn entry(&mut self, at: usize, value: Value) {
        let label = value
            .get("slug")
            .and_then(Value::as_str)
            .map_or_else(|| format!("entry {}", at + 1), str::to_owned);
        let entry: Entry = match serde_json::from_value(value) {
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
                self.report(&label, "an entry before it has the same slug");
            }
            Ok(mode) => self.modes.push(mode),
            Err(message) => self.report(&label, &message),
        }
    }
}

fn mode(entry: Entry) -> Result<Mode, String> {
    if entry.slug.is_empty() || !entry.slug.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
        return Err("the slug may hold letters, digits and dashes only".into());
    }
    if entry.role.trim().is_empty() {
        return Err("the role is empty".into());
    }
    if entry.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
        return Err("the name is empty".into());
    }
    let (mut groups, mut files) = (Vec::new(), Vec::new());
    for item in entry.groups {
        let (name, confined) = match item {
            GroupEntry::Name(name) => (name, None),
            GroupEntry::Confined(name, confined) => (name, Some(confined)),
        };
        let group = group(&name)?;
        if groups.contains(&group) {
            return Err(format!("the group `{name}` stands there twice"));
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
            rule.check().map_err(|error| error.to_string())?;
            files.push(rule);
        }
    }
    // Every mode can be left again.
    if !groups.contains(&Group::Modes) {
        groups.push(Group::Modes);
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

fn group(name: &str) -> Result<Group, String> {
    match name {
        "read" => Ok(Group::Read),
        "edit" => Ok(Group::Edit),
        "command" => Ok(Group::Command),
        "browser" => Ok(Group::Browser),
        "mcp" => Ok(Group::Mcp),
        "modes" => Ok(Group::Modes),
        _ => Err(format!(
            "there is no group `{name}`; the groups are read, edit, command, browser, mcp and modes"
        )),
    }
}

fn parse_yaml<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    serde_yaml_ng::from_str(text).map_err(|error| {
        let message = error.to_string();
        message.lines().next().unwrap_or_default().to_owned()
    })
}

/// Cuts a file into the entries of its first list.
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

/// Undoes what word processors and chat programs do to pasted text.
fn tidy(text: &str) -> String {
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
