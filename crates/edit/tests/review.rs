//! Reviewing what an agent changed: accept, reject, and a person's edits in between.

use std::path::Path;

use edit::{ActionLog, Authors, Decided, Restore, Status};
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

#[test]
fn several_decisions_about_one_file_are_made_on_one_comparison() {
    let mut log = changed(&BASE.replace("two", "TWO").replace("four", "FOUR").replace("six", "SIX"));
    assert_eq!(
        log.decide(path(), &[0], &[2]),
        Some(Decided {
            base: Some(BASE.replace("two", "TWO")),
            current: Some(BASE.replace("two", "TWO").replace("four", "FOUR")),
        })
    );
    assert_eq!(log.hunks(path()).len(), 1);
}

#[test]
fn what_was_reviewed_is_not_up_for_review_again() {
    let agent = BASE.replace("two", "TWO").replace("six", "SIX");
    let mut log = changed(&agent);
    log.reviewed(path(), Some(&BASE.replace("two", "TWO")), Some(&agent));
    assert_eq!(log.hunks(path()).len(), 1);
    // The second change was taken back, and a person wrote at the end: the log first hears of both here.
    let reviewed = format!("{}mine\n", BASE.replace("two", "TWO"));
    log.reviewed(path(), Some(&reviewed), Some(&reviewed));
    assert_eq!(log.files().count(), 0);
    log.agent_wrote(path(), Some(&reviewed), Some(&reviewed.replace("four", "FOUR")));
    assert_eq!(content(log.reject_file(path())), Some(reviewed));
}

#[test]
fn a_change_that_holds_a_persons_work_says_so_until_it_is_decided() {
    let agent = BASE.replace("two", "TWO").replace("six", "SIX");
    let mut log = changed(&agent);
    let person = agent.replace("TWO", "TWO!");
    log.person_wrote(path(), Some(&person));
    // What is written above moves it down.
    let later = format!("zero\n{}", person.replace("SIX", "SIX AND MORE"));
    log.agent_wrote(path(), Some(&person), Some(&later));
    let authors = |log: &ActionLog| {
        log.hunks(path())
            .into_iter()
            .map(|hunk| hunk.authors)
            .collect::<Vec<_>>()
    };
    assert_eq!(authors(&log), [Authors::Agent, Authors::Mixed, Authors::Agent]);
    log.accept(path(), 1);
    assert_eq!(authors(&log), [Authors::Agent, Authors::Agent]);
    log.agent_wrote(path(), Some(&later), Some(&later.replace("TWO!", "2")));
    assert_eq!(authors(&log), [Authors::Agent, Authors::Agent, Authors::Agent]);
}

#[test]
fn a_persons_removal_beside_the_agents_is_marked_too() {
    let agent = BASE.replace("two\n", "");
    let mut log = changed(&agent);
    log.person_wrote(path(), Some(&agent.replace("three\n", "")));
    let hunks = log.hunks(path());
    assert_eq!((hunks.len(), hunks[0].authors), (1, Authors::Mixed));
    assert_eq!(hunks[0].before, "two\nthree\n");
}

#[test]
fn who_removes_a_file_or_puts_one_where_the_agent_removed_it_has_decided() {
    let mut log = changed(&BASE.replace("two", "TWO"));
    log.agent_wrote(path(), None, Some("anew\n"));
    assert_eq!(log.files().collect::<Vec<_>>(), [(path(), Status::Created)]);
    let mut log = ActionLog::default();
    log.agent_wrote(path(), Some(BASE), None);
    log.person_wrote(path(), None);
    assert_eq!(log.files().count(), 1, "it is as the agent left it");
    log.person_wrote(path(), Some("mine\n"));
    assert_eq!(log.files().count(), 0);
}

#[test]
fn an_empty_file_that_came_or_went_is_one_change() {
    for (before, after) in [(None, Some("")), (Some(""), None)] {
        let mut log = ActionLog::default();
        log.agent_wrote(path(), before, after);
        assert_eq!(log.hunks(path()).len(), 1);
        assert_eq!(content(log.reject(path(), 0)).as_deref(), before);
        log.agent_wrote(path(), before, after);
        log.accept(path(), 0);
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
    fn any_choice_leaves_the_rest_as_it_was(before in lines(), after in lines(), choice in prop::collection::vec(0u8..3, 30)) {
        let (before, after) = (before.concat(), after.concat());
        let mut log = ActionLog::default();
        log.agent_wrote(path(), Some(&before), Some(&after));
        let hunks = log.hunks(path());
        let chosen = |wanted: u8| (0..hunks.len()).filter(|at| choice[*at] == wanted).collect::<Vec<_>>();
        let Some(decided) = log.decide(path(), &chosen(1), &chosen(2)) else {
            prop_assert!(hunks.is_empty());
            return Ok(());
        };
        // The same by hand: each text, cut at its hunks, with what was chosen in their places.
        let build = |text: &str, first: fn(&edit::ReviewHunk) -> usize, own: fn(&edit::ReviewHunk) -> &str, other: fn(&edit::ReviewHunk) -> &str, wanted: u8| {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let (mut built, mut next) = (String::new(), 0);
            for (at, hunk) in hunks.iter().enumerate() {
                built.push_str(&lines[next..first(hunk) - 1].concat());
                built.push_str(if choice[at] == wanted { other(hunk) } else { own(hunk) });
                next = first(hunk) - 1 + own(hunk).lines().count();
            }
            built + &lines[next..].concat()
        };
        let base = build(&before, |hunk| hunk.first_line_before, |hunk| &hunk.before, |hunk| &hunk.after, 1);
        let current = build(&after, |hunk| hunk.first_line, |hunk| &hunk.after, |hunk| &hunk.before, 2);
        prop_assert_eq!(decided, Decided { base: Some(base), current: Some(current) });
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
