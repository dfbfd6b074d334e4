//! Nothing escapes: each attempt fails, and nothing outside has changed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use sandbox::{Confinement, ConfinementLevel, ConfinementReport, NetworkAccess, ProcessStatus};

use crate::attempts::{ATTEMPTS, Stop, Unconfined};
use crate::fixture::{Fixture, Print};

/// Runs every attempt in its own directory, and reports those that escaped.
pub(crate) async fn escaped(simulated: &str, confinement: impl Fn(&Fixture) -> Confinement) -> Vec<String> {
    let (mut escaped, mut tried) = (Vec::new(), 0);
    for (name, stop, _, line) in ATTEMPTS {
        let fixture = Fixture::new();
        let before = fixture.fingerprint();
        let mut request = fixture.request(line);
        request.environment = request.environment.with("PRETEND", simulated);
        let confinement = confinement(&fixture);
        if confinement.guards.is_some() {
            // The guard then prepares a process for the next command.
            fixture.run(&confinement, "true").await;
        }
        let exit = confinement.spawn(&request).unwrap().exit().await;
        let confined = exit.confinement.unwrap();
        if !is_stopped(*stop, &confined.report) {
            println!(
                "skipped: {name}, because this machine enforces only {}",
                confined.report
            );
            continue;
        }
        tried += 1;
        // If a change can only be reverted, the command itself succeeds.
        let undone = *stop == Stop::Undoing && !confined.report.mounts.is_active();
        let mut after = fixture.fingerprint();
        if undone {
            // Restoring takes time.
            after
                .iter_mut()
                .for_each(|(path, print)| print.when = before.get(path).map_or(0, |before| before.when));
        }
        let changed = changes(&before, &after);
        if (exit.status == ProcessStatus::Exited(0) && !undone) || !changed.is_empty() {
            escaped.push(format!("{name}: {:?}, {changed:#?}, {}", exit.status, exit.output.head));
        }
    }
    println!("attack: tried {tried}");
    escaped
}

/// Whether the active layers should stop it.
fn is_stopped(stop: Stop, report: &ConfinementReport) -> bool {
    let (landlock, mounts) = (report.landlock.unwrap_or(0), report.mounts.is_active());
    match stop {
        Stop::Files => landlock >= 3 || mounts,
        Stop::Mounts => mounts,
        Stop::Undoing | Stop::Always => true,
        Stop::Hiding => landlock > 0 || mounts,
        Stop::Landlock(version) => landlock >= version,
    }
}

fn changes(before: &BTreeMap<PathBuf, Print>, after: &BTreeMap<PathBuf, Print>) -> Vec<String> {
    let paths = before
        .keys()
        .chain(after.keys().filter(|path| !before.contains_key(*path)));
    // Content found in place of a protected path is kept next to it.
    let paths = paths.filter(|path| path.extension().is_none_or(|extension| extension != "blocked"));
    let changed = paths.filter(|path| before.get(*path) != after.get(*path));
    changed
        .map(|path| {
            format!(
                "{}: {:?} became {:?}",
                path.display(),
                before.get(path),
                after.get(path)
            )
        })
        .collect()
}

#[tokio::test]
async fn every_attempt_is_a_real_one() {
    let root = rustix::process::geteuid().is_root();
    for (name, _, unconfined, line) in ATTEMPTS {
        let tried = match unconfined {
            Unconfined::Escapes => true,
            Unconfined::AsRoot => root,
            Unconfined::Untried => false,
        };
        if !tried {
            println!("not tried without a sandbox: {name}");
            continue;
        }
        let fixture = Fixture::new();
        let exit = sandbox::spawn(&fixture.request(line)).unwrap().exit().await;
        assert_eq!(exit.status, ProcessStatus::Exited(0), "{name}: {}", exit.output.head);
    }
}

#[tokio::test]
async fn nothing_escapes_the_workspace() {
    assert!(ATTEMPTS.len() >= 40);
    let escaped = escaped("", Fixture::confinement).await;
    assert!(escaped.is_empty(), "{} got out:\n{}", escaped.len(), escaped.join("\n"));
}

#[tokio::test]
async fn nothing_escapes_the_guard_of_a_session() {
    let escaped = escaped("", |fixture| Confinement {
        guards: Some(sandbox::GuardPool::default()),
        ..fixture.confinement()
    })
    .await;
    assert!(escaped.is_empty(), "{} got out:\n{}", escaped.len(), escaped.join("\n"));
}

#[tokio::test]
async fn nothing_escapes_the_read_only_level() {
    let escaped = escaped("", |fixture| Confinement {
        level: ConfinementLevel::ReadOnly,
        ..fixture.confinement()
    })
    .await;
    assert!(escaped.is_empty(), "{} got out:\n{}", escaped.len(), escaped.join("\n"));
}

#[tokio::test]
async fn a_granted_network_opens_the_network_and_nothing_else() {
    for (line, expected) in [
        ("$ATTEMPT tcp 127.0.0.1:$PORT4", true),
        ("$ATTEMPT udp 127.0.0.1:0 127.0.0.1:$UDP", true),
        ("$ATTEMPT listen 127.0.0.1:0", true),
        ("$ATTEMPT socket 16 3 0", true),
        ("$ATTEMPT socket 16 3 9", false),
        ("$ATTEMPT unix $SOCKET", false),
        ("$ATTEMPT datagram $DATAGRAM", false),
        ("$ATTEMPT abstract $ABSTRACT", false),
        ("$ATTEMPT socket 2 3 1", false),
        ("$ATTEMPT socket 10 3 58", false),
        ("$ATTEMPT socket 17 3 768", false),
        ("echo x > $OUTSIDE/new", false),
    ] {
        let fixture = Fixture::new();
        let granted = Confinement {
            network: NetworkAccess::Granted,
            ..fixture.confinement()
        };
        let exit = fixture.run(&granted, line).await;
        assert_eq!(
            exit.status == ProcessStatus::Exited(0),
            expected,
            "{line}: {}",
            exit.output.head
        );
    }
}
