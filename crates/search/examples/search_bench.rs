//! Measures code search on repositories with questions and writes the features for training.
//!
//! `search_bench features REPOSITORIES QUESTIONS` prints one line of JSON per question and candidate file; `search_bench
//! score REPOSITORIES QUESTIONS [all|lexical|bm25|embedding]` prints NDCG@10. `search_bench speed PROJECT QUESTIONS [SIGNALS
//! [CACHE]]` prints the time, memory and size of the project's index and the times of all questions; an index in the folder
//! CACHE is kept for the next run. `search_bench history GIT_DIR COMMITS`
//! asks for the files of each of the last commits by its message, with an index that is updated commit by commit.
//! `cargo xtask search-bench` runs it.

#![allow(clippy::expect_used, clippy::disallowed_methods)] // A failed benchmark ends with its reason.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use index::search::{FEATURES, QueryScope, RankingSignals};
use search::{CodeIndex, CodeQuery, CodeResult, RefreshPriority};
use serde_json::{Value, json};
use workspace::{StopSignal, Workspace, read_regular_file};

/// After so many commits, the updated index is compared with a new one.
const COMPARED_COMMITS: usize = 50;
/// Commits that change more files are moves or formatting.
const MAX_CHANGED: usize = 10;
/// How often each question is asked to measure its time.
const RUNS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, folder, questions, rest @ ..] = &arguments[..] else {
        eprintln!(
            "usage: search_bench features|score|speed REPOSITORIES QUESTIONS [SIGNALS], or history GIT_DIR COMMITS"
        );
        std::process::exit(2);
    };
    let signals = match rest.first().map(String::as_str) {
        None | Some("all") => RankingSignals::All,
        Some("lexical") => RankingSignals::Lexical,
        Some("fixed") => RankingSignals::Fixed,
        Some("bm25") => RankingSignals::Bm25,
        Some(_) => RankingSignals::Embedding,
    };
    if task == "history" {
        return history(folder, questions.parse().expect("a number of commits"));
    }
    let questions = Path::new(questions);
    if task == "speed" {
        return speed(Path::new(folder), questions, signals, rest.get(1).map(Path::new));
    }
    let repositories = read_json(&questions.join("repos.json"));
    let cache = tempfile::tempdir().expect("a temporary folder");
    let mut languages: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut categories: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    let mut times = Vec::new();
    if task == "features" {
        println!("{}", json!({ "features": FEATURES }));
    }
    for repository in repositories.as_array().expect("a list") {
        let name = repository["name"].as_str().expect("a name");
        let root = Path::new(folder)
            .join(name)
            .join(repository["benchmark_root"].as_str().unwrap_or(""));
        let Ok(workspace) = Workspace::open(&root) else {
            eprintln!("{name} is missing");
            continue;
        };
        let index = CodeIndex::new(workspace, cache.path());
        let start = Instant::now();
        index
            .refresh(
                &StopSignal::after(Duration::from_secs(600)),
                RefreshPriority::Foreground,
            )
            .expect("an index");
        let built = start.elapsed();
        let status = index.status();
        let mut scores = Vec::new();
        for question in read_json(&questions.join("questions").join(format!("{name}.json")))
            .as_array()
            .expect("a list")
        {
            let targets: Vec<&Value> = ["relevant", "secondary"]
                .iter()
                .flat_map(|kind| question[kind].as_array().into_iter().flatten())
                .collect();
            let (limit, signals) = match task.as_str() {
                "features" => (100, RankingSignals::Fixed),
                _ => (10, signals),
            };
            let query = CodeQuery {
                text: question["query"].as_str().expect("a query"),
                scope: QueryScope::default(),
                limit,
                signals,
            };
            let start = Instant::now();
            let found = index.current().search(&index::search::SearchQuery {
                text: query.text,
                scope: query.scope,
                limit,
                signals,
            });
            times.push(start.elapsed());
            drop(found);
            let results = index.search(&query).expect("results");
            let category = question["category"].as_str().unwrap_or("semantic");
            if task == "features" {
                for result in &results {
                    let label = targets.iter().any(|target| matches(target, result));
                    println!(
                        "{}",
                        json!({"repo": name, "language": repository["language"], "query": query.text, "category": category, "targets": targets.len(),
                            "path": result.path, "label": u8::from(label), "features": result.features})
                    );
                }
            }
            let score = ndcg(&results, &targets);
            scores.push(score);
            categories.entry(category.to_owned()).or_default().push(score);
        }
        eprintln!(
            "{name:20} {:12} {:.3}  {} files, {} chunks, {} lines, index {} of {} KB, built in {built:?}",
            repository["language"].as_str().unwrap_or_default(),
            mean(&scores),
            status.files,
            status.chunks,
            status.lines,
            status.bytes / 1024,
            status.source_bytes / 1024
        );
        if name == "abseil-cpp" {
            eprintln!("sections {:?}", index.current().section_sizes());
        }
        languages
            .entry(repository["language"].to_string())
            .or_default()
            .push(mean(&scores));
    }
    times.sort_unstable();
    for (category, scores) in &categories {
        eprintln!("{category}: {:.4}", mean(scores));
    }
    let by_language: Vec<f64> = languages.values().map(|scores| mean(scores)).collect();
    let median = times.get(times.len() / 2).copied().unwrap_or_default();
    eprintln!(
        "NDCG@10, mean of languages: {:.4}; query p50 {median:?}",
        mean(&by_language)
    );
}

