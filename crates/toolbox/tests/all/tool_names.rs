//! Facts about tools are declared in this crate: other crates have no tables of tool names.

use std::fs;
use std::path::{Path, PathBuf};

/// Files with an accepted list, which must contain only names of built-in tools.
const ALLOWED: &[&str] = &[
    "crates/prompt/src/system_prompt/conditions.rs",
    // Names in the events of a run, which may be of another version of hew.
    "crates/eval/src/agent_output.rs",
    // Tags of models, not tools.
    "crates/prompt/src/text_calls/parser.rs",
];

#[test]
fn other_crates_have_no_tables_of_tool_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap();
    let mut found = Vec::new();
    for file in sources(&root.join("crates")) {
        let path = file.strip_prefix(&root).unwrap().to_string_lossy().into_owned();
        let text = fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        for list in lists(code) {
            let tools = list.iter().filter(|name| toolbox::facts(name).is_some()).count();
            let is_table = list.len() > 1 && tools * 2 > list.len();
            match ALLOWED.contains(&path.as_str()) {
                true if is_table => assert_eq!(tools, list.len(), "{path}: {list:?}"),
                false if is_table => found.push(format!("{path}: {list:?}")),
                true | false => {}
            }
        }
    }
    assert!(
        found.is_empty(),
        "declare these facts in the tools:\n{}",
        found.join("\n")
    );
}

/// The sources of all other crates, without tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let skipped = [
            "toolbox", "testkit", "tests", "benches", "examples", "fuzz", "target", "tests.rs",
        ];
        if skipped.contains(&name.as_str()) {
            continue;
        }
        match path.is_dir() {
            true => files.extend(sources(&path)),
            false if name.ends_with(".rs") => files.push(path),
            false => {}
        }
    }
    files
}

/// The array literals that consist of plain strings.
fn lists(code: &str) -> Vec<Vec<&str>> {
    let arrays = code.split('[').skip(1).filter_map(|rest| rest.split_once(']'));
    let strings = arrays.filter_map(|(inside, _)| {
        let items = inside.split(',').map(str::trim).filter(|item| !item.is_empty());
        items.map(|item| item.strip_prefix('"')?.strip_suffix('"')).collect()
    });
    strings.collect()
}
