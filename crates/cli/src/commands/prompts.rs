//! `hew prompts`: the prompt library. Prompts are Markdown files; a front matter says what they are for and whether every
//! session is told them.

use super::load;
use crate::args::{Global, Prompts, PromptsList};
use crate::config::Loaded;
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::wiring::library::{self, Saved};
use crate::wiring::shelves;
use crate::{atomic, input, output, places};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

pub(super) fn prompts(
    listed: &PromptsList,
    command: Option<Prompts>,
    global: &Global,
    env: &Environment,
) -> Result<Exit> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let place = Place {
        root,
        loaded,
        env: env.clone(),
    };
    match command {
        None => place.list(listed.json)?,
        Some(Prompts::List(list)) => place.list(list.json || listed.json)?,
        Some(Prompts::Show { name }) => output::deliver(&format!("{}\n", place.find(&name)?.text))?,
        Some(Prompts::Add {
            name,
            text,
            description,
            default,
            project,
        }) => {
            let front = front(description.as_deref(), default);
            place.add(&name, &text, &front, project)?;
        }
        Some(Prompts::Edit { name, text }) => place.edit(&name, &text)?,
        Some(Prompts::Remove { name }) => {
            let path = place.find(&name)?.path;
            std::fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?;
            output::deliver(&format!("removed {}\n", places::tidy(&path, env)))?;
        }
        Some(Prompts::Default { name, off }) => {
            let path = place.find(&name)?.path;
            let text = read(&path)?;
            write(&path, &with_default(&text, !off))?;
            output::deliver(match off {
                false => "every session is told it from now on\n",
                true => "sessions are no longer told it by default\n",
            })?;
        }
    }
    Ok(Exit::Done)
}

/// The project and the person whose prompts these are.
struct Place {
    root: PathBuf,
    loaded: Loaded,
    env: Environment,
}

impl Place {
    fn all(&self) -> Result<BTreeMap<String, Saved>> {
        shelves::prompts(&self.root, &self.loaded, &self.env)
    }

    fn find(&self, name: &str) -> Result<Saved> {
        let mut all = self.all()?;
        let missing = || {
            let names: Vec<&str> = all.keys().map(String::as_str).collect();
            let hint = match names.is_empty() {
                true => "none are kept yet; `hew prompts add` keeps one".to_owned(),
                false => format!("there are {}", names.join(", ")),
            };
            Failure::usage(format!("there is no prompt `{name}`")).hint(hint)
        };
        match all.contains_key(name) {
            true => all.remove(name).ok_or_else(|| Failure::failed("it is gone")),
            false => Err(missing()),
        }
    }

    fn list(&self, json: bool) -> Result<()> {
        let all = self.all()?;
        if json {
            let list: Vec<Value> = all.values().map(described).collect();
            return output::deliver(&output::pretty(&list)?);
        }
        if all.is_empty() {
            return output::deliver("no prompts are kept; `hew prompts add NAME \"…\"` keeps one\n");
        }
        let mut text = String::new();
        for saved in all.values() {
            let marked = if saved.default { "  (default)" } else { "" };
            let first = saved.text.lines().next().unwrap_or_default();
            let about = saved.description.as_deref().unwrap_or(first);
            text.push_str(&format!("{}{marked}  {about}\n", saved.name));
            text.push_str(&format!("    from: {}\n", places::tidy(&saved.path, &self.env)));
        }
        output::deliver(&text)
    }

    fn add(&self, name: &str, words: &[String], front: &str, project: bool) -> Result<()> {
        let path = self.path(name, project)?;
        if path.exists() {
            return Err(Failure::usage(format!("there is a prompt `{name}` already"))
                .hint(format!("`hew prompts edit {name}` changes it")));
        }
        let text = match said(words)? {
            Some(text) => text,
            None => {
                write(&path, &format!("{front}\n"))?;
                self.open(&path)?;
                if read(&path)?.trim().is_empty() {
                    std::fs::remove_file(&path).map_err(|error| Failure::file("remove", &path, &error))?;
                    return Err(Failure::usage("nothing was written, so nothing is kept"));
                }
                return output::deliver(&self.kept(name, &path));
            }
        };
        write(&path, &format!("{front}{}\n", text.trim_end()))?;
        output::deliver(&self.kept(name, &path))
    }

