//! Words where a command should be: a task, as other agents take it (`hew "fix it"`), or a command that is misspelt. Errors of the
//! parser in the form of all others.

use crate::failure::Failure;
use crate::nearest::nearest_name;
use crate::output::format::sanitise;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};
use std::ffi::OsString;
use tui::format::is_active;

/// The position of the task among the arguments. A single word is treated as a misspelt command.
pub(super) fn task(error: &Error, arguments: &[String], has_task: bool) -> Option<usize> {
    let word = unknown_word(error)?;
    let is_task = has_task || word.contains(char::is_whitespace);
    let is_plain = !word.starts_with('-') && !arguments.iter().any(|other| other == "--");
    let at = arguments.iter().position(|other| other == word)?;
    (is_task && is_plain && is_at_the_top(word, arguments)).then_some(at)
}

/// The error with a hint; `None` for help and for errors that only clap explains.
pub(super) fn explain(error: &Error, arguments: &[String]) -> Option<Failure> {
    let definition = super::definition();
    let Some(word) = unknown_word(error) else {
        return explain_value(error, &within(&definition, None, arguments).0);
    };
    let (path, within) = within(&definition, Some(word), arguments);
    if word.starts_with('-') {
        let known = match path.as_str() {
            "hew" => equivalent(word),
            "hew run" | "hew resume" | "hew fork" => equivalent_of_turns(word),
            "hew serve" => equivalent_of_serve(word),
            _ => None,
        };
        if let Some(hint) = known {
            return Some(Failure::usage(format!("there is no flag `{word}`")).hint(hint));
        }
        if let Some(failure) = misplaced(word, &definition, arguments) {
            return Some(failure);
        }
        let help = format!("`{path} --help` lists the flags");
        let hint = match nearest_flag(word, within) {
            Some(name) => format!("did you mean `--{name}`? {help}"),
            None => help,
        };
        return Some(Failure::usage(message(error)?).hint(hint));
    }
    let is_at_the_top = is_at_the_top(word, arguments);
    if !is_at_the_top && error.kind() != ErrorKind::InvalidSubcommand {
        return Some(Failure::usage(message(error)?).hint(format!("`{path} --help` shows what it takes")));
    }
    let failure = Failure::usage(format!("there is no command `{path} {word}`"));
    if let Some(hint) = equivalent_command(word).filter(|_| is_at_the_top) {
        return Some(failure.hint(hint));
    }
    let names = within.get_subcommands().map(Command::get_name);
    Some(
        match nearest_name(word, names)
            .map(String::from)
            .or_else(|| below(&definition, word).filter(|_| is_at_the_top))
        {
            Some(name) => failure.hint(format!(
                "did you mean `{path} {name}`? `{path} --help` lists the commands"
            )),
            None if is_at_the_top => failure.hint(run(&typed_task(arguments))),
            None => failure.hint(format!("`{path} --help` lists the commands")),
        },
    )
}

/// The error about a flag of `hew` itself with a command that does not have it.
fn misplaced(word: &str, top: &Command, arguments: &[String]) -> Option<Failure> {
    let name = word.split('=').next().unwrap_or(word);
    let is_same = |arg: &clap::Arg| {
        let long = arg.get_long_and_visible_aliases().unwrap_or_default();
        let short = arg.get_short_and_visible_aliases().unwrap_or_default();
        long.iter().any(|long| name.strip_prefix("--") == Some(long))
            || short.iter().any(|short| name == format!("-{short}"))
    };
    top.get_arguments().find(|arg| is_same(arg))?;
    let command = arguments.iter().find_map(|word| top.find_subcommand(word))?;
    let command = command.get_name();
    let failure = Failure::usage(format!("`hew {command}` has no flag `{name}`"));
    Some(failure.hint(format!("`hew {command} --help` lists its flags")))
}

/// The first line of clap's message.
fn message(error: &Error) -> Option<String> {
    let text = error.render().to_string();
    let line = text.lines().next()?.strip_prefix("error: ")?;
    Some(line.trim_end_matches(':').to_owned())
}

