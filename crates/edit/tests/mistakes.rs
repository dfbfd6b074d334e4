//! Generated mistakes on real files: an edit is applied with exactly the intended result, or refused.

#![allow(clippy::expect_used, reason = "a kind without cases fails the test")]

#[path = "mistakes/content.rs"]
mod content;
#[path = "mistakes/kinds.rs"]
mod kinds;
#[path = "mistakes/layout.rs"]
mod layout;
#[path = "mistakes/placing.rs"]
mod placing;
#[path = "mistakes/task.rs"]
mod task;

use std::path::Path;

use edit::{FileChange, plan};
use kinds::{KINDS, MistakeCase};
use task::{Random, Source};

const FILES: [(&str, &str); 16] = [
    (
        "CallableResolver.php",
        include_str!("data/mistakes/CallableResolver.php.txt"),
    ),
    (
        "FieldNamingPolicy.java",
        include_str!("data/mistakes/FieldNamingPolicy.java.txt"),
    ),
    ("Makefile", include_str!("data/mistakes/Makefile.txt")),
    (
        "NodeJsFileSystem.kt",
        include_str!("data/mistakes/NodeJsFileSystem.kt.txt"),
    ),
    ("OrderedMap.lua", include_str!("data/mistakes/OrderedMap.lua.txt")),
    ("SqlBuilder.cs", include_str!("data/mistakes/SqlBuilder.cs.txt")),
    ("auth.go", include_str!("data/mistakes/auth.go.txt")),
    ("auth.py", include_str!("data/mistakes/auth.py.txt")),
    ("base.rb", include_str!("data/mistakes/base.rb.txt")),
    ("basic_auth.ex", include_str!("data/mistakes/basic_auth.ex.txt")),
    ("errors.go", include_str!("data/mistakes/errors.go.txt")),
    ("gin.yml", include_str!("data/mistakes/gin.yml.txt")),
    ("index.html", include_str!("data/mistakes/index.html.txt")),
    ("locator.rs", include_str!("data/mistakes/locator.rs.txt")),
    ("ostream.h", include_str!("data/mistakes/ostream.h.txt")),
    ("retry-timing.ts", include_str!("data/mistakes/retry-timing.ts.txt")),
];

/// The number of cases. `EDIT_MISTAKE_CASES=50000` at compile time runs more.
fn case_count() -> usize {
    option_env!("EDIT_MISTAKE_CASES")
        .and_then(|count| count.parse().ok())
        .unwrap_or(5_100)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Applied,
    Refused,
    Wrong,
}

fn judge(case: &MistakeCase) -> (Verdict, String) {
    let lookup = |path: &Path| (path == Path::new(&case.path)).then(|| case.before.clone());
    match plan(&case.text, case.format, Some(Path::new(&case.path)), &lookup) {
        Err(refused) => (Verdict::Refused, refused.to_string()),
        Ok(plan) => {
            let after = match plan.files.as_slice() {
                [FileChange::Update { after, .. }] => after.clone(),
                other => format!("{other:?}"),
            };
            if case.expected.as_ref() == Some(&after) {
                (Verdict::Applied, String::new())
            } else {
                let how: Vec<&str> = plan.edits.iter().map(|edit| edit.how.name()).collect();
                let diff = edit::unified_diff(case.expected.as_deref().unwrap_or(&case.before), &after, 2);
                (Verdict::Wrong, format!("{how:?}\n{diff:?}"))
            }
        }
    }
}

#[test]
fn no_mistake_is_applied_wrongly() {
    let sources: Vec<Source> = FILES.iter().map(|(path, text)| Source::new(path, text)).collect();
    let mut random = Random(17);
    let each = case_count() / KINDS.len() + 1;
    let mut failures = Vec::new();
    let mut table = String::new();
    for (kind, least, build) in KINDS {
        let (mut made, mut applied, mut tries) = (0, 0, 0);
        while made < each && tries < each * 400 {
            tries += 1;
            let source = &sources[random.below(sources.len())];
            let Some(case) = build(&mut random, source) else {
                continue;
            };
            made += 1;
            let (verdict, detail) = judge(&case);
            match verdict {
                Verdict::Applied => applied += 1,
                Verdict::Refused => {}
                Verdict::Wrong => failures.push(format!(
                    "{kind} ({}, {:?})\n{}\n{detail}",
                    case.path, case.format, case.text
                )),
            }
        }
        assert!(made >= each, "{kind}: only {made} cases");
        table.push_str(&format!("{kind}: {}% of {made} applied\n", applied * 100 / made));
        if applied * 100 < least * made {
            failures.push(format!("{kind}: only {applied} of {made} applied, expected {least}%"));
        }
    }
    println!("{table}");
    let shown: Vec<&String> = failures.iter().take(5).collect();
    assert!(
        failures.is_empty(),
        "{} failures, the first:\n{shown:#?}",
        failures.len()
    );
}
