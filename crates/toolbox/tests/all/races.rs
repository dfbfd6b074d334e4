//! A command in the background replaces a folder by a link while tools run: no tool leaves the project.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use policy::{Action, PathArea};
use rustix::fs::{CWD, RenameFlags};
use serde_json::{Value, json};
use tool::CallInput;

use crate::project::{TestProject, context};

const SECRET: &str = "secret-7421";

#[tokio::test]
async fn no_tool_follows_a_folder_that_becomes_a_link() {
    check(2_200).await;
}

#[tokio::test]
#[ignore = "20,000 calls take a minute; run it after changes to how files are opened"]
async fn no_tool_follows_a_folder_that_becomes_a_link_in_many_calls() {
    check(20_000).await;
}

/// Calls of every kind, with the number of the call.
fn call(number: usize) -> (&'static str, Value) {
    let new = format!("swap/new-{number}");
    match number % 11 {
        0 => ("write_file", json!({"path": new, "content": "x"})),
        1 => ("read_file", json!({"path": "swap/file.txt"})),
        2 => ("list_directory", json!({"path": "swap"})),
        3 => ("grep", json!({"regex": "secret|inside", "path": "swap"})),
        4 => ("grep", json!({"regex": "secret|inside"})),
        5 => ("find_path", json!({"glob": "**/*.txt"})),
        6 => (
            "copy_path",
            json!({"source_path": "swap/file.txt", "destination_path": format!("copy-{number}")}),
        ),
        7 => ("copy_path", json!({"source_path": "a.txt", "destination_path": new})),
        8 => ("create_directory", json!({"path": new})),
        9 => ("delete_path", json!({"path": "swap/outside-only.txt"})),
        _ => (
            "move_path",
            json!({"source_path": "swap/outside-only.txt", "destination_path": format!("moved-{number}")}),
        ),
    }
}

async fn check(calls: usize) {
    let project = TestProject::with(&[("a.txt", "inside"), ("swap/file.txt", "inside")]);
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file.txt"), SECRET).unwrap();
    fs::write(outside.path().join("outside-only.txt"), SECRET).unwrap();
    symlink(outside.path(), project.root.join("link")).unwrap();
    let (stop, root) = (Arc::new(AtomicBool::new(false)), project.root.clone());
    let swapping = {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            let (swap, link) = (root.join("swap"), root.join("link"));
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &swap, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            }
        })
    };
    let (mut approved, mut worked, mut leaks) = (0, 0, Vec::new());
    for number in 0..calls {
        let (name, input) = call(number);
        let tool = Arc::clone(project.tools.get(name).unwrap());
        let input = CallInput::from(input);
        // As in a session: a call that leaves the project is not approved.
        let actions = tool.actions(&input).unwrap();
        let is_inside = |action: &Action| {
            matches!(
                action,
                Action::Read {
                    place: PathArea::Inside,
                    ..
                } | Action::Write {
                    place: PathArea::Inside,
                    ..
                }
            )
        };
        if !actions.iter().all(is_inside) {
            continue;
        }
        approved += 1;
        let Ok(output) = tool.run(input, context()).await else {
            continue;
        };
        worked += 1;
        let text = format!("{:?} {:?}", output.content, output.changes);
        if text.contains(SECRET) || text.contains("outside-only") {
            leaks.push(format!("{name}: {text}"));
        }
    }
    stop.store(true, Ordering::Relaxed);
    swapping.join().unwrap();
    println!("attack: tried {calls}");
    assert_eq!(leaks, Vec::<String>::new());
    assert_eq!(names(outside.path()), ["file.txt", "outside-only.txt"]);
    assert_eq!(fs::read_to_string(outside.path().join("file.txt")).unwrap(), SECRET);
    let copies = fs::read_dir(&project.root).unwrap().flatten();
    for copy in copies.filter(|entry| entry.file_name().to_string_lossy().starts_with("copy-")) {
        assert_eq!(fs::read_to_string(copy.path()).unwrap(), "inside");
    }
    assert!(
        approved * 10 > calls && worked * 20 > calls,
        "{approved} approved, {worked} worked"
    );
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
