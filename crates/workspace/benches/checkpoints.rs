//! Cost of checkpoints: the snapshots before and after a command that changes one file.

#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use criterion::{Criterion, criterion_group, criterion_main};
use std::fs;
use std::path::Path;
use std::time::Duration;
use workspace::checkpoint::{BlobDir, BlobLimits, Checkpointer, EndangeredPaths};

/// A project with this many files of about two kilobytes, a hundred per folder.
fn project(root: &Path, files: usize) {
    for number in 0..files {
        let folder = root.join(format!("d{}/e{}", number / 1000, number / 100));
        if number % 100 == 0 {
            fs::create_dir_all(&folder).unwrap();
        }
        fs::write(
            folder.join(format!("f{number}.rs")),
            format!("// {number}\n").repeat(200),
        )
        .unwrap();
    }
}

fn pictures(criterion: &mut Criterion) {
    for files in [100, 1_000, 50_000] {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap().join("project");
        project(&root, files);
        let blobs = BlobDir::new(&temp.path().join("data/files"), BlobLimits::default());
        let mut group = criterion.benchmark_group(format!("checkpoint, {files} files"));
        group.sample_size(10).measurement_time(Duration::from_secs(3));
        group.bench_function("first command of a session, all known", |bench| {
            Checkpointer::new(&root, blobs.clone()).before(&EndangeredPaths::default(), ("s", "c"));
            bench.iter(|| {
                Checkpointer::new(&root, blobs.clone())
                    .before(&EndangeredPaths::default(), ("s", "c"))
                    .after()
            });
        });
        let checkpoints = Checkpointer::new(&root, blobs.clone());
        checkpoints.before(&EndangeredPaths::default(), ("s", "c")).after();
        group.bench_function("another command that changes nothing", |bench| {
            bench.iter(|| checkpoints.before(&EndangeredPaths::default(), ("s", "c")).after());
        });
        let mut round = 0;
        group.bench_function("another command that changes one file", |bench| {
            bench.iter(|| {
                let before = checkpoints.before(&EndangeredPaths::default(), ("s", "c"));
                round += 1;
                fs::write(root.join("d0/e0/f1.rs"), format!("{round}")).unwrap();
                assert_eq!(before.after().changes.len(), 1);
            });
        });
        group.finish();
    }
}

criterion_group!(benches, pictures);
criterion_main!(benches);
