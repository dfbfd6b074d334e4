//! Generated mistakes on real files: an edit is applied with exactly the intended result, or refused.

#![allow(clippy::expect_used, reason = "a kind without cases fails the test")]

#[path = "mistakes/content.rs"]
mod content;
#[path = "mistakes/edges.rs"]
mod edges;
#[path = "mistakes/kinds.rs"]
mod kinds;
#[path = "mistakes/layout.rs"]
mod layout;
#[path = "mistakes/notation.rs"]
mod notation;
#[path = "mistakes/placing.rs"]
mod placing;
#[path = "mistakes/structure.rs"]
mod structure;
#[path = "mistakes/surroundings.rs"]
mod surroundings;
#[path = "mistakes/task.rs"]
mod task;

use std::path::Path;

use edit::{EditFormat, FileChange, plan};
use kinds::{KINDS, MistakeCase};
use task::{Random, Source, write};

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

/// The files: `EDIT_MISTAKE_FOLDER=/a/folder` at compile time uses those of a folder instead.
fn sources() -> Vec<Source> {
    let Some(folder) = option_env!("EDIT_MISTAKE_FOLDER") else {
        return FILES.iter().map(|(path, text)| Source::new(path, text)).collect();
    };
    let files = Path::new(folder).read_dir().expect("a folder");
    let read = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.expect("an entry");
        let text = String::from_utf8(testkit_read(&entry.path())).ok()?;
        Some(Source::new(&entry.file_name().to_string_lossy(), &text))
    };
    files.filter_map(read).collect()
}

fn testkit_read(path: &Path) -> Vec<u8> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let mut file = std::fs::OpenOptions::new().read(true).open(path).expect("a file");
    file.read_to_end(&mut bytes).expect("a readable file");
    bytes
}

/// The first state of the generator. `EDIT_MISTAKE_SEED=7` at compile time makes other cases.
fn seed() -> u64 {
    option_env!("EDIT_MISTAKE_SEED")
        .and_then(|seed| seed.parse().ok())
        .unwrap_or(17)
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

/// The lines of the file that a refusal shows, with their numbers.
fn shown_lines(refusal: &str) -> Vec<(usize, &str)> {
    refusal
        .lines()
        .filter_map(|line| {
            let listed = line.split_once(" | ").or_else(|| line.split_once(" |"));
            let anchored = || {
                line.split_once('\t')
                    .and_then(|(anchor, text)| Some((anchor.split_once('#')?.0, text)))
            };
            let (number, text) = listed.or_else(anchored)?;
            Some((number.trim().parse().ok()?, text))
        })
        .collect()
}

/// The second attempt of a model that has the intended change and the refusal only: it quotes the shown lines
/// or gives the line number of one of the locations.
fn second_attempt(case: &MistakeCase, refusal: &str, random: &mut Random) -> Option<String> {
    let task = &case.task;
    let locations = refusal
        .split_once("at lines ")
        .map(|(_, rest)| rest.split(';').next().unwrap_or_default());
    if let Some(locations) = locations {
        let start = (task.start + 1).to_string();
        let is_listed = locations.split(", ").any(|line| line == start);
        return is_listed.then(|| write(task, EditFormat::Json, Some(task.start + 1), random));
    }
    let shown = shown_lines(refusal);
    let is_shown = |(offset, text): (usize, &String)| {
        text.trim().is_empty()
            || shown
                .iter()
                .any(|(number, line)| *number == task.start + 1 + offset && line == text)
    };
    let lines = &task.source.lines[task.start..task.start + task.old().len()];
    lines
        .iter()
        .enumerate()
        .all(is_shown)
        .then(|| write(task, EditFormat::Json, None, random))
}

#[test]
fn an_edit_can_be_corrected_with_the_information_in_the_refusal() {
    let sources = sources();
    let mut random = Random(23);
    let (mut tried, mut corrected, mut failures) = (0, 0, Vec::new());
    while tried < 200 {
        let (kind, _, build) = KINDS[random.below(KINDS.len())];
        let source = &sources[random.below(sources.len())];
        let Some(case) = build(&mut random, source) else {
            continue;
        };
        let (verdict, refusal) = judge(&case);
        // An error in the tags is corrected without the file, and long regions are not repeated.
        let is_long = case.task.old().len() > 20 || case.task.entries.is_empty();
        if verdict != Verdict::Refused || case.expected.is_none() || refusal.contains("of the edit text") || is_long {
            continue;
        }
        tried += 1;
        let second = second_attempt(&case, &refusal, &mut random).map(|text| MistakeCase {
            format: EditFormat::Json,
            text,
            ..case.clone()
        });
        match second.map(|second| judge(&second)) {
            Some((Verdict::Applied, _)) => corrected += 1,
            other => failures.push(format!("{kind}\n{}\n{refusal}\n{other:?}", case.text)),
        }
    }
    println!("{corrected} of {tried} corrected");
    let shown: Vec<&String> = failures.iter().take(4).collect();
    assert!(corrected * 100 >= tried * 93, "{corrected} of {tried}: {shown:#?}");
}

#[test]
fn no_mistake_is_applied_wrongly() {
    let sources = sources();
    let mut random = Random(seed());
    let each = case_count() / KINDS.len() + 1;
    let mut failures = Vec::new();
    let mut table = String::new();
    for (kind, least, build) in KINDS {
        let (mut made, mut applied, mut tries, mut refused) = (0, 0, 0, Vec::new());
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
                Verdict::Refused => {
                    refused.push(format!("{} {}\n{}\n{detail}", case.path, case.format.name(), case.text))
                }
                Verdict::Wrong => failures.push(format!(
                    "{kind} ({}, {:?})\n{}\n{detail}",
                    case.path, case.format, case.text
                )),
            }
        }
        assert!(made >= each, "{kind}: only {made} cases");
        table.push_str(&format!("{kind}: {}% of {made} applied\n", applied * 100 / made));
        if applied * 100 < least * made {
            let first = refused.first().map_or("", String::as_str);
            failures.push(format!(
                "{kind}: only {applied} of {made} applied, expected {least}%: {first}"
            ));
        }
    }
    println!("{table}");
    let shown: Vec<&String> = failures.iter().take(12).collect();
    assert!(
        failures.is_empty(),
        "{} failures, the first:\n{shown:#?}",
        failures.len()
    );
}