/// Finds the files that the last commits changed by their messages.
fn history(git_dir: &str, commits: usize) {
    let (tree, cache) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
    );
    let git = |args: &[&str]| -> String {
        let mut command = Command::new("git");
        command
            .args(["--git-dir", git_dir, "--work-tree"])
            .arg(tree.path())
            .args(args);
        command.env("GIT_INDEX_FILE", cache.path().join("git-index"));
        String::from_utf8_lossy(&command.output().expect("git").stdout).into_owned()
    };
    let count = format!("-{commits}");
    let list = git(&["rev-list", "--first-parent", "--reverse", &count, "HEAD"]);
    let index = CodeIndex::new(Workspace::open(tree.path()).expect("a project"), cache.path());
    let refresh = |index: &CodeIndex| {
        let stop = StopSignal::after(Duration::from_secs(600));
        index.refresh(&stop, RefreshPriority::Foreground).expect("an index");
    };
    let mut scores: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    let (mut asked, mut compared, mut differences) = (0, 0, 0);
    let mut messages = Vec::new();
    for (nth, commit) in list.lines().enumerate() {
        let parent = format!("{commit}^");
        git(&["checkout", "--force", "--quiet", &parent, "--", "."]);
        git(&["read-tree", "--reset", "-u", &parent]);
        refresh(&index);
        let changed = git(&["diff", "--name-only", "--diff-filter=M", &parent, commit]);
        let current = index.current();
        let is_indexed = |path: &&str| current.files().any(|file| file.path == *path);
        let targets: Vec<&str> = changed.lines().filter(is_indexed).collect();
        let message = git(&["log", "-1", "--format=%B", commit]);
        messages.push(message.clone());
        if !targets.is_empty() && targets.len() <= MAX_CHANGED {
            asked += 1;
            for (name, signals) in [("all", RankingSignals::All), ("bm25", RankingSignals::Bm25)] {
                let found = paths(&index, &message, signals);
                let ranks: Vec<usize> = targets
                    .iter()
                    .filter_map(|target| found.iter().position(|path| path == target))
                    .collect();
                let score = scores.entry(name).or_default();
                score.0 += ranks.len() as f64 / targets.len() as f64;
                score.1 += ranks.iter().min().map_or(0.0, |rank| 1.0 / (1.0 + *rank as f64));
            }
        }
        if (nth + 1) % COMPARED_COMMITS == 0 {
            let other = tempfile::tempdir().expect("a folder");
            let new = CodeIndex::new(Workspace::open(tree.path()).expect("a project"), other.path());
            refresh(&new);
            for message in messages.drain(..) {
                compared += 1;
                let answers = [&index, &new].map(|index| paths(index, &message, RankingSignals::All));
                differences += usize::from(answers[0] != answers[1]);
            }
        }
    }
    let asked = f64::from(asked.max(1));
    for (name, (recall, reciprocal)) in scores {
        println!(
            "{name}: recall@10 {:.3}, MRR {:.3}, {asked} commits",
            recall / asked,
            reciprocal / asked
        );
    }
    println!("updated and new index: {differences} of {compared} answers differ");
}

fn paths(index: &CodeIndex, text: &str, signals: RankingSignals) -> Vec<String> {
    let query = CodeQuery {
        text,
        scope: QueryScope::default(),
        limit: 10,
        signals,
    };
    let results = index.search(&query).expect("results");
    results.into_iter().map(|result| result.path).collect()
}