/// An error about a value or a missing argument.
fn explain_value(error: &Error, path: &str) -> Option<Failure> {
    let help = format!("`{path} --help` explains it");
    let message = message(error)?;
    Some(match error.kind() {
        ErrorKind::InvalidValue => {
            let values = strings(error, ContextKind::ValidValue);
            let listed = values.iter().filter(|value| !value.is_empty());
            let listed: Vec<String> = listed.map(|value| format!("`{value}`")).collect();
            let given = strings(error, ContextKind::InvalidValue).join("");
            let near = nearest_name(&given, values.iter().map(String::as_str)).filter(|_| !given.is_empty());
            let hint = match (near, listed.is_empty()) {
                (Some(near), _) => format!("did you mean `{near}`? The values are {}", listed.join(", ")),
                (None, false) => format!("the values are {}", listed.join(", ")),
                (None, true) => help,
            };
            Failure::usage(message).hint(hint)
        }
        ErrorKind::ValueValidation => {
            let number = ["invalid float literal", "invalid digit found in string"];
            let plain = number
                .iter()
                .fold(message, |text, jargon| text.replace(jargon, "it must be a number"));
            Failure::usage(plain).hint(help)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = strings(error, ContextKind::InvalidArg).join(" ");
            Failure::usage(format!("`{path}` needs {missing}")).hint(help)
        }
        ErrorKind::ArgumentConflict
        | ErrorKind::NoEquals
        | ErrorKind::TooFewValues
        | ErrorKind::TooManyValues
        | ErrorKind::WrongNumberOfValues => Failure::usage(message).hint(help),
        _ => return None,
    })
}

/// The texts of an error's context.
fn strings(error: &Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => vec![text.clone()],
        Some(ContextValue::Strings(texts)) => texts.clone(),
        Some(_) | None => Vec::new(),
    }
}

/// The flag that is most likely meant.
fn nearest_flag<'a>(word: &str, command: &'a Command) -> Option<&'a str> {
    let name = word.strip_prefix("--")?.split('=').next()?;
    let flags = command.get_arguments().filter_map(clap::Arg::get_long);
    nearest_name(name, flags.chain(["help", "version"]))
}

/// The typed words as a task in quotes, if they are plain.
fn typed_task(arguments: &[String]) -> String {
    let is_plain = |word: &String| !word.starts_with('-') && !word.contains(['"', '`', '$', '\\', '!']);
    let is_task = arguments.len() > 1 && arguments.first().is_some_and(|word| word != "help");
    match is_task && arguments.iter().all(is_plain) {
        true => arguments.join(" "),
        false => "…".to_owned(),
    }
}

/// Prints an error, or the help, and ends. An error repeats arguments, which may contain escape sequences.
pub(super) fn exit(error: &Error) -> ! {
    let is_safe = |argument: OsString| !argument.to_string_lossy().contains(is_active);
    if !error.use_stderr() || std::env::args_os().all(is_safe) {
        error.exit();
    }
    eprint!("{}", sanitise(&error.render().to_string()));
    std::process::exit(error.exit_code())
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
        "-p" | "--prompt" => run("…"),
        "-r" | "--resume" => "`hew -c` continues the newest session, `hew resume ID` another one".into(),
        "-v" | "--verbose" | "--debug" => "`--log FILE` writes a debug log, `-V` prints the version".into(),
        "--fork-session" => "`hew fork ID` continues a session in a copy".into(),
        "--session-id" => "`--session ID` continues a session".into(),
        "--oss" => "hew uses a model on this machine if it finds one; `hew models` lists all".into(),
        _ => return equivalent_of_turns(flag),
    })
}

