//! Reviewing an agent's changes: accept, reject, and the user's edits in between.

use std::path::Path;

use edit::{ActionLog, FileStatus, HunkAuthors, ReviewDecision};
use proptest::prelude::*;

const BASE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn path() -> &'static Path {
    Path::new("a.txt")
}

fn changed(after: &str) -> ActionLog {
    let mut log = ActionLog::default();
    log.record_agent_write(path(), Some(BASE), Some(after));
    log
}

fn accept_hunk(log: &mut ActionLog, hunk: usize) {
    log.decide(path(), &[hunk], &[]);
}

fn reject_hunk(log: &mut ActionLog, hunk: usize) -> Option<String> {
    log.decide(path(), &[], &[hunk])?.current
}

fn reject_all(log: &mut ActionLog) -> Option<ReviewDecision> {
    let all: Vec<usize> = (0..log.hunks(path()).len()).collect();
    log.decide(path(), &[], &all)
}

fn content_after_rejection(log: &mut ActionLog) -> Option<String> {
    reject_all(log)?.current
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
    assert_eq!(reject_hunk(&mut log, 0), Some(agent.replace("TWO", "two")));
    assert_eq!(log.hunks(path()).len(), 1);
    accept_hunk(&mut log, 0);
    assert_eq!(log.files().count(), 0);
}

#[test]
fn a_user_edit_outside_of_hunks_is_not_reviewed_and_survives_a_rejection() {
    let agent = BASE.replace("two", "TWO");
    let mut log = changed(&agent);
    log.record_user_write(path(), Some(&agent.replace("six", "six, edited")));
    assert_eq!(log.hunks(path()).len(), 1);
    assert_eq!(
        content_after_rejection(&mut log),
        Some(BASE.replace("six", "six, edited"))
    );
}

#[test]
fn a_user_edit_inside_a_hunk_becomes_part_of_it() {
    let mut log = changed(&BASE.replace("two", "TWO"));
    log.record_user_write(path(), Some(&BASE.replace("two", "TWO!")));
    assert_eq!(log.hunks(path())[0].after, "TWO!\n");
    assert_eq!(content_after_rejection(&mut log), Some(BASE.to_owned()));
}

#[test]
fn an_unrecorded_edit_counts_as_a_user_edit() {
    let mut log = changed(&BASE.replace("two", "TWO"));
    let meanwhile = BASE.replace("two", "TWO").replace("seven", "7");
    log.record_agent_write(path(), Some(&meanwhile), Some(&meanwhile.replace("four", "FOUR")));
    assert_eq!(content_after_rejection(&mut log), Some(BASE.replace("seven", "7")));
}

#[test]
fn a_created_file_is_deleted_on_rejection_unless_the_user_edited_it() {
    let mut log = ActionLog::default();
    log.record_agent_write(path(), None, Some("new\n"));
    assert_eq!(log.files().collect::<Vec<_>>(), [(path(), FileStatus::Created)]);
    let mut shared = log.clone();
    assert_eq!(reject_all(&mut log).map(|decision| decision.current), Some(None));
    shared.record_user_write(path(), Some("new\nmine\n"));
    assert_eq!(reject_all(&mut shared), None);
}

#[test]
fn a_deleted_file_is_restored_on_rejection() {
    let mut log = ActionLog::default();
    log.record_agent_write(path(), Some(BASE), None);
    assert_eq!(log.files().collect::<Vec<_>>(), [(path(), FileStatus::Deleted)]);
    assert_eq!(reject_hunk(&mut log, 0), Some(BASE.to_owned()));
    assert_eq!(log.files().count(), 0);
}

#[test]
fn several_decisions_about_one_file_use_one_comparison() {
    let mut log = changed(&BASE.replace("two", "TWO").replace("four", "FOUR").replace("six", "SIX"));
    assert_eq!(
        log.decide(path(), &[0], &[2]),
        Some(ReviewDecision {
            base: Some(BASE.replace("two", "TWO")),
            current: Some(BASE.replace("two", "TWO").replace("four", "FOUR")),
        })
    );
    assert_eq!(log.hunks(path()).len(), 1);
}

#[test]
fn reviewed_changes_are_not_reviewed_again() {
    let agent = BASE.replace("two", "TWO").replace("six", "SIX");
    let mut log = changed(&agent);
    log.restore_review(path(), Some(&BASE.replace("two", "TWO")), Some(&agent));
    assert_eq!(log.hunks(path()).len(), 1);
    // The second change was rejected, and the user edited the end: the log learns of both here.
    let reviewed = format!("{}mine\n", BASE.replace("two", "TWO"));
    log.restore_review(path(), Some(&reviewed), Some(&reviewed));
    assert_eq!(log.files().count(), 0);
    log.record_agent_write(path(), Some(&reviewed), Some(&reviewed.replace("four", "FOUR")));
    assert_eq!(content_after_rejection(&mut log), Some(reviewed));
}

#[test]
fn a_change_with_user_edits_is_marked_until_it_is_decided() {
    let agent = BASE.replace("two", "TWO").replace("six", "SIX");
    let mut log = changed(&agent);
    let user = agent.replace("TWO", "TWO!");
    log.record_user_write(path(), Some(&user));
    // Text inserted above moves it down.
    let later = format!("zero\n{}", user.replace("SIX", "SIX AND MORE"));
    log.record_agent_write(path(), Some(&user), Some(&later));
    let authors = |log: &ActionLog| {
        log.hunks(path())
            .into_iter()
            .map(|hunk| hunk.authors)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        authors(&log),
        [HunkAuthors::Agent, HunkAuthors::Mixed, HunkAuthors::Agent]
    );
    accept_hunk(&mut log, 1);
    assert_eq!(authors(&log), [HunkAuthors::Agent, HunkAuthors::Agent]);
    log.record_agent_write(path(), Some(&later), Some(&later.replace("TWO!", "2")));
    assert_eq!(
        authors(&log),
        [HunkAuthors::Agent, HunkAuthors::Agent, HunkAuthors::Agent]
    );
}