    fn kept(&self, name: &str, path: &Path) -> String {
        format!("kept in {}; @rule:{name} mentions it\n", places::tidy(path, &self.env))
    }

    fn edit(&self, name: &str, words: &[String]) -> Result<()> {
        let path = self.find(name)?.path;
        let Some(text) = said(words)? else {
            return self.open(&path);
        };
        let old = read(&path)?;
        let (_, body) = prompt::Front::split(&old);
        let front = &old[..old.len() - body.len()];
        write(&path, &format!("{front}{}\n", text.trim_end()))
    }

    /// The file of a prompt of this name.
    fn path(&self, name: &str, project: bool) -> Result<PathBuf> {
        let is_part = |part: &str| {
            let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
            !part.is_empty() && !part.starts_with('.') && part.chars().all(fits)
        };
        if !name.split(':').all(is_part) {
            return Err(Failure::usage(format!("`{name}` cannot be the name of a prompt"))
                .hint("names have letters, digits, `-`, `_` and `.`, and `:` between folders"));
        }
        let folder = match project {
            true => self.root.join(library::PROJECT),
            false => shelves::own_folder(&self.env)
                .ok_or_else(|| Failure::usage("HOME is not set, so hew does not know where your prompts are"))?
                .join(library::OWN),
        };
        Ok(folder.join(format!("{}.md", name.replace(':', "/"))))
    }

    /// Opens the person's editor.
    fn open(&self, path: &Path) -> Result<()> {
        let editor = self
            .env
            .first(["VISUAL", "EDITOR"])
            .map(|(_, editor)| editor.to_owned());
        let shown = places::tidy(path, &self.env);
        let alone = || Failure::usage("there is no text").hint(format!("give one, pipe one in, or edit {shown}"));
        let editor = editor.filter(|_| std::io::stdin().is_terminal()).ok_or_else(alone)?;
        let mut words = editor.split_whitespace();
        let program = words.next().ok_or_else(alone)?;
        let arguments: Vec<&OsStr> = words.map(OsStr::new).chain([path.as_os_str()]).collect();
        let ended = sandbox::hand_over(OsStr::new(program), &arguments, &self.root);
        match ended {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(Failure::failed(format!("`{editor}` ended with {status}"))),
            Err(error) => Err(Failure::failed(format!("cannot start `{editor}`: {error}"))
                .hint("set VISUAL or EDITOR to your editor")),
        }
    }
}

/// The text that was given, if one was.
fn said(words: &[String]) -> Result<Option<String>> {
    Ok(input::message(words, &[])?.map(|message| message.text()))
}

fn described(saved: &Saved) -> Value {
    json!({
        "name": saved.name,
        "description": saved.description,
        "default": saved.default,
        "project": saved.of_project,
        "path": saved.path,
    })
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))
}

fn write(path: &Path, text: &str) -> Result<()> {
    atomic::write(path, text).map_err(|error| Failure::file("write", path, &error))
}

fn front(description: Option<&str>, default: bool) -> String {
    let described = description.map(|text| format!("description: {}\n", json!(text.trim())));
    let default = default.then(|| "default: true\n".to_owned());
    let lines: String = described.into_iter().chain(default).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("---\n{lines}---\n"),
    }
}

/// The text of a file, with `default` in its front matter.
fn with_default(text: &str, default: bool) -> String {
    let (_, body) = prompt::Front::split(text);
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
    fn the_mark_of_a_default_prompt_goes_into_the_front_matter_and_out_again() {
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
    fn what_is_said_about_a_prompt_can_be_read_again() {
        let text = format!("{}Body", front(Some("It: \"does\""), true));
        let (read, body) = prompt::Front::split(&text);
        assert_eq!(
            (read.get(&["description"]), read.says("default"), body),
            (Some("It: \"does\""), Some(true), "Body")
        );
        assert_eq!(front(None, false), "");
    }
}
