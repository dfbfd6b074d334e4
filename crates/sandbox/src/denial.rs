//! Signs in a process's end that it was refused something.

use crate::{Denial, Output, Status};

/// What programs and the C library say when the kernel refuses. In English, as most of them do whatever the language.
const SIGNS: [&str; 8] = [
    "permission denied",
    "operation not permitted",
    "device or resource busy",
    "network is unreachable",
    "eacces",
    "eperm",
    "erofs",
    "enotfound",
];
/// What they say for hardly any other reason, so that it counts even if the last program of a line did well.
const SURE_SIGNS: [&str; 9] = [
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
const MAX_LINES: usize = 3;
const MAX_LINE: usize = 300;
/// The signal for a system call that a filter does not let pass.
const SIGSYS: i32 = 31;

/// The signs, if there are any; of a process that did well, only those that are sure.
pub(crate) fn signs(status: Status, output: &Output) -> Option<Denial> {
    let unsure: &[&str] = match status {
        Status::Exited(0) => &[],
        Status::Signalled(SIGSYS) => {
            let evidence = vec!["it was ended for a forbidden system call".into()];
            return Some(Denial { evidence });
        }
        Status::Exited(_) | Status::Signalled(_) | Status::TimedOut | Status::Unknown => &SIGNS,
    };
    let lines = output.head.lines().chain(output.tail.lines());
    let evidence: Vec<String> = lines
        .filter(|line| {
            let line = line.to_ascii_lowercase();
            SURE_SIGNS.iter().chain(unsure).any(|sign| line.contains(sign))
        })
        .take(MAX_LINES)
        .map(|line| line.chars().take(MAX_LINE).collect::<String>().trim().to_owned())
        .collect();
    (!evidence.is_empty()).then_some(Denial { evidence })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_refusal_count_after_a_failure_and_some_after_a_success_too() {
        for (status, output, evidence) in [
            (Status::Exited(0), "sh: x: Permission denied\n", None),
            (
                Status::Exited(0),
                "curl: (6) Could not resolve host: a",
                Some("curl: (6) Could not resolve host: a"),
            ),
            (Status::Exited(1), "assertion failed\n", None),
            (
                Status::Exited(1),
                "one\n touch: /x: Read-only file system\ntwo\n",
                Some("touch: /x: Read-only file system"),
            ),
            (
                Status::Exited(6),
                "curl: (6) Could not resolve host: a.b",
                Some("curl: (6) Could not resolve host: a.b"),
            ),
            (
                Status::Signalled(31),
                "",
                Some("it was ended for a forbidden system call"),
            ),
            (Status::TimedOut, "Error: EPERM: nope", Some("Error: EPERM: nope")),
        ] {
            let output = Output {
                head: output.into(),
                ..Output::default()
            };
            let found = signs(status, &output).map(|denial| denial.evidence.join("|"));
            assert_eq!(found.as_deref(), evidence, "{status:?} {output:?}");
        }
    }

    #[test]
    fn evidence_is_bounded() {
        let output = Output {
            head: format!("{} permission denied\n", "permission denied ".repeat(100)).repeat(10),
            ..Output::default()
        };
        let evidence = signs(Status::Exited(1), &output).unwrap().evidence;
        assert_eq!(evidence.len(), MAX_LINES);
        assert!(evidence.iter().all(|line| line.len() <= MAX_LINE));
    }
}
