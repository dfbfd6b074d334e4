//! `hew apply`: edit text on stdin, files on disk.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::Value;
use testkit::{Hew, Output, Project};

async fn apply(project: &Project, text: &str, args: &[&str]) -> Output {
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let root = project.root().to_str().unwrap().to_string();
    hew.args(["apply", "--root", &root])
        .args(args)
        .stdin(text)
        .run()
        .await
        .unwrap()
}

const PATCH: &str =
    "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+zwei\n*** Add File: new/b.txt\n+hello\n*** End Patch\n";

#[tokio::test]
async fn edits_of_several_files_are_applied_completely_or_not_at_all() {
    let project = Project::new(&[("a.txt", "one\ntwo\nthree\n")]).unwrap();
    let output = apply(&project, PATCH, &[]).await;
    assert_eq!(output.code(), Some(0), "{output:?}");
    assert_eq!(project.read("a.txt").unwrap(), "one\nzwei\nthree\n");
    assert_eq!(project.read("new/b.txt").unwrap(), "hello\n");
    assert_eq!(
        output.stdout,
        "edited a.txt\ncreated new/b.txt\n  edit 1: a.txt:1-2 (exact)\n  edit 2: new/b.txt (whole)\n"
    );

    let project = Project::new(&[("a.txt", "one\nother\nthree\n")]).unwrap();
    let before = project.files().unwrap();
    let output = apply(&project, PATCH, &[]).await;
    assert_eq!(output.code(), Some(1));
    assert!(output.stderr.contains("hint: nothing was written"), "{}", output.stderr);
    assert_eq!(project.files().unwrap(), before);
}

#[tokio::test]
async fn a_dry_run_checks_everything_and_writes_nothing() {
    let project = Project::new(&[("a.txt", "one\ntwo\nthree\n")]).unwrap();
    let before = project.files().unwrap();
    let output = apply(&project, PATCH, &["--dry-run"]).await;
    assert_eq!(output.code(), Some(0), "{output:?}");
    assert!(
        output.stdout.starts_with("would have edited a.txt\n"),
        "{}",
        output.stdout
    );
    assert_eq!(project.files().unwrap(), before);
}

#[tokio::test]
async fn json_output_has_the_location_of_each_edit_or_the_reason_of_its_refusal() {
    let project = Project::new(&[("a.txt", "one\n  two\nthree\n")]).unwrap();
    let edit = "<<<<<<< SEARCH\ntwo\nthree\n=======\nzwei\nthree\n>>>>>>> REPLACE\n";
    let output = apply(&project, edit, &["--file", "a.txt", "--json"]).await;
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&report["applied"], &report["format"]),
        (&Value::Bool(true), &Value::from("search-replace"))
    );
    assert_eq!(report["edits"][0]["path"], "a.txt");
    assert_eq!(report["edits"][0]["first_line"], 2);
    assert_eq!(project.read("a.txt").unwrap(), "one\n  zwei\nthree\n");

    let output = apply(
        &project,
        "<<<<<<< SEARCH\nonce\n=======\nuno\n>>>>>>> REPLACE\n",
        &["--file", "a.txt", "--json"],
    )
    .await;
    assert_eq!(output.code(), Some(1));
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(report["applied"], false);
    assert_eq!(report["edits"][0]["edit"], 1);
    assert!(
        report["edits"][0]["why"].as_str().unwrap().contains("not in the file"),
        "{report}"
    );
}

#[tokio::test]
async fn nothing_outside_the_root_is_changed() {
    let outside = Project::new(&[("secret.txt", "one\ntwo\nthree\n")]).unwrap();
    let project = Project::new(&[("a.txt", "x\n")]).unwrap();
    std::os::unix::fs::symlink(outside.root(), project.path("link")).unwrap();
    for path in [
        "link/secret.txt",
        &format!("{}/secret.txt", outside.root().display()),
        "../secret.txt",
    ] {
        let patch = PATCH.replace("a.txt", path);
        let output = apply(&project, &patch, &[]).await;
        assert_eq!(output.code(), Some(1), "{path}: {output:?}");
    }
    assert_eq!(outside.read("secret.txt").unwrap(), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn invalid_input_is_reported() {
    let project = Project::new(&[("a.txt", "one\n")]).unwrap();
    let output = apply(&project, "please change it", &[]).await;
    assert_eq!(output.code(), Some(1));
    assert!(
        output.stderr.contains("format of the edit text is not recognised"),
        "{}",
        output.stderr
    );
    assert!(
        output.stderr.contains("hint: specify --format: auto, apply-patch, "),
        "{}",
        output.stderr
    );
    let block = "<<<<<<< SEARCH\none\n=======\nuno\n>>>>>>> REPLACE\n";
    let output = apply(&project, block, &[]).await;
    assert_eq!(output.code(), Some(1));
    assert!(
        output.stderr.contains("hint: specify the file with --file PATH"),
        "{}",
        output.stderr
    );
    let output = apply(&project, block, &["--json"]).await;
    let report: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(
        (&report["applied"], &report["format"]),
        (&false.into(), &"search-replace".into())
    );
    let output = apply(&project, " \n", &[]).await;
    assert_eq!(output.code(), Some(2));
    assert!(
        output.stderr.contains("error: no edit text on stdin"),
        "{}",
        output.stderr
    );
    let hew = Hew::new(env!("CARGO_BIN_EXE_hew")).unwrap();
    let output = hew
        .args(["apply", "--root", "/no/such/folder"])
        .stdin("x")
        .run()
        .await
        .unwrap();
    assert_eq!(output.code(), Some(2), "{output:?}");
}