/// The same for flags that other agents also have in commands.
fn equivalent_of_turns(flag: &str) -> Option<String> {
    Some(match flag {
        "-a" | "--ask-for-approval" => {
            "`--permission` sets what is allowed; shift+tab or `[approval]` in the configuration, what is asked".into()
        }
        "-s" | "--sandbox" => "`--permission read-only`, `workspace` or `full` selects what is allowed".into(),
        "-i" => "`--file` adds an image or a file".into(),
        "--last" => "the newest session is the default: hew resume, hew run -c \"…\"".into(),
        "--agent" => "`--mode NAME` selects a mode; `hew modes` lists them".into(),
        "--format" | "--output-format" => "`hew run --json \"…\"` prints events as JSON lines".into(),
        "--search" => "the model can search the web if a search service is configured; see `hew tools`".into(),
        "--dangerously-skip-permissions" | "--dangerously-bypass-approvals-and-sandbox" | "--yolo" => {
            "`hew --permission full` allows everything without asking".into()
        }
        "-p" | "--print" => "`hew run \"…\"` works without the screen and prints the answer; it needs no flag".into(),
        "--allowedTools" | "--allowed-tools" | "--disallowedTools" | "--disallowed-tools" => {
            "rules in the configuration allow and deny actions: `hew permissions --help`".into()
        }
        "--max-turns" => "`--max-steps COUNT` limits the requests to the model".into(),
        "--system-prompt" | "--append-system-prompt" => {
            "instructions belong in AGENTS.md, or in a mode: `hew modes`, then `--mode NAME`".into()
        }
        "--permission-mode" => {
            "`--mode plan` plans only, `--permission read-only`, `workspace` or `full` selects what is allowed".into()
        }
        "--cd" | "--dir" => "`-C DIR` works in another folder".into(),
        "--config" => "`--set KEY=VALUE` sets a configuration key".into(),
        "--settings" => "`--set KEY=VALUE` sets a configuration key, `hew config path` shows the files".into(),
        "--mcp-config" => {
            "`hew mcp add NAME -- COMMAND` adds a server; `.mcp.json` of a trusted project is read".into()
        }
        "--max-budget-usd" => "`--max-cost USD` limits the cost".into(),
        "--thinking" | "--reasoning-effort" | "--variant" => "`--effort LEVEL` sets the reasoning effort".into(),
        "--no-color" | "--color" => "NO_COLOR=1 turns colours off; a pipe has none".into(),
        "--full-auto" => "hew works without asking inside the project by default".into(),
        _ => return None,
    })
}

/// The same for flags of other servers.
fn equivalent_of_serve(flag: &str) -> Option<String> {
    let is_address = matches!(flag, "-p" | "--port" | "--host" | "--hostname" | "--bind");
    is_address.then(|| "`--listen ADDRESS:PORT` sets the address".into())
}

