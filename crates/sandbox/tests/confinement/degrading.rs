//! Kernels with fewer features enforce less, and the report contains the gaps.

use sandbox::{Confinement, LayerStatus};

use crate::escapes::escaped;
use crate::stage::Stage;

#[tokio::test]
async fn without_namespaces_landlock_and_restoring_confine() {
    let escaped = escaped("no-namespaces", Stage::confinement).await;
    assert!(escaped.is_empty(), "{} got out:\n{}", escaped.len(), escaped.join("\n"));
}

#[tokio::test]
async fn without_landlock_the_mounts_confine() {
    let escaped = escaped("no-landlock", Stage::confinement).await;
    assert!(escaped.is_empty(), "{} got out:\n{}", escaped.len(), escaped.join("\n"));
}

#[tokio::test]
async fn missing_layers_are_reported() {
    let stage = Stage::new();
    for (pretend, landlock, mounts, gaps) in [
        ("no-landlock", false, None, 2),
        ("no-namespaces", true, Some(false), 1),
        ("no-namespaces no-landlock", false, Some(false), 3),
    ] {
        let mut request = stage.request("true");
        request.environment = request.environment.with("PRETEND", pretend);
        let exit = stage.confinement().spawn(&request).unwrap().exit().await;
        let report = exit.confinement.unwrap().report;
        let has = |layer: &LayerStatus| layer.is_active();
        assert!(report.landlock.is_none() || landlock, "{report:?}");
        assert!(mounts.is_none_or(|mounts| mounts == has(&report.mounts)), "{report:?}");
        assert!(report.gaps().len() >= gaps, "{:?}", report.gaps());
    }
}

#[tokio::test]
async fn the_report_matches_the_confinement_of_a_command() {
    let stage = Stage::new();
    let report = stage.confinement().report().unwrap();
    println!("this machine enforces {report}");
    let exit = stage.run(&stage.confinement(), "true").await;
    assert_eq!(exit.confinement.unwrap().report, report);
}

#[tokio::test]
async fn a_program_that_is_not_a_launcher_never_runs_the_command() {
    let stage = Stage::new();
    let wrong = Confinement {
        launcher: "/bin/true".into(),
        ..stage.confinement()
    };
    assert!(wrong.report().is_err());
    let exit = stage.run(&wrong, "echo ran > ran").await;
    assert!(!stage.work().join("ran").exists());
    assert_eq!(exit.status, sandbox::ProcessStatus::Unknown);
    let missing = Confinement {
        launcher: "/no/such/launcher".into(),
        ..stage.confinement()
    };
    assert!(missing.spawn(&stage.request("true")).is_err());
}
