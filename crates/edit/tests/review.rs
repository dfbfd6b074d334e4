//! Reviewing what an agent changed: accept, reject, and a person's edits in between.

use std::path::Path;

use edit::{ActionLog, Restore, Status};
use proptest::prelude::*;

const BASE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn path() -> &'static Path {
    Path::new("a.txt")
}

fn changed(after: &str) -> ActionLog {
    let mut log = ActionLog::default();
    log.agent_wrote(path(), Some(BASE), Some(after));
    log
}

fn content(restore: Option<Restore>) -> Option<String> {
    restore.and_then(|restore| restore.content)
}

#[test]
fn hunks_are_accepted_and_rejected_one_by_one() {
    let agent = BASE.replace("two", "TWO").replace("six", "SIX\nSIX AND A HALF");
    let mut log = changed(&agent);
    let hunks: Vec<(usize, String, String)> = log
        .hunks(path())
        .into_iter()
        .map(|hunk| (hunk.first_line, hunk.before, hunk.after))
        .collect();
    let text = |text: &str| text.to_owned();
    assert_eq!(
        hunks,
        [
            (2, text("two\n"), text("TWO\n")),
            (6, text("six\n"), text("SIX\nSIX AND A HALF\n"))
        ]
    );
    assert_eq!(content(log.reject(path(), 0)), Some(agent.replace("TWO", "two")));
    assert_eq!(log.hunks(path()).len(), 1);
    log.accept(path(), 0);
    assert_eq!(log.files().count(), 0);
}

#[test]
fn a_persons_edit_elsewhere_is_not_up_for_review_and_survives_a_rejection() {
    let agent = BASE.replace("two", "TWO");
    let mut log = changed(&agent);
    log.person_wrote(path(), Some(&agent.replace("six", "six, says a person")));
    assert_eq!(log.hunks(path()).len(), 1);
    assert_eq!(
        content(log.reject_file(path())),
        Some(BASE.replace("six", "six, says a person"))
    );
}

#[test]
fn a_persons_edit_inside_a_hunk_becomes_part_of_it() {
    let mut log = changed(&BASE.replace("two", "TWO"));
    log.person_wrote(path(), Some(&BASE.replace("two", "TWO!")));
    assert_eq!(log.hunks(path())[0].after, "TWO!\n");
    assert_eq!(content(log.reject_file(path())), Some(BASE.to_owned()));
}

#[test]
fn an_edit_made_behind_the_logs_back_counts_as_a_persons() {
    let mut log = changed(&BASE.replace("two", "TWO"));
    let meanwhile = BASE.replace("two", "TWO").replace("seven", "7");
    log.agent_wrote(path(), Some(&meanwhile), Some(&meanwhile.replace("four", "FOUR")));
    assert_eq!(content(log.reject_file(path())), Some(BASE.replace("seven", "7")));
}

#[test]
fn a_created_file_is_deleted_on_rejection_unless_a_person_worked_on_it() {
    let mut log = ActionLog::default();
    log.agent_wrote(path(), None, Some("new\n"));
    assert_eq!(log.files().collect::<Vec<_>>(), [(path(), Status::Created)]);
    let mut shared = log.clone();
    assert_eq!(
        log.reject_all(),
        [Restore {
            path: path().to_owned(),
            content: None
        }]
    );
    shared.person_wrote(path(), Some("new\nmine\n"));
    assert_eq!(shared.reject_all(), []);
}

#[test]
fn a_deleted_file_comes_back_on_rejection() {
    let mut log = ActionLog::default();
    log.agent_wrote(path(), Some(BASE), None);
    assert_eq!(log.files().collect::<Vec<_>>(), [(path(), Status::Deleted)]);
    assert_eq!(content(log.reject(path(), 0)), Some(BASE.to_owned()));
    assert_eq!(log.files().count(), 0);
}

#[test]
fn rejecting_everything_can_be_undone() {
    let agent = BASE.replace("two", "TWO");
    let mut log = changed(&agent);
    assert_eq!(log.reject_all().len(), 1);
    assert_eq!(log.files().count(), 0);
    assert_eq!(
        log.undo_reject_all(),
        [Restore {
            path: path().to_owned(),
            content: Some(agent)
        }]
    );
    assert_eq!(log.hunks(path()).len(), 1);
}

#[test]
fn what_is_committed_counts_as_accepted() {
    let mut log = changed(&BASE.replace("two", "TWO").replace("six", "SIX"));
    log.committed(path(), &BASE.replace("two", "TWO"));
    assert_eq!(log.hunks(path()).len(), 1);
    log.committed(path(), &BASE.replace("two", "TWO").replace("six", "SIX"));
    assert_eq!(log.files().count(), 0);
}

fn lines() -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("[a-d]{1,2}\n", 0..30)
}

/// Replaces the line at `at` by `with`.
fn with_line(lines: &[String], at: usize, with: &str) -> String {
    lines
        .iter()
        .enumerate()
        .map(|(number, line)| if number == at { with } else { line.as_str() })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rejecting_everything_restores_the_text_before(before in lines(), after in lines()) {
        let (before, after) = (before.concat(), after.concat());
        let mut log = ActionLog::default();
        log.agent_wrote(path(), Some(&before), Some(&after));
        if before == after {
            prop_assert_eq!(log.files().count(), 0);
        } else {
            prop_assert_eq!(content(log.reject_file(path())), Some(before));
        }
    }

    #[test]
    fn rejecting_or_accepting_one_by_one_ends_at_either_text(before in lines(), after in lines(), accept in any::<bool>()) {
        let (before, after) = (before.concat(), after.concat());
        let mut log = ActionLog::default();
        log.agent_wrote(path(), Some(&before), Some(&after));
        let mut text = after.clone();
        while !log.hunks(path()).is_empty() {
            if accept {
                log.accept(path(), 0);
            } else {
                text = content(log.reject(path(), 0)).unwrap_or_default();
            }
        }
        prop_assert_eq!(text, if accept { after } else { before });
    }

    #[test]
    fn a_persons_line_far_from_the_agents_is_never_lost(
        base in prop::collection::vec("[a-z]{6}\n", 12..30),
        agent in 0usize..4,
        person in 7usize..12,
    ) {
        let agent_text = with_line(&base, agent, "AGENT\n");
        let agent_lines: Vec<String> = agent_text.split_inclusive('\n').map(str::to_owned).collect();
        let both = with_line(&agent_lines, person, "PERSON\n");
        let mut log = ActionLog::default();
        log.agent_wrote(path(), Some(&base.concat()), Some(&agent_text));
        log.person_wrote(path(), Some(&both));
        prop_assert_eq!(log.hunks(path()).len(), 1);
        prop_assert_eq!(content(log.reject_file(path())), Some(with_line(&base, person, "PERSON\n")));
    }
}
