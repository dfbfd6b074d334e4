//! `hew resume`: goes on with a session where it stopped.

use super::answer::Expected;
use super::{open, run};
use crate::args::{Global, Resume};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::Result;
use crate::{project, wiring};
use session::Command;

pub(super) async fn resume(args: Resume, global: &Global, env: &Environment) -> Result<Exit> {
    let expected = args.turn.output_schema.as_deref().map(Expected::read).transpose()?;
    let (id, words) = sort_out(args.id, args.prompt);
    if words.is_empty() && args.turn.is_for_a_person() && open::is_possible(env) {
        let which = id.map_or(tui::Which::Newest, tui::Which::Named);
        return open::show(which, args.turn, open::Going::On, global, env).await;
    }
    let root = project::root(global.cwd.as_deref(), env)?;
    let store = wiring::open_store(env)?;
    let meta = run::find(&store, id.as_deref(), &root).await?;
    let command = run::prompt(&words, &args.turn)?.unwrap_or(Command::Continue);
    run::go_on(meta, store, command, args.turn, expected, global, env).await
}

/// The first word is an id if it looks like one, else it belongs to the prompt.
fn sort_out(id: Option<String>, prompt: Vec<String>) -> (Option<String>, Vec<String>) {
    let like_an_id = |word: &str| {
        word == "last" || (!word.is_empty() && word.chars().all(|c| c.is_ascii_hexdigit() || c == '-') && word != "-")
    };
    match id {
        Some(word) if !like_an_id(&word) => (None, [word].into_iter().chain(prompt).collect()),
        id => (id.filter(|word| word != "last"), prompt),
    }
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
    }
}
