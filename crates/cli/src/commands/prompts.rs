//! `hew prompts`: manages saved prompts, Markdown files with a front matter.

use super::load;
use crate::args::{GlobalArgs, PromptsCommand, PromptsListArgs};
use crate::config::LoadedConfig;
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{atomic, input, output, paths};
use context::SavedPrompt;
use host::project_context;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

pub(super) fn prompts(
    listed: &PromptsListArgs,
    command: Option<PromptsCommand>,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let files = PromptFiles {
        root,
        loaded,
        env: env.clone(),
    };
    match command {
        None => files.list(listed.json)?,
        Some(PromptsCommand::List(list)) => files.list(list.json || listed.json)?,
        Some(PromptsCommand::Show { name }) => output::print_checked(&format!("{}\n", files.find(&name)?.text))?,
        Some(PromptsCommand::Add {
            name,
            text,
            description,
            default,
            project,
        }) => {
            let front = front_matter(description.as_deref(), default);
            files.add(&name, &text, &front, project)?;
        }
        Some(PromptsCommand::Edit { name, text }) => files.edit(&name, &text)?,
        Some(PromptsCommand::Remove { name }) => {
            let path = files.find(&name)?.path;
            std::fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?;
            output::print_checked(&format!("removed {}\n", paths::display_path(&path, env)))?;
        }
        Some(PromptsCommand::Default { name, off }) => {
            let path = files.find(&name)?.path;
            let text = read(&path)?;
            write(&path, &with_default(&text, !off))?;
            output::print_checked(match off {
                false => "included in every session from now on\n",
                true => "no longer included by default\n",
            })?;
        }
    }
    Ok(ExitStatus::Done)
}

/// The prompt files of the user and of a project.
struct PromptFiles {
    root: PathBuf,
    loaded: LoadedConfig,
    env: ProcessEnv,
}

impl PromptFiles {
    fn all(&self) -> Result<BTreeMap<String, SavedPrompt>> {
        project_context::prompts(&self.root, &self.loaded, &self.env)
    }

    fn find(&self, name: &str) -> Result<SavedPrompt> {
        let mut all = self.all()?;
        let missing = || {
            let names: Vec<&str> = all.keys().map(String::as_str).collect();
            let hint = match names.is_empty() {
                true => "add one with `hew prompts add`".to_owned(),
                false => format!("saved prompts: {}", names.join(", ")),
            };
            Failure::usage(format!("no prompt named `{name}`")).hint(hint)
        };
        match all.contains_key(name) {
            true => all
                .remove(name)
                .ok_or_else(|| Failure::failed(format!("no prompt named `{name}`"))),
            false => Err(missing()),
        }
    }

    fn list(&self, json: bool) -> Result<()> {
        let all = self.all()?;
        if json {
            let list: Vec<Value> = all.values().map(prompt_json).collect();
            return output::print_checked(&output::pretty(&list)?);
        }
        if all.is_empty() {
            return output::print_checked("no saved prompts; add one with `hew prompts add NAME \"…\"`\n");
        }
        let mut text = String::new();
        for saved in all.values() {
            let marked = if saved.default { "  (default)" } else { "" };
            let first = saved.text.lines().next().unwrap_or_default();
            let about = saved.description.as_deref().unwrap_or(first);
            text.push_str(&format!("{}{marked}  {about}\n", saved.name));
            text.push_str(&format!("    from: {}\n", paths::display_path(&saved.path, &self.env)));
        }
        output::print_checked(&text)
    }

    fn add(&self, name: &str, words: &[String], front: &str, project: bool) -> Result<()> {
        let path = self.path(name, project)?;
        if path.exists() {
            return Err(Failure::usage(format!("the prompt `{name}` already exists"))
                .hint(format!("edit it with `hew prompts edit {name}`")));
        }
        let text = match text_argument(words)? {
            Some(text) => text,
            None => {
                write(&path, &format!("{front}\n"))?;
                self.open(&path)?;
                if read(&path)?.trim().is_empty() {
                    std::fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?;
                    return Err(Failure::usage("the prompt is empty; nothing was saved"));
                }
                return output::print_checked(&self.saved_message(name, &path));
            }
        };
        write(&path, &format!("{front}{}\n", text.trim_end()))?;
        output::print_checked(&self.saved_message(name, &path))
    }

    fn saved_message(&self, name: &str, path: &Path) -> String {
        format!(
            "saved in {}; mention it with @rule:{name}\n",
            paths::display_path(path, &self.env)
        )
    }

    fn edit(&self, name: &str, words: &[String]) -> Result<()> {
        let path = self.find(name)?.path;
        let Some(text) = text_argument(words)? else {
            return self.open(&path);
        };
        let old = read(&path)?;
        let (_, body) = prompt::FrontMatter::split(&old);
        let front = &old[..old.len() - body.len()];
        write(&path, &format!("{front}{}\n", text.trim_end()))
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
            false => project_context::user_config_folder(&self.env)
                .ok_or_else(|| Failure::usage("HOME is not set, so hew does not know where your prompts are"))?
                .join(context::USER_PROMPTS),
        };
        Ok(folder.join(format!("{}.md", name.replace(':', "/"))))
    }

    /// Opens the user's editor.
    fn open(&self, path: &Path) -> Result<()> {
        let editor = self
            .env
            .first(["VISUAL", "EDITOR"])
            .map(|(_, editor)| editor.to_owned());
        let shown = paths::display_path(path, &self.env);
        let no_text = || Failure::usage("no text given").hint(format!("pass a text, pipe one in, or edit {shown}"));
        let editor = editor.filter(|_| std::io::stdin().is_terminal()).ok_or_else(no_text)?;
        let mut words = editor.split_whitespace();
        let program = words.next().ok_or_else(no_text)?;
        let arguments: Vec<&OsStr> = words.map(OsStr::new).chain([path.as_os_str()]).collect();
        let status = sandbox::run_in_terminal(OsStr::new(program), &arguments, &self.root);
        match status {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::failed(format!("`{editor}` failed: {status}"))),
            Err(error) => Err(Failure::failed(format!("cannot start `{editor}`: {error}"))
                .hint("set VISUAL or EDITOR to your editor")),
        }
    }
}

/// The text from the arguments or from stdin.
fn text_argument(words: &[String]) -> Result<Option<String>> {
    Ok(input::message(words, &[])?.map(|message| message.text()))
}

fn prompt_json(saved: &SavedPrompt) -> Value {
    json!({
        "name": saved.name,
        "description": saved.description,
        "default": saved.default,
        "project": saved.from_project,
        "path": saved.path,
    })
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