/// How to do what a command of another agent does.
fn equivalent_command(word: &str) -> Option<String> {
    Some(match word {
        "exec" | "e" | "print" | "ask" => "`hew run \"…\"` works without the screen and prints the answer".into(),
        "chat" | "tui" | "start" => "`hew` without a command opens the terminal front end".into(),
        "setup" | "onboard" => {
            "start hew, then type /setup; `hew keys set PROVIDER` stores a key, `hew login` signs in with a subscription".into()
        }
        "ls" | "history" => "`hew sessions` lists the sessions of this project".into(),
        "continue" => "`hew -c` continues the newest session of this project".into(),
        "version" => "`hew --version` prints it".into(),
        "usage" => "`hew cost` and `hew stats` sum up the requests".into(),
        "web" | "server" => "`hew serve` serves sessions to browsers and programs".into(),
        "log" | "logs" => "`--log FILE` writes a debug log; `hew sessions show` prints a conversation".into(),
        "providers" => "`hew models` lists the models, `hew doctor` shows which providers answer".into(),
        word if word.contains('=') => format!("`--set {word}` sets a configuration key"),
        "auth" => "`hew login` signs in with a subscription, `hew keys set PROVIDER` stores a key".into(),
        "init" | "review" => format!("it is a command of the terminal front end: start hew, then type /{word}"),
        "share" => "`hew sessions export` writes a session as Markdown".into(),
        "update" | "upgrade" => "hew does not update itself; install it as you did before".into(),
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

/// The command that contains the word, or the last one, and its name.
fn within<'a>(top: &'a Command, word: Option<&str>, arguments: &[String]) -> (String, &'a Command) {
    let before = arguments.iter().take_while(|other| Some(other.as_str()) != word);
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
    fn a_flag_of_another_command_is_not_suggested_again() {
        for (words, expected) in [
            (
                &["--add-dir", "x", "models"][..],
                "`hew models` has no flag `--add-dir`",
            ),
            (&["models", "--add-dir=x"], "`hew models` has no flag `--add-dir`"),
            (&["-c", "undo"], "`hew undo` has no flag `-c`"),
            (&["--image", "x", "diff"], "`hew diff` has no flag `--image`"),
        ] {
            let arguments: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            let error = parse_args(arguments.clone()).unwrap_err();
            let failure = super::explain(&error, &arguments).unwrap();
            assert_eq!(failure.message, expected, "{words:?}");
        }
    }

    #[test]
    fn an_unknown_argument_with_a_space_is_a_task() {
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
        assert_eq!(task(&["-C", "a", "-C", "b", "fix it"]), ["fix it"]);
        assert!(task(&[]).is_empty());
    }

    #[test]
    fn for_an_unknown_word_the_nearest_command_or_the_syntax_of_a_task_is_suggested() {
        let starts = |words: &[&str], start: &str| {
            let hint = hint(words).unwrap();
            assert!(hint.starts_with(start), "{words:?}: {hint}");
        };
        starts(&["sesions"], "did you mean `hew sessions`?");
        starts(&["session"], "did you mean `hew sessions`?");
        starts(&["session", "list"], "did you mean `hew sessions`?");
        starts(&["explain"], "did you mean `hew prompt explain`?");
        starts(&["exec", "fix it"], "`hew run \"…\"` works without the screen");
        starts(&["fix", "the", "test"], "to run a task: hew \"fix the test\"");
        starts(&["ls"], "`hew sessions` lists");
        starts(&["setup"], "start hew, then type /setup");
        starts(&["-c", "model=a/b"], "`--set model=a/b` sets");
        starts(&["run", "--modle", "a/b", "x"], "did you mean `--model`?");
        starts(&["--versoin"], "did you mean `--version`?");
        starts(&["serve", "--port", "1"], "`--listen ADDRESS:PORT`");
        starts(&["undo", "--turn", "5"], "`hew undo --help` lists the flags");
        starts(&["--permission", "readonly", "run", "x"], "did you mean `read-only`?");
        starts(&["search"], "`hew search --help` explains it");
        starts(
            &["sessions", "list", "--limit", "x"],
            "`hew sessions list --help` explains it",
        );
        starts(&["keys", "list", "extra"], "`hew keys list --help` shows what it takes");
        starts(&["auth", "login"], "`hew login` signs in");
        starts(
            &["review"],
            "it is a command of the terminal front end: start hew, then type /review",
        );
        starts(&["-s", "read-only", "fix it"], "`--permission read-only`");
        starts(&["run", "--full-auto", "fix it"], "hew works without asking");
        starts(&["resume", "--last"], "the newest session is the default");
        for (flag, start) in [
            ("-p", "`hew run \"…\"` works without the screen"),
            ("--print", "`hew run \"…\"` works without the screen"),
            ("--output-format", "`hew run --json"),
            ("--allowedTools", "rules in the configuration"),
            ("--max-turns", "`--max-steps COUNT`"),
            ("--system-prompt", "instructions belong in AGENTS.md"),
            ("--permission-mode", "`--mode plan`"),
            ("--dangerously-skip-permissions", "`hew --permission full`"),
        ] {
            starts(&["run", flag, "x"], start);
        }
        for flag in ["--allowedTools", "--max-turns", "--system-prompt", "--permission-mode"] {
            assert!(hint(&[flag, "x"]).is_some(), "{flag}");
        }
        starts(&["run", "--agent", "plan", "fix it"], "`--mode NAME`");
        starts(&["-p", "fix it"], "to run a task: hew \"…\"");
        starts(&["--resume"], "`hew -c` continues");
        starts(&["--yolo", "fix it"], "`hew --permission full`");
        starts(&["sessions", "lst"], "did you mean `hew sessions list`?");
        starts(&["config", "pth"], "did you mean `hew config path`?");
        assert_eq!(hint(&["--help"]), None);
    }
}
