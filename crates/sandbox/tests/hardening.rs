//! A hardened process protects its environment. In a separate file because it changes the whole process.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed preparation is a failed test")]

use std::process::Command;

#[test]
fn a_hardened_process_cannot_be_read_by_others_of_its_user() {
    let read = || {
        let path = format!("/proc/{}/environ", std::process::id());
        Command::new("cat").arg(path).output().unwrap().status.success()
    };
    assert!(read());
    sandbox::harden().unwrap();
    match rustix::process::geteuid().is_root() {
        true => println!("skipped: root may read everything"),
        false => assert!(!read()),
    }
    let behaviour = rustix::process::dumpable_behavior().unwrap();
    assert_eq!(behaviour, rustix::process::DumpableBehavior::NotDumpable);
    // Child processes are not affected.
    let started = Command::new("sh")
        .args(["-c", "cat /proc/$$/environ"])
        .output()
        .unwrap();
    assert!(started.status.success());
}
