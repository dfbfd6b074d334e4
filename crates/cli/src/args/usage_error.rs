//! Words where a command should be: a task, as other agents take it (`hew "fix it"`), or a command that is misspelt.

use crate::failure::Failure;
use crate::nearest::nearest_name;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

/// The position of the task among the arguments. A single word is treated as a misspelt command.
pub(super) fn task(error: &Error, arguments: &[String], has_task: bool) -> Option<usize> {
    let word = unknown_word(error)?;
    let is_task = has_task || word.contains(char::is_whitespace);
    let is_plain = !word.starts_with('-') && !arguments.iter().any(|other| other == "--");
    let at = arguments.iter().position(|other| other == word)?;
    (is_task && is_plain && is_at_the_top(word, arguments)).then_some(at)
}

/// The error for an unknown command; `None` for other errors, which clap explains.
pub(super) fn explain(error: &Error, arguments: &[String]) -> Option<Failure> {
    let word = unknown_word(error)?;
    let is_at_the_top = is_at_the_top(word, arguments);
    if word.starts_with('-') {
        let hint = equivalent(word).filter(|_| is_at_the_top)?;
        return Some(Failure::usage(format!("there is no flag `{word}`")).hint(hint));
    }
    if !is_at_the_top && error.kind() != ErrorKind::InvalidSubcommand {
        return None;
    }
    let definition = super::definition();
    let (path, within) = within(&definition, word, arguments);
    let names = within.get_subcommands().map(Command::get_name);
    let failure = Failure::usage(format!("there is no command `{path} {word}`"));
    Some(
        match nearest_name(word, names).map(String::from).or(below(&definition, word)) {
            Some(name) => failure.hint(format!(
                "did you mean `{path} {name}`? `{path} --help` lists the commands"
            )),
            None if is_at_the_top => failure.hint(run("…")),
            None => failure.hint(format!("`{path} --help` lists the commands")),
        },
    )
}

/// The unknown word.
fn unknown_word(error: &Error) -> Option<&str> {
    let kind = match error.kind() {
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        _ => return None,
    };
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        Some(_) | None => None,
    }
}

/// How to do what a flag of another agent does.
fn equivalent(flag: &str) -> Option<String> {
    Some(match flag {
        "-p" | "--prompt" | "--print" => run("…"),
        "-r" | "--resume" => "`hew -c` continues the newest session, `hew resume ID` another one".into(),
        "--dangerously-skip-permissions" | "--dangerously-bypass-approvals-and-sandbox" | "--yolo" => {
            "`hew --permission full` allows everything without asking".into()
        }
        "--full-auto" => "hew works without asking inside the project by default".into(),
        _ => return None,
    })
}

fn run(task: &str) -> String {
    format!("to run a task: hew \"{task}\", or hew run \"{task}\" without the screen; `hew --help` lists the commands")
}

/// Whether no command precedes this word.
fn is_at_the_top(word: &str, arguments: &[String]) -> bool {
    let definition = super::definition();
    let is_command = |word: &String| definition.find_subcommand(word).is_some();
    arguments
        .iter()
        .take_while(|other| *other != word)
        .all(|before| !is_command(before))
}

/// The command that contains the word, and its name.
fn within<'a>(top: &'a Command, word: &str, arguments: &[String]) -> (String, &'a Command) {
    let before = arguments.iter().take_while(|other| *other != word);
    before.fold(("hew".to_owned(), top), |(path, command), word| {
        match command.find_subcommand(word) {
            Some(below) => (format!("{path} {}", below.get_name()), below),
            None => (path, command),
        }
    })
}

/// A nested command with this name, such as `mcp serve`.
fn below(top: &Command, word: &str) -> Option<String> {
    let found = top
        .get_subcommands()
        .find(|command| command.find_subcommand(word).is_some());
    found.map(|command| format!("{} {word}", command.get_name()))
}

#[cfg(test)]
mod tests {
    use super::super::parse_args;

    fn hint(words: &[&str]) -> Option<String> {
        let arguments: Vec<String> = words.iter().map(|word| word.to_string()).collect();
        let error = parse_args(arguments.clone()).unwrap_err();
        super::explain(&error, &arguments).map(|failure| failure.hint.unwrap())
    }

    #[test]
    fn a_task_is_what_no_command_takes_and_has_a_space_in_it() {
        let task = |words: &[&str]| {
            let hew = parse_args(words.iter().map(|word| word.to_string()).collect()).unwrap();
            assert!(hew.command.is_none(), "{words:?}");
            hew.open.prompt
        };
        assert_eq!(task(&["fix it"]), ["fix it"]);
        assert_eq!(task(&["-c", "run the tests", "-m", "a/b"]), ["run the tests"]);
        assert_eq!(task(&["fix it", "now"]), ["fix it", "now"]);
        assert_eq!(task(&["--", "run", "the", "tests"]), ["run", "the", "tests"]);
        assert_eq!(task(&["--", "--help"]), ["--help"]);
        assert!(task(&[]).is_empty());
    }

    #[test]
    fn a_word_that_is_no_command_gets_the_nearest_one_or_the_way_to_say_a_task() {
        let starts = |words: &[&str], start: &str| {
            let hint = hint(words).unwrap();
            assert!(hint.starts_with(start), "{words:?}: {hint}");
        };
        starts(&["sesions"], "did you mean `hew sessions`?");
        starts(&["session"], "did you mean `hew sessions`?");
        starts(&["session", "list"], "did you mean `hew sessions`?");
        starts(&["explain"], "did you mean `hew prompt explain`?");
        starts(&["exec", "fix it"], "to run a task: hew \"…\"");
        starts(&["-p", "fix it"], "to run a task: hew \"…\"");
        starts(&["--resume"], "`hew -c` continues");
        starts(&["--yolo", "fix it"], "`hew --permission full`");
        starts(&["sessions", "lst"], "did you mean `hew sessions list`?");
        starts(&["config", "pth"], "did you mean `hew config path`?");
        for other in [&["run", "-p", "x"][..], &["--help"], &["keys", "list", "extra"]] {
            assert_eq!(hint(other), None, "{other:?}");
        }
    }
}
