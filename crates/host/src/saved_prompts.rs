//! Saved prompts: finds, writes and changes their files, Markdown with a front matter.

use crate::config::LoadedConfig;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::{atomic, project_context};
use context::SavedPrompt;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The prompt files of the user and of a project.
#[derive(Debug)]
pub struct PromptFiles<'a> {
    /// The project.
    pub root: &'a Path,
    /// Its configuration.
    pub loaded: &'a LoadedConfig,
    /// The process.
    pub env: &'a ProcessEnv,
}

/// A prompt to save.
#[derive(Debug, Clone, Copy)]
pub struct NewPrompt<'a> {
    /// Its name; `a:b` puts it into the folder `a`.
    pub name: &'a str,
    /// A description.
    pub description: Option<&'a str>,
    /// Whether every session includes it.
    pub default: bool,
    /// Whether it is saved in the project.
    pub in_project: bool,
}

impl PromptFiles<'_> {
    /// All prompts by name.
    pub fn all(&self) -> Result<BTreeMap<String, SavedPrompt>> {
        project_context::prompts(self.root, self.loaded, self.env)
    }

    /// The prompt with this name.
    pub fn find(&self, name: &str) -> Result<SavedPrompt> {
        let mut all = self.all()?;
        all.remove(name).ok_or_else(|| {
            let names: Vec<&str> = all.keys().map(String::as_str).collect();
            let hint = match names.is_empty() {
                true => "add one with `hew prompts add`".to_owned(),
                false => format!("saved prompts: {}", names.join(", ")),
            };
            Failure::usage(format!("no prompt named `{name}`")).hint(hint)
        })
    }

    /// Writes a new prompt, without a text only its front matter. Returns its file.
    pub fn add(&self, prompt: &NewPrompt<'_>, text: Option<&str>) -> Result<PathBuf> {
        let name = prompt.name;
        let path = self.path(name, prompt.in_project)?;
        if path.exists() {
            return Err(Failure::usage(format!("the prompt `{name}` already exists"))
                .hint(format!("edit it with `hew prompts edit {name}`")));
        }
        let front = front_matter(prompt.description, prompt.default);
        write(&path, &format!("{front}{}\n", text.unwrap_or_default().trim_end()))?;
        Ok(path)
    }

    /// Removes a new prompt if nothing was written into it.
    pub fn discard_if_empty(&self, path: &Path) -> Result<()> {
        let text = read(path)?;
        if prompt::FrontMatter::split(&text).1.trim().is_empty() {
            std::fs::remove_file(path).map_err(|error| Failure::file("remove", path, &error))?;
            return Err(Failure::usage("the prompt is empty; nothing was saved"));
        }
        Ok(())
    }

    /// Replaces the text of a prompt; its front matter stays.
    pub fn replace_text(&self, name: &str, text: &str) -> Result<()> {
        let path = self.find(name)?.path;
        let old = read(&path)?;
        let (_, body) = prompt::FrontMatter::split(&old);
        let front = &old[..old.len() - body.len()];
        write(&path, &format!("{front}{}\n", text.trim_end()))
    }

    /// Removes a prompt. Returns its file.
    pub fn remove(&self, name: &str) -> Result<PathBuf> {
        let path = self.find(name)?.path;
        std::fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?;
        Ok(path)
    }

    /// Includes a prompt in every session, or no longer.
    pub fn set_default(&self, name: &str, default: bool) -> Result<()> {
        let path = self.find(name)?.path;
        let text = read(&path)?;
        write(&path, &with_default(&text, default))
    }

    /// The file of a prompt.
    fn path(&self, name: &str, project: bool) -> Result<PathBuf> {
        let is_part = |part: &str| {
            let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            !part.is_empty() && !part.starts_with('.') && part.chars().all(fits)
        };
        if !name.split(':').all(is_part) {
            return Err(Failure::usage(format!("invalid prompt name `{name}`"))
                .hint("use letters, digits, `-`, `_` and `.`, with `:` between folders"));
        }
        let folder = match project {
            true => self.root.join(context::PROJECT_PROMPTS),
            false => project_context::user_config_folder(self.env)
                .ok_or_else(|| Failure::usage("HOME is not set, so hew does not know where your prompts are"))?
                .join(context::USER_PROMPTS),
        };
        Ok(folder.join(format!("{}.md", name.replace(':', "/"))))
    }
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))
}

fn write(path: &Path, text: &str) -> Result<()> {
    atomic::write(path, text).map_err(|error| Failure::file("write", path, &error))
}

fn front_matter(description: Option<&str>, default: bool) -> String {
    let described = description.map(|text| format!("description: {}\n", json!(text.trim())));
    let default = default.then(|| "default: true\n".to_owned());
    let lines: String = described.into_iter().chain(default).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("---\n{lines}---\n"),
    }
}

/// Sets or removes `default` in the front matter of a text.
fn with_default(text: &str, default: bool) -> String {
    let (_, body) = prompt::FrontMatter::split(text);
    let front = &text[..text.len() - body.len()];
    let others = front.lines().filter(|line| {
        let line = line.trim_end();
        line != "---" && !line.starts_with("default:") && !line.trim_start_matches('\u{feff}').is_empty()
    });
    let mut lines: Vec<&str> = others.collect();
    if default {
        lines.push("default: true");
    }
    match lines.is_empty() {
        true => body.to_owned(),
        false => format!("---\n{}\n---\n{body}", lines.join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_is_set_and_removed_in_the_front_matter() {
        let cases = [
            ("Text.\n", "---\ndefault: true\n---\nText.\n", "Text.\n"),
            (
                "---\ndescription: d\n---\nText.\n",
                "---\ndescription: d\ndefault: true\n---\nText.\n",
                "---\ndescription: d\n---\nText.\n",
            ),
            ("---\ndefault: false\n---\nT", "---\ndefault: true\n---\nT", "T"),
        ];
        for (text, on, off) in cases {
            assert_eq!(with_default(text, true), on);
            assert_eq!(with_default(on, true), on);
            assert_eq!(with_default(text, false), off);
        }
    }

    #[test]
    fn a_written_front_matter_can_be_read() {
        let text = format!("{}Body", front_matter(Some("It: \"does\""), true));
        let (read, body) = prompt::FrontMatter::split(&text);
        assert_eq!(
            (read.get(&["description"]), read.flag("default"), body),
            (Some("It: \"does\""), Some(true), "Body")
        );
        assert_eq!(front_matter(None, false), "");
    }
}
