//! Measures code search on repositories with questions and writes the features for training.
//!
//! `search_bench features REPOSITORIES QUESTIONS` prints one line of JSON per question and candidate file; `search_bench
//! score REPOSITORIES QUESTIONS [all|lexical|bm25|embedding]` prints NDCG@10. `cargo xtask search-bench` runs it.

#![allow(clippy::expect_used)] // A failed benchmark ends with its reason.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use index::search::{FEATURES, QueryScope, RankingSignals};
use search::{CodeIndex, CodeQuery, CodeResult, RefreshPriority};
use serde_json::{Value, json};
use workspace::{StopSignal, Workspace, read_regular_file};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [task, folder, questions, rest @ ..] = &arguments[..] else {
        eprintln!("usage: search_bench features|score REPOSITORIES QUESTIONS [SIGNALS]");
        std::process::exit(2);
    };
    let signals = match rest.first().map(String::as_str) {
        None | Some("all") => RankingSignals::All,
        Some("lexical") => RankingSignals::Lexical,
        Some("fixed") => RankingSignals::Fixed,
        Some("bm25") => RankingSignals::Bm25,
        Some(_) => RankingSignals::Embedding,
    };
    let questions = Path::new(questions);
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
