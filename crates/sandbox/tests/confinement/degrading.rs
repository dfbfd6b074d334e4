//! Kernels with fewer features enforce less, and the report contains the gaps.

use sandbox::{Confinement, LayerStatus};

use crate::escapes::escaped;
use crate::fixture::Fixture;

#[tokio::test]
async fn without_namespaces_landlock_and_restoring_confine() {
    let escaped = escaped("no-namespaces", Fixture::confinement).await;
    assert!(escaped.is_empty(), "{} got out:\n{}", escaped.len(), escaped.join("\n"));
}

#[tokio::test]
async fn without_landlock_the_mounts_confine() {
    let escaped = escaped("no-landlock", Fixture::confinement).await;
    assert!(escaped.is_empty(), "{} got out:\n{}", escaped.len(), escaped.join("\n"));
}

/// Missing features, the layers that remain (Landlock, mounts, PID namespace), and whether commands still run.
const DEGRADATIONS: [(&str, [bool; 3], bool); 10] = [
    ("no-listener", [true, true, true], true),
    ("", [true, true, true], true),
    ("no-pid-namespace", [true, true, false], true),
    ("no-landlock", [false, true, true], true),
    ("no-landlock no-pid-namespace", [false, true, false], true),
    ("no-namespaces", [true, false, false], true),
    ("no-mounts", [true, false, false], true),
    ("no-seccomp", [true, true, true], false),
    ("no-mounts no-landlock", [false, false, false], false),
    ("no-namespaces no-landlock", [false, false, false], false),
];

#[tokio::test]
async fn missing_layers_are_reported_and_without_both_file_layers_nothing_runs() {
    for (simulated, [landlock, mounts, processes], runs) in DEGRADATIONS {
        let fixture = Fixture::new();
        let mut request = fixture.request("echo ran > ran");
        request.environment = request.environment.with("PRETEND", simulated);
        let exit = fixture.confinement().spawn(&request).unwrap().exit().await;
        let report = exit.confinement.unwrap().report;
        let has = |layer: &LayerStatus| layer.is_active();
        // This machine may lack a layer too.
        assert!(landlock || report.landlock.is_none(), "{simulated}: {report:?}");
        assert!(mounts || !has(&report.mounts), "{simulated}: {report:?}");
        assert!(processes || !has(&report.processes), "{simulated}: {report:?}");
        let has_listener = !["no-listener", "no-seccomp"].contains(&simulated);
        assert!(has_listener || !has(&report.names), "{simulated}: {report:?}");
        assert_eq!(
            report.gaps().is_empty(),
            report.insufficient().is_none()
                && has(&report.names)
                && has(&report.mounts)
                && (has(&report.processes) || report.landlock >= Some(6))
        );
        assert_eq!(
            report.insufficient().is_none(),
            fixture.work().join("ran").exists(),
            "{simulated}"
        );
        assert!(
            runs || report.insufficient().is_some(),
            "{simulated}: {}",
            exit.output.head
        );
        if !runs {
            assert_eq!(exit.status, sandbox::ProcessStatus::Exited(126));
            assert!(
                exit.output.head.contains("this machine cannot confine it"),
                "{}",
                exit.output.head
            );
        }
    }
}

#[tokio::test]
async fn the_report_matches_the_confinement_of_a_command() {
    let fixture = Fixture::new();
    let report = fixture.confinement().report().unwrap();
    println!("this machine enforces {report}");
    let exit = fixture.run(&fixture.confinement(), "true").await;
    assert_eq!(exit.confinement.unwrap().report, report);
}

#[tokio::test]
async fn a_program_that_is_not_a_launcher_never_runs_the_command() {
    let fixture = Fixture::new();
    let wrong = Confinement {
        launcher: "/bin/true".into(),
        ..fixture.confinement()
    };
    assert!(wrong.report().is_err());
    // It may end before or after it was sent the command.
    if let Ok(mut process) = wrong.spawn(&fixture.request("echo ran > ran")) {
        assert_eq!(process.exit().await.status, sandbox::ProcessStatus::Unknown);
    }
    assert!(!fixture.work().join("ran").exists());
    let missing = Confinement {
        launcher: "/no/such/launcher".into(),
        ..fixture.confinement()
    };
    assert!(missing.spawn(&fixture.request("true")).is_err());
}
