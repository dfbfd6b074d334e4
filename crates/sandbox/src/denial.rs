//! Detects signs of denied operations in a process's output.

use crate::{CapturedOutput, NetworkAccess, ProcessStatus, SandboxDenial};

/// Messages of programs and the C library about denied operations. In English, which most of them use in any locale.
const FAILURE_PATTERNS: [&str; 8] = [
    "permission denied",
    "operation not permitted",
    "device or resource busy",
    "network is unreachable",
    "eacces",
    "eperm",
    "erofs",
    "enotfound",
];
/// Messages with hardly any other cause, which count even if the last program of a line succeeded.
const CERTAIN_PATTERNS: [&str; 9] = [
    "read-only file system",
    "could not resolve host",
    "couldn't resolve host",
    "unable to resolve host",
    "failed to lookup address",
    "name or service not known",
    "temporary failure in name resolution",
    "temporary failure resolving",
    "eai_again",
];
/// The message of libcurl about any failed connection. It is a sign only if the process has no network.
const CONNECTION_FAILED: &str = "couldn't connect to server";
const MAX_LINES: usize = 3;
const MAX_LINE: usize = 300;
/// The signal for a system call that the filter rejects.
const SIGSYS: i32 = 31;

/// The signs of a denial, if any; for a successful process, only the certain ones.
pub(crate) fn detect_denial(
    status: ProcessStatus,
    output: &CapturedOutput,
    network: NetworkAccess,
) -> Option<SandboxDenial> {
    let unsure: &[&str] = match status {
        ProcessStatus::Exited(0) => &[],
        ProcessStatus::Signalled(SIGSYS) => {
            let evidence = vec!["it was killed for a forbidden system call".into()];
            return Some(SandboxDenial { evidence });
        }
        ProcessStatus::Exited(_) | ProcessStatus::Signalled(_) | ProcessStatus::TimedOut | ProcessStatus::Unknown => {
            &FAILURE_PATTERNS
        }
    };
    let lines = output.head.lines().chain(output.tail.lines());
    let evidence: Vec<String> = lines
        .filter(|line| {
            let line = line.to_ascii_lowercase();
            let is_connection =
                network == NetworkAccess::Denied && !unsure.is_empty() && line.contains(CONNECTION_FAILED);
            is_connection || CERTAIN_PATTERNS.iter().chain(unsure).any(|sign| line.contains(sign))
        })
        .take(MAX_LINES)
        .map(|line| line.chars().take(MAX_LINE).collect::<String>().trim().to_owned())
        .collect();
    (!evidence.is_empty()).then_some(SandboxDenial { evidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn denial_messages_count_after_a_failure_and_some_after_a_success_too() {
        for (status, output, evidence) in [
            (ProcessStatus::Exited(0), "sh: x: Permission denied\n", None),
            (
                ProcessStatus::Exited(0),
                "curl: (6) Could not resolve host: a",
                Some("curl: (6) Could not resolve host: a"),
            ),
            (ProcessStatus::Exited(1), "assertion failed\n", None),
            (
                ProcessStatus::Exited(1),
                "one\n touch: /x: Read-only file system\ntwo\n",
                Some("touch: /x: Read-only file system"),
            ),
            (
                ProcessStatus::Exited(6),
                "curl: (6) Could not resolve host: a.b",
                Some("curl: (6) Could not resolve host: a.b"),
            ),
            (
                ProcessStatus::Signalled(31),
                "",
                Some("it was killed for a forbidden system call"),
            ),
            (
                ProcessStatus::TimedOut,
                "Error: EPERM: nope",
                Some("Error: EPERM: nope"),
            ),
        ] {
            let output = CapturedOutput {
                head: output.into(),
                ..CapturedOutput::default()
            };
            let found = detect_denial(status, &output, NetworkAccess::Denied).map(|denial| denial.evidence.join("|"));
            assert_eq!(found.as_deref(), evidence, "{status:?} {output:?}");
        }
    }

    #[test]
    fn a_failed_connection_is_a_sign_only_without_network() {
        let text = "curl: (7) Failed to connect to localhost port 1 after 0 ms: Couldn't connect to server";
        let output = CapturedOutput {
            head: text.into(),
            ..CapturedOutput::default()
        };
        for (status, network, is_sign) in [
            (ProcessStatus::Exited(7), NetworkAccess::Denied, true),
            (ProcessStatus::Exited(0), NetworkAccess::Denied, false),
            (ProcessStatus::Exited(7), NetworkAccess::Granted, false),
            (ProcessStatus::Exited(7), NetworkAccess::Hosts, false),
        ] {
            let found = detect_denial(status, &output, network);
            assert_eq!(found.is_some(), is_sign, "{status:?} {network:?}");
        }
    }

    #[test]
    fn evidence_is_bounded() {
        let output = CapturedOutput {
            head: format!("{} permission denied\n", "permission denied ".repeat(100)).repeat(10),
            ..CapturedOutput::default()
        };
        let evidence = detect_denial(ProcessStatus::Exited(1), &output, NetworkAccess::Denied)
            .unwrap()
            .evidence;
        assert_eq!(evidence.len(), MAX_LINES);
        assert!(evidence.iter().all(|line| line.len() <= MAX_LINE));
    }
}
