//! A task where a command should be: `hew "fix it"`, as other agents take it.

use crate::failure::Failure;
use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The mistake of naming a task without saying `run`; `None` where it is another one, which the parser explains best.
pub(super) fn task_without_run(error: &Error, said: &[String]) -> Option<Failure> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(_) | None => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = context(ContextKind::InvalidSubcommand)?;
            let is_near = error.get(ContextKind::SuggestedSubcommand).is_some();
            let is_task = word.contains(char::is_whitespace);
            if !is_at_the_top(word, said) || (is_near && !is_task) {
                return None;
            }
            let task = if is_task { word } else { "…" };
            Some(Failure::usage(format!("there is no command `{word}`")).hint(run(task)))
        }
        ErrorKind::UnknownArgument => {
            let flag = context(ContextKind::InvalidArg)?;
            let is_prompt = matches!(flag, "-p" | "--prompt" | "--print") && is_at_the_top(flag, said);
            is_prompt.then(|| Failure::usage(format!("there is no flag `{flag}`")).hint(run("…")))
        }
        _ => None,
    }
}

fn run(task: &str) -> String {
    format!(
        "to have something done: hew run {}; `hew --help` lists the commands",
        quoted(task)
    )
}

/// A word as shells take it.
fn quoted(word: &str) -> String {
    let is_plain = !word.contains(['"', '$', '`', '\\', '!', '\n']);
    match is_plain {
        true => format!("\"{word}\""),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Whether no command comes before this word.
fn is_at_the_top(word: &str, said: &[String]) -> bool {
    let definition = super::definition();
    let is_command = |word: &String| definition.find_subcommand(word).is_some();
    said.iter()
        .take_while(|other| *other != word)
        .all(|before| !is_command(before))
}

#[cfg(test)]
mod tests {
    use super::super::Hew;
    use super::*;
    use clap::Parser as _;

    #[test]
    fn a_task_without_a_command_gets_the_command_that_takes_it() {
        let hint = |words: &[&str]| {
            let error = Hew::try_parse_from([&["hew"], words].concat()).unwrap_err();
            let said: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            task_without_run(&error, &said).map(|failure| failure.hint.unwrap())
        };
        let starts = |words: &[&str], run: &str| {
            let hint = hint(words).unwrap();
            assert!(
                hint.starts_with(&format!("to have something done: hew run {run};")),
                "{hint}"
            );
        };
        starts(&["fix it"], "\"fix it\"");
        starts(&["print $HOME's size"], "'print $HOME'\\''s size'");
        starts(&["run the tests"], "\"run the tests\"");
        starts(&["exec", "fix it"], "\"…\"");
        starts(&["-p", "fix it"], "\"…\"");
        for other in [
            &["sesions"][..],
            &["sessions", "fix it"],
            &["run", "-p", "x"],
            &["--help"],
        ] {
            assert_eq!(hint(other), None, "{other:?}");
        }
    }
}