#[test]
fn a_user_deletion_next_to_the_agents_is_marked_too() {
    let agent = BASE.replace("two\n", "");
    let mut log = changed(&agent);
    log.record_user_write(path(), Some(&agent.replace("three\n", "")));
    let hunks = log.hunks(path());
    assert_eq!((hunks.len(), hunks[0].authors), (1, HunkAuthors::Mixed));
    assert_eq!(hunks[0].before, "two\nthree\n");
}

#[test]
fn deleting_a_file_or_recreating_a_deleted_one_decides_its_review() {
    let mut log = changed(&BASE.replace("two", "TWO"));
    log.record_agent_write(path(), None, Some("anew\n"));
    assert_eq!(log.files().collect::<Vec<_>>(), [(path(), FileStatus::Created)]);
    let mut log = ActionLog::default();
    log.record_agent_write(path(), Some(BASE), None);
    log.record_user_write(path(), None);
    assert_eq!(log.files().count(), 1, "it is as the agent left it");
    log.record_user_write(path(), Some("mine\n"));
    assert_eq!(log.files().count(), 0);
}

#[test]
fn creating_or_deleting_an_empty_file_is_one_change() {
    for (before, after) in [(None, Some("")), (Some(""), None)] {
        let mut log = ActionLog::default();
        log.record_agent_write(path(), before, after);
        assert_eq!(log.hunks(path()).len(), 1);
        assert_eq!(reject_hunk(&mut log, 0).as_deref(), before);
        log.record_agent_write(path(), before, after);
        accept_hunk(&mut log, 0);
        assert_eq!(log.files().count(), 0);
    }
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
        log.record_agent_write(path(), Some(&before), Some(&after));
        if before == after {
            prop_assert_eq!(log.files().count(), 0);
        } else {
            prop_assert_eq!(content_after_rejection(&mut log), Some(before));
        }
    }

    #[test]
    fn rejecting_or_accepting_one_by_one_ends_at_either_text(before in lines(), after in lines(), accept in any::<bool>()) {
        let (before, after) = (before.concat(), after.concat());
        let mut log = ActionLog::default();
        log.record_agent_write(path(), Some(&before), Some(&after));
        let mut text = after.clone();
        while !log.hunks(path()).is_empty() {
            if accept {
                accept_hunk(&mut log, 0);
            } else {
                text = reject_hunk(&mut log, 0).unwrap_or_default();
            }
        }
        prop_assert_eq!(text, if accept { after } else { before });
    }

    #[test]
    fn any_decision_leaves_the_rest_unchanged(before in lines(), after in lines(), choice in prop::collection::vec(0u8..3, 30)) {
        let (before, after) = (before.concat(), after.concat());
        let mut log = ActionLog::default();
        log.record_agent_write(path(), Some(&before), Some(&after));
        let hunks = log.hunks(path());
        let chosen = |side: u8| (0..hunks.len()).filter(|at| choice[*at] == side).collect::<Vec<_>>();
        let Some(decided) = log.decide(path(), &chosen(1), &chosen(2)) else {
            prop_assert!(hunks.is_empty());
            return Ok(());
        };
        // The expected result: each text, split at its hunks, with the chosen parts.
        let build = |text: &str, first: fn(&edit::ReviewHunk) -> usize, own: fn(&edit::ReviewHunk) -> &str, other: fn(&edit::ReviewHunk) -> &str, side: u8| {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (mut built, mut next) = (String::new(), 0);
            for (at, hunk) in hunks.iter().enumerate() {
                built.push_str(&lines[next..first(hunk) - 1].concat());
                built.push_str(if choice[at] == side { other(hunk) } else { own(hunk) });
                next = first(hunk) - 1 + own(hunk).lines().count();
            }
            built + &lines[next..].concat()
        };
        let base = build(&before, |hunk| hunk.first_line_before, |hunk| &hunk.before, |hunk| &hunk.after, 1);
        let current = build(&after, |hunk| hunk.first_line, |hunk| &hunk.after, |hunk| &hunk.before, 2);
        prop_assert_eq!(decided, ReviewDecision { base: Some(base), current: Some(current) });
    }

    #[test]
    fn a_user_edit_far_from_the_agents_is_never_lost(
        base in prop::collection::vec("[a-z]{6}\n", 12..30),
        agent in 0usize..4,
        user_line in 7usize..12,
    ) {
        let agent_text = with_line(&base, agent, "AGENT\n");
        let agent_lines: Vec<String> = agent_text.split_inclusive('\n').map(str::to_owned).collect();
        let both = with_line(&agent_lines, user_line, "PERSON\n");
        let mut log = ActionLog::default();
        log.record_agent_write(path(), Some(&base.concat()), Some(&agent_text));
        log.record_user_write(path(), Some(&both));
        prop_assert_eq!(log.hunks(path()).len(), 1);
        prop_assert_eq!(content_after_rejection(&mut log), Some(with_line(&base, user_line, "PERSON\n")));
    }
}
