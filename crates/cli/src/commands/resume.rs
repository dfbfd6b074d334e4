//! `hew resume` and `hew fork`: continue a session or a copy of it.

use super::{line_session, open, run};
use crate::args::{GlobalArgs, OpenArgs, ResumeArgs, TurnArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{output, project};
use headless::structured_answer::AnswerSchema;
use session::{Command, Store as _};

pub(super) async fn resume(args: ResumeArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let expected = args.turn.output_schema.as_deref().map(AnswerSchema::read).transpose()?;
    let (id, words) = sort_out(args.id, args.prompt);
    let root = project::root(global.cwd.as_deref(), env)?;
    let store = host::sessions::open_store(env)?;
    let found = host::sessions::find(&store, id.as_deref(), &root).await;
    let meta = found.map_err(|failure| with_prompt_hint(failure, id.as_deref()))?;
    if words.is_empty() && args.turn.is_for_a_person() && open::is_possible(env) {
        let which = tui::SessionTarget::Named(meta.id.to_string());
        return open::show(which, args.turn, None, open::UnfinishedTurn::On, global, env).await;
    }
    let is_line_based = words.is_empty() && args.turn.is_for_a_person() && open::is_line_based(env);
    if is_line_based && host::is_complete(&store.load(meta.id).await?.items) {
        let session = OpenArgs {
            session: Some(meta.id.to_string()),
            ..OpenArgs::default()
        };
        return line_session::talk(session, args.turn, global, env).await;
    }
    let command = run::prompt(&words, &args.turn)?.unwrap_or(Command::Continue);
    run::resume(meta, store, command, args.turn, expected, global, env).await
}

/// Forks a session and opens the copy, if there is a terminal.
pub(super) async fn fork(id: Option<&str>, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let root = project::root(global.cwd.as_deref(), env)?;
    let store = host::sessions::open_store(env)?;
    let meta = host::sessions::find(&store, id, &root).await?;
    let copy = host::sessions::fork(&store, meta.id, None).await?;
    if open::is_possible(env) {
        let which = tui::SessionTarget::Named(copy.to_string());
        return open::show(
            which,
            TurnArgs::default(),
            None,
            open::UnfinishedTurn::Waits,
            global,
            env,
        )
        .await;
    }
    if open::is_line_based(env) {
        let session = OpenArgs {
            session: Some(copy.to_string()),
            ..OpenArgs::default()
        };
        return line_session::talk(session, TurnArgs::default(), global, env).await;
    }
    output::print_checked(&format!("{copy}\n"))?;
    output::print_stderr(&format!(
        "to continue with the copy: {}\n",
        host::sessions::resume_command(copy)
    ));
    Ok(ExitStatus::Done)
}

/// A single word that is no session's id may be meant as a prompt.
fn with_prompt_hint(mut failure: Failure, id: Option<&str>) -> Failure {
    if let Some(word) = id.filter(|word| !looks_like_an_id(word)) {
        let hint = failure.hint.map(|hint| format!("{hint}\n")).unwrap_or_default();
        failure.hint = Some(format!("{hint}to send it as a prompt: hew resume last {word}"));
    }
    failure
}

/// The first word is an id if it looks like one or is the only word; otherwise it belongs to the prompt.
fn sort_out(id: Option<String>, prompt: Vec<String>) -> (Option<String>, Vec<String>) {
    let is_id = |word: &str| looks_like_an_id(word) || (prompt.is_empty() && is_plain(word));
    match id {
        Some(word) if word == "last" => (None, prompt),
        Some(word) if !is_id(&word) => (None, [word].into_iter().chain(prompt).collect()),
        id => (id, prompt),
    }
}

/// Ids begin with a timestamp; its first digit is zero until 2527. Words of a prompt do not begin with a zero.
fn looks_like_an_id(word: &str) -> bool {
    let hex = |c: char| c.is_ascii_hexdigit() || c == '-';
    let number = word.contains(|c: char| c.is_ascii_digit());
    is_plain(word) && (word.starts_with('0') || (number && word.chars().all(hex)))
}

fn is_plain(word: &str) -> bool {
    word != "-" && !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_an_id_only_if_it_looks_like_one() {
        let check = |words: &[&str]| {
            let mut words = words.iter().map(|word| word.to_string());
            let (id, prompt) = sort_out(words.next(), words.collect());
            (id, prompt.join(" "))
        };
        assert_eq!(check(&[]), (None, String::new()));
        assert_eq!(
            check(&["0199-ab", "go", "on"]),
            (Some("0199-ab".into()), "go on".into())
        );
        assert_eq!(check(&["last", "go"]), (None, "go".into()));
        assert_eq!(check(&["fix that too"]), (None, "fix that too".into()));
        assert_eq!(check(&["-"]), (None, "-".into()));
        assert_eq!(check(&["zzz"]), (Some("zzz".into()), String::new()));
        assert_eq!(check(&["0199-zz", "go"]), (Some("0199-zz".into()), "go".into()));
        assert_eq!(check(&["add", "a", "test"]), (None, "add a test".into()));
        assert_eq!(check(&["continue!"]), (None, "continue!".into()));
    }
}