/// Measures an index: its first construction, an update without changes, an update of one file, and queries.
fn speed(project: &Path, questions: &Path, signals: RankingSignals, cache: Option<&Path>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let cache = cache.unwrap_or(folder.path());
    let open = || CodeIndex::new(Workspace::open(project).expect("a project"), cache);
    let update = |index: &CodeIndex, name: &str| {
        let (start, used) = (Instant::now(), process_time());
        let stop = StopSignal::after(Duration::from_secs(3600));
        let outcome = index.refresh(&stop, RefreshPriority::Foreground).expect("an index");
        println!(
            "{name}: {:.3} s, {:.2} s of processors, {} files analysed, {}",
            start.elapsed().as_secs_f64(),
            process_time() - used,
            outcome.updated,
            memory()
        );
    };
    let index = open();
    update(&index, "first index");
    let status = index.status();
    println!(
        "{} files, {} lines, {} chunks, {} segments, index {} KB = {:.3} of the source, sections {:?}",
        status.files,
        status.lines,
        status.chunks,
        status.segments,
        status.bytes / 1024,
        status.bytes as f64 / status.source_bytes as f64,
        index.current().section_sizes()
    );
    drop(index);
    let start = Instant::now();
    let index = open();
    index.load();
    println!("load: {:.3} s, {}", start.elapsed().as_secs_f64(), memory());
    update(&index, "update without changes");
    let changed = project.join("hew_search_bench_changed_file.rs");
    std::fs::write(&changed, include_str!("search_bench.rs")).expect("a written file");
    update(&index, "update of one file");
    std::fs::remove_file(&changed).expect("a removed file");
    update(&index, "update of a removed file");
    let mut texts = Vec::new();
    for entry in std::fs::read_dir(questions.join("questions")).expect("questions") {
        let list = read_json(&entry.expect("an entry").path());
        let list = list.as_array().expect("a list").iter();
        texts.extend(list.map(|question| question["query"].as_str().expect("a query").to_owned()));
    }
    let current = index.current();
    // The shortest of several runs, because other processes interrupt some.
    let mut times = vec![f64::INFINITY; texts.len()];
    let used = process_time();
    for _ in 0..RUNS {
        for (text, time) in texts.iter().zip(&mut times) {
            let start = Instant::now();
            let found = current.search(&index::search::SearchQuery {
                text,
                scope: QueryScope::default(),
                limit: 10,
                signals,
            });
            *time = time.min(start.elapsed().as_secs_f64());
            drop(found);
        }
    }
    let used = (process_time() - used) * 1e3 / (RUNS * texts.len()) as f64;
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(0.0) * 1e3;
    println!(
        "{} queries: mean {used:.2} ms of processor, p50 {:.2} ms, p90 {:.2} ms, p99 {:.2} ms, {}",
        times.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        memory()
    );
}

/// Seconds of processors that this process used.
fn process_time() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let ticks = stat
        .split(' ')
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse::<f64>().ok());
    ticks.sum::<f64>() / 100.0
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let wanted = ["VmHWM", "VmRSS", "RssAnon"];
    let lines = status
        .lines()
        .filter(|line| wanted.iter().any(|name| line.starts_with(name)));
    lines
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join(", ")
}

fn read_json(path: &Path) -> Value {
    let bytes = read_regular_file(path, 64 * 1024 * 1024).expect("a readable file");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn matches(target: &Value, result: &CodeResult) -> bool {
    let path = target.as_str().or_else(|| target["path"].as_str()).unwrap_or_default();
    let found = &result.path;
    let same = found == path || found.ends_with(&format!("/{path}")) || path.ends_with(&format!("/{found}"));
    let lines = (target["start_line"].as_u64(), target["end_line"].as_u64());
    let meets = match (lines, result.chunks.first()) {
        ((Some(start), Some(end)), Some(chunk)) => chunk.first as u64 <= end && chunk.last as u64 >= start,
        _ => true,
    };
    same && meets
}

fn ndcg(results: &[CodeResult], targets: &[&Value]) -> f64 {
    let mut ranks: Vec<usize> = targets
        .iter()
        .filter_map(|target| results.iter().take(10).position(|result| matches(target, result)))
        .collect();
    ranks.sort_unstable();
    ranks.dedup();
    let gain = |rank: usize| 1.0 / (rank as f64 + 2.0).log2();
    let ideal: f64 = (0..targets.len().min(10)).map(gain).sum();
    ranks.into_iter().map(gain).sum::<f64>() / ideal.max(f64::MIN_POSITIVE)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
