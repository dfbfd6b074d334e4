//! The demo's project and scripted replies.

use serde_json::json;
use std::time::Duration;
use testkit::{Pace, Script, Turn};

/// The introduction.
pub(super) const INTRODUCTION: &str = "\
The model in this demo is scripted: its words were written in advance and come from a server inside hew, on\n\
this machine. Everything else is real: the HTTP stream, the loop, the tools, the commands, the saved session.";

/// The task.
pub(super) const TASK: &str = "The tests fail. Find the cause and fix it.";

/// The project's files.
pub(super) const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("project/README.md")),
    ("stats.sh", include_str!("project/stats.sh")),
    ("test.sh", include_str!("project/test.sh")),
];

/// The scripted replies.
pub(super) fn script(fast: bool) -> Script {
    let pace = match fast {
        true => Pace::default(),
        false => Pace {
            first_ms: 250,
            ..Pace::with_delay(6, Duration::from_millis(12))
        },
    };
    Script::new().pace(pace).turns([
        Turn::text("I will look at the project and run its tests.")
            .thinking("First I look at the files and run the tests.")
            .call("list_directory", json!({"path": "."}))
            .call("terminal", json!({"command": "sh test.sh"})),
        Turn::text("Two checks fail, both in stats.sh. I will read it and the tests.")
            .call("read_file", json!({"path": "stats.sh"}))
            .call("read_file", json!({"path": "test.sh"})),
        Turn::text(
            "`max` starts from 0, so a list of negative numbers can never win. It must start from the first number.",
        )
        .thinking("The largest of -3 and -8 is -3, but 0 is larger than both and is not in the list.")
        .call("edit_file", json!({"path": "stats.sh", "old_text": MAX_OLD, "new_text": MAX_NEW})),
        Turn::text("And `count` counts lines, blank ones included; it should count numbers.")
            .call("edit_file", json!({"path": "stats.sh", "old_text": COUNT_OLD, "new_text": COUNT_NEW}))
            .call("terminal", json!({"command": "sh test.sh"})),
        Turn::text(
            "All tests pass now. There were two mistakes in stats.sh:\n\n\
             1. `max` compared with 0 first, so it was wrong for lists of negative numbers. It starts from the first number now.\n\
             2. `count` counted blank lines. It counts lines with a number now.\n",
        ),
    ])
}

const MAX_OLD: &str =
    "    max=0\n    for number in $(numbers); do\n      [ \"$number\" -gt \"$max\" ] && max=$number\n    done";
const MAX_NEW: &str = "    max=\n    for number in $(numbers); do\n      if [ -z \"$max\" ] || [ \"$number\" -gt \"$max\" ]; then\n        max=$number\n      fi\n    done";
const COUNT_OLD: &str = "    grep -c '' \"$file\"";
const COUNT_NEW: &str = "    grep -c '[0-9]' \"$file\"";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_edit_of_the_demo_matches_the_project_exactly_once() {
        let (_, stats) = FILES.iter().find(|(name, _)| *name == "stats.sh").unwrap();
        for old in [MAX_OLD, COUNT_OLD] {
            assert_eq!(stats.matches(old).count(), 1, "{old}");
        }
    }
}
