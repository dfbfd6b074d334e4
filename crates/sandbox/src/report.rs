//! The confinement that the running kernel enforces.

use std::fmt;

/// The parts of a [`Confinement`](crate::Confinement) that the running kernel enforces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfinementReport {
    /// The Landlock version, if supported.
    pub landlock: Option<u32>,
    /// Filtering of system calls.
    pub seccomp: LayerStatus,
    /// A private view of the file system, in which everything but the roots is mounted read-only.
    pub mounts: LayerStatus,
    /// Only the command's own processes exist for it.
    pub processes: LayerStatus,
    /// The kernel asks before protected names are created.
    pub names: LayerStatus,
}

/// Whether a layer is active.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LayerStatus {
    /// It is active.
    Active,
    /// It is not active, with the reason.
    Missing(String),
}

impl LayerStatus {
    /// Whether it is active.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active)
    }
}

impl ConfinementReport {
    /// No layer is active, for one reason.
    pub(crate) fn unconfined(why: &str) -> Self {
        Self {
            landlock: None,
            seccomp: LayerStatus::Missing(why.into()),
            mounts: LayerStatus::Missing(why.into()),
            processes: LayerStatus::Missing(why.into()),
            names: LayerStatus::Missing(why.into()),
        }
    }

    /// Why no command may be run without approval: a layer without which a command is practically unconfined is missing.
    pub fn insufficient(&self) -> Option<String> {
        match (self.landlock, &self.mounts, &self.seccomp) {
            (None, LayerStatus::Missing(why), _) => Some(format!(
                "this machine cannot confine it: Landlock is not available, and neither are namespaces ({why})"
            )),
            (_, _, LayerStatus::Missing(why)) => Some(format!(
                "this machine cannot confine it: system calls cannot be filtered ({why})"
            )),
            (Some(_), _, LayerStatus::Active) | (None, LayerStatus::Active, LayerStatus::Active) => None,
        }
    }

    /// The gaps of the enforcement, one sentence each. Empty on a recent kernel that allows user namespaces.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        let abi = self.landlock.unwrap_or(0);
        match (&self.mounts, abi) {
            (LayerStatus::Active, _) => {}
            (LayerStatus::Missing(why), 0) => gaps.push(format!("Files can be written anywhere ({why}; no Landlock).")),
            (LayerStatus::Missing(why), _) => gaps.push(format!(
                "Protected files in the workspace are restored afterwards instead of being read-only, and modes, owners and \
                 times of files elsewhere can be changed ({why})."
            )),
        }
        if !self.mounts.is_active() && (1..3).contains(&abi) {
            gaps.push("Files elsewhere can be truncated (Landlock before version 3).".into());
        }
        if abi == 0 && !self.processes.is_active() {
            gaps.push("Other processes' memory and environment are protected by the system's own rules only.".into());
        }
        if abi < 6 && !self.processes.is_active() {
            gaps.push("Other processes of the user can be signalled (no Landlock version 6).".into());
        }
        if let LayerStatus::Missing(why) = &self.seccomp {
            gaps.push(format!("The network is not blocked ({why})."));
        }
        if let LayerStatus::Missing(why) = &self.names {
            gaps.push(format!(
                "Protected names can be created, and are renamed after the command ({why})."
            ));
        }
        gaps
    }

    /// One line, for [`ConfinementReport::parse`].
    pub(crate) fn encode(&self) -> String {
        let layer = |layer: &LayerStatus| match layer {
            LayerStatus::Active => String::new(),
            LayerStatus::Missing(why) => why.replace(['\t', '\n'], " "),
        };
        format!(
            "{}\t{}\t{}\t{}\t{}",
            self.landlock.unwrap_or(0),
            layer(&self.seccomp),
            layer(&self.mounts),
            layer(&self.processes),
            layer(&self.names)
        )
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let layer = |why: &str| match why {
            "" => LayerStatus::Active,
            why => LayerStatus::Missing(why.into()),
        };
        let mut fields = line.split('\t');
        Some(Self {
            landlock: Some(fields.next()?.parse().ok()?).filter(|abi| *abi > 0),
            seccomp: layer(fields.next()?),
            mounts: layer(fields.next()?),
            processes: layer(fields.next()?),
            names: layer(fields.next()?),
        })
    }
}

impl fmt::Display for ConfinementReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.landlock.map(|abi| format!("Landlock version {abi}")));
        parts.extend(self.seccomp.is_active().then(|| "seccomp".to_owned()));
        parts.extend(self.mounts.is_active().then(|| "read-only mounts".to_owned()));
        parts.extend(self.processes.is_active().then(|| "PID namespace".to_owned()));
        match parts.is_empty() {
            true => f.write_str("nothing is enforced"),
            false => f.write_str(&parts.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_survives_encoding() {
        let missing = || LayerStatus::Missing("not permitted".into());
        let active = || LayerStatus::Active;
        let all = "Landlock version 7, seccomp, read-only mounts, PID namespace";
        for (landlock, [seccomp, mounts, processes, names], text, gaps, is_sufficient) in [
            (Some(7), [active(), active(), active(), active()], all, 0, true),
            (Some(7), [active(), active(), active(), missing()], all, 1, true),
            (
                Some(6),
                [active(), missing(), missing(), active()],
                "Landlock version 6, seccomp",
                1,
                true,
            ),
            (
                Some(2),
                [active(), missing(), missing(), active()],
                "Landlock version 2, seccomp",
                3,
                true,
            ),
            (
                None,
                [active(), active(), missing(), active()],
                "seccomp, read-only mounts",
                2,
                true,
            ),
            (
                None,
                [active(), active(), active(), active()],
                "seccomp, read-only mounts, PID namespace",
                0,
                true,
            ),
            (
                Some(7),
                [missing(), active(), active(), missing()],
                "Landlock version 7, read-only mounts, PID namespace",
                2,
                false,
            ),
            (None, [active(), missing(), missing(), active()], "seccomp", 3, false),
            (
                None,
                [missing(), missing(), missing(), missing()],
                "nothing is enforced",
                5,
                false,
            ),
        ] {
            let report = ConfinementReport {
                landlock,
                seccomp,
                mounts,
                processes,
                names,
            };
            assert_eq!(ConfinementReport::parse(&report.encode()), Some(report.clone()));
            assert_eq!(
                (
                    report.to_string().as_str(),
                    report.gaps().len(),
                    report.insufficient().is_none()
                ),
                (text, gaps, is_sufficient)
            );
        }
    }

    #[test]
    fn invalid_reports_are_rejected() {
        for line in ["", "x", "7", "7\t", "7\t\t", "7\t\t\t"] {
            assert_eq!(ConfinementReport::parse(line), None, "{line}");
        }
    }
}
