//! Random sequences of commands in a project with tracked, uncommitted and ignored files: undo restores every file.
//!
//! `HEW_UNDO_SEQUENCES` sets the number of sequences, `HEW_UNDO_FIRST` the first one and `HEW_UNDO_FILES` the maximum number
//! of files.

use super::data_loss::{files, git, missing, prompted_commands};
use super::{Fixture, MODEL};
use std::fs;
use std::path::Path;

/// The number of sequences and the maximum number of files in continuous integration.
const SEQUENCES: u64 = 4;
const FILES: u64 = 120;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// A pseudo-random sequence that can be reproduced.
struct Generator(u64);

impl Generator {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }

    fn pick<'a>(&mut self, all: &'a [String]) -> &'a str {
        &all[self.below(all.len() as u64) as usize]
    }

    /// The number of files of a sequence: the maximum in one of 25, otherwise with the same share of each order of
    /// magnitude, since most defects depend on names and commands and not on the number.
    fn file_count(&mut self, seed: u64, most: u64) -> u64 {
        if seed.is_multiple_of(25) {
            return most;
        }
        let (least, share) = ((most / 100).max(30) as f64, self.below(1_000) as f64 / 1_000.0);
        (least * (most as f64 / least).powf(share)) as u64
    }

    /// A command that changes existing files; `names` are files of the project.
    fn command(&mut self, names: &[String], in_git: bool) -> String {
        let (one, two) = (self.pick(names).to_owned(), self.pick(names).to_owned());
        let folder = one.split('/').next().unwrap_or(&one).to_owned();
        let commands = [
            format!("rm -f {one}"),
            format!("rm -rf {folder}"),
            format!("mv {one} moved-{}", self.below(1_000)),
            format!("cp {one} {two}"),
            format!("echo changed > {one}"),
            format!("echo more >> {one}"),
            format!("echo tee | tee {one} {two}"),
            format!("sed -i s/content/other/ {one}"),
            format!("truncate -s 3 {one}"),
            format!("dd if={one} of={two}"),
            format!("find {folder} -type f -name '*1*' -delete"),
            format!("python3 -c \"import os; os.remove('{one}')\""),
            "python3 -c \"import shutil; shutil.rmtree('d1', True)\"".to_owned(),
            format!("perl -pi -e 's/content/perl/' {one}"),
            "rm -f d*/*2*".to_owned(),
            format!("mkdir -p new && mv {one} new/ && rm -rf d0"),
            format!("ln -sfn other {one}"),
            format!("chmod 600 {one} && shred -u {two}"),
            "git clean -fdq".to_owned(),
            "git clean -fdxq".to_owned(),
            "git checkout -q -- .".to_owned(),
            "git reset -q --hard".to_owned(),
            "git stash -q -u".to_owned(),
            "git rm -rfq --ignore-unmatch d2".to_owned(),
        ];
        let count = if in_git { commands.len() } else { commands.len() - 6 };
        commands[self.below(count as u64) as usize].clone()
    }
}

/// Creates files: a third is tracked, a third is not, and some are ignored.
fn populate(root: &Path, count: u64, in_git: bool) {
    fs::write(root.join(".gitignore"), "*.ign\nd3/\n").unwrap();
    for number in 0..count {
        let name = match number % 7 {
            6 => format!("d{}/{number}.ign", number % 5),
            _ => format!("d{}/s{}/{number}.txt", number % 5, number % 3),
        };
        let path = root.join(&name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("content of {name}\n")).unwrap();
        if in_git && number == count / 3 {
            git(root, &["init", "-q"]);
            git(root, &["add", "-A"]);
            git(root, &["commit", "-qm", "start"]);
        }
    }
}

#[tokio::test]
async fn random_command_sequences_lose_no_file() {
    let (sequences, most) = (
        setting("HEW_UNDO_SEQUENCES", SEQUENCES),
        setting("HEW_UNDO_FILES", FILES),
    );
    let first = setting("HEW_UNDO_FIRST", 0);
    let mut total = 0;
    for seed in first..first + sequences {
        let mut random = Generator(seed * 7_919 + 17);
        let in_git = seed % 2 == 0;
        let fixture = Fixture::new(&[], prompted_commands()).await;
        let root = fixture.project.root();
        populate(root, random.file_count(seed, most), in_git);
        let before = files(root);
        let mut commands = Vec::new();
        for turn in 0..3 {
            let names: Vec<String> = files(root).into_keys().filter(|name| name != ".gitignore").collect();
            if names.is_empty() {
                break;
            }
            let command = random.command(&names, in_git);
            let prompt = format!("run: {command}");
            commands.push(command);
            let first: &[&str] = if turn == 0 { &[] } else { &["--continue"] };
            // Undo does not cover what a command does in the background, even if the machine is slow.
            let foreground = ["--set", "terminal.foreground=\"1h\""];
            let run = fixture.hew.clone().args(["run", "-m", MODEL]).args(foreground);
            let run = run.args(first).arg(&prompt);
            let output = run.run().await.unwrap();
            assert_eq!(output.code(), Some(0), "seed {seed} {commands:?}: {}", output.stderr);
            assert!(
                !output.stderr.contains("undo does not cover"),
                "seed {seed} {commands:?}: {}",
                output.stderr
            );
        }
        // Commands that fail or change nothing leave nothing to undo.
        while fixture.hew(&["undo"]).await.code() == Some(0) {}
        assert_eq!(
            missing(&before, &files(root)),
            Vec::<String>::new(),
            "seed {seed} {commands:?}"
        );
        total += before.len();
        println!(
            "sequence {seed}: {} files ({total} in total), {commands:?}",
            before.len()
        );
    }
}
