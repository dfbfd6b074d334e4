//! Benchmarks placing edits in a large file and following a rewrite of one.
//!
//! Placing an edit costs in proportion to the frequency of its rarest line; the line index is built once per file. The
//! search for typos costs the same again, and ignoring all whitespace costs one pass over the file. Nothing is
//! quadratic in the file size.

#![allow(missing_docs, reason = "the macros make undocumented functions")]

use std::hint::black_box;
use std::path::Path;

use criterion::{Criterion, criterion_group, criterion_main};
use edit::{EditFormat, StreamingDiff, plan};
use serde_json::json;

const LINES: usize = 50_000;

/// A file in which most lines occur more than once.
fn large_file() -> String {
    let mut file = String::new();
    for block in 0..LINES / 10 {
        file.push_str(&format!(
            "fn handler_{block}(request: &Request) -> Response {{\n    let payload = request.json();\n    let mut results = \
             Vec::new();\n    for item in payload.items_{} {{\n        results.push(process(item, {block}));\n    }}\n    \
             audit(\"{block}\");\n    Response::ok(results)\n}}\n\n",
            block % 7
        ));
    }
    file
}

fn block(number: usize, payload: &str) -> String {
    format!(
        "fn handler_{number}(request: &Request) -> Response {{\n    let {payload} = request.json();\n    let mut results = Vec::new();\n    \
         for item in payload.items_{} {{\n        results.push(process(item, {number}));\n",
        number % 7
    )
}

fn resolving(criterion: &mut Criterion) {
    let file = large_file();
    let lookup = |_: &Path| Some(file.clone());
    let place = |text: &str| plan(text, EditFormat::Json, None, &lookup).map(|plan| plan.edits.len());

    let edits: Vec<_> = (0..100)
        .map(|at| block(at * 49 + 3, "payload"))
        .map(|old| json!({"old_text": old, "new_text": old.replace("payload", "body")}))
        .collect();
    let hundred = json!({"path": "big.rs", "edits": edits}).to_string();
    assert_eq!(place(&hundred), Ok(100));
    criterion.bench_function("100 exact edits in 50,000 lines", |bencher| {
        bencher.iter(|| place(black_box(&hundred)))
    });

    let edits: Vec<_> = (0..100)
        .map(|at| block(at * 49 + 3, "payload").replace("    ", "  "))
        .map(|old| json!({"old_text": old, "new_text": old.replace("payload", "body")}))
        .collect();
    let reindented = json!({"path": "big.rs", "edits": edits}).to_string();
    assert_eq!(place(&reindented), Ok(100));
    criterion.bench_function("100 re-indented edits in 50,000 lines", |bencher| {
        bencher.iter(|| place(black_box(&reindented)));
    });

    let old = block(2_500, "paylod");
    let fuzzy =
        json!({"path": "big.rs", "edits": [{"old_text": old, "new_text": old.replace("paylod", "body")}]}).to_string();
    assert_eq!(place(&fuzzy), Ok(1));
    criterion.bench_function("one edit with a slip in 50,000 lines", |bencher| {
        bencher.iter(|| place(black_box(&fuzzy)))
    });

    let missing = json!({"path": "big.rs", "edits": [{"old_text": "fn handler_x(r: &R) -> S {\n    go();\n    stop();\n", "new_text": "x"}]});
    let missing = missing.to_string();
    assert!(place(&missing).is_err());
    criterion.bench_function("one refusal with the nearest lines in 50,000 lines", |bencher| {
        bencher.iter(|| place(black_box(&missing)));
    });
}

fn streaming(criterion: &mut Criterion) {
    let old: String = large_file().split_inclusive('\n').take(5_000).collect();
    let new: String = old
        .split_inclusive('\n')
        .enumerate()
        .map(|(at, line)| {
            if at % 11 == 0 {
                line.replace("results", "answers")
            } else {
                line.to_owned()
            }
        })
        .collect();
    criterion.bench_function("streaming difference of 5,000 lines", |bencher| {
        bencher.iter(|| {
            let mut diff = StreamingDiff::new(old.as_str());
            let mut count = 0;
            let mut rest = new.as_str();
            while !rest.is_empty() {
                let (chunk, after) = rest.split_at(rest.len().min(40));
                count += diff.push(chunk).len();
                rest = after;
            }
            count + diff.finish().len()
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = resolving, streaming
}
criterion_main!(benches);
