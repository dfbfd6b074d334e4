//! How long a key waits while 50,000 files are searched, and how long a long prompt takes to be laid out.

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::time::Duration;

fn completion(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("completion of 50,000 files");
    group.measurement_time(Duration::from_secs(5)).sample_size(30);
    group.bench_function("first letter, one step", |bencher| {
        let names = tui::bench::names(50_000);
        bencher.iter(|| tui::bench::search(black_box(&names), "c", 1));
    });
    group.bench_function("first letter, all steps", |bencher| {
        let names = tui::bench::names(50_000);
        bencher.iter(|| tui::bench::search(black_box(&names), "c", usize::MAX));
    });
    group.bench_function("twelve letters, typed one by one", |bencher| {
        let names = tui::bench::names(50_000);
        bencher.iter(|| tui::bench::type_out(black_box(&names), "composer4711"));
    });
    group.finish();
}

fn layout(criterion: &mut Criterion) {
    let prompt = tui::bench::prompt(1_000);
    criterion.bench_function("a prompt of 1,000 lines is laid out", |bencher| {
        bencher.iter(|| tui::bench::lay_out(black_box(&prompt), 80));
    });
}

criterion_group!(benches, completion, layout);
criterion_main!(benches);
