//! What the running kernel enforces.

use std::fmt;

/// What the running kernel enforces of a [`Confinement`](crate::Confinement).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// The version of Landlock, if there is any.
    pub landlock: Option<u32>,
    /// Filtering of system calls.
    pub seccomp: Layer,
    /// A view of the file system of its own, in which everything but the roots is mounted read-only.
    pub mounts: Layer,
}

/// Whether a part of the confinement is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layer {
    /// It is.
    Active,
    /// It is not, for this reason.
    Missing(String),
}

impl Layer {
    /// Whether it is in force.
    pub fn is_active(&self) -> bool {
        matches!(self, Self::Active)
    }
}

impl Report {
    /// Nothing at all, for one reason.
    pub(crate) fn nothing(why: &str) -> Self {
        Self {
            landlock: None,
            seccomp: Layer::Missing(why.into()),
            mounts: Layer::Missing(why.into()),
        }
    }

    /// What is not enforced here, one sentence each. Empty on a recent kernel that lets users make namespaces.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        let abi = self.landlock.unwrap_or(0);
        match (&self.mounts, abi) {
            (Layer::Active, _) => {}
            (Layer::Missing(why), 0) => gaps.push(format!("Files can be written anywhere ({why}; no Landlock).")),
            (Layer::Missing(why), _) => gaps.push(format!(
                "Protected files in the workspace are put back afterwards instead of being read-only, and modes, owners and \
                 times of files elsewhere can be changed ({why})."
            )),
        }
        if !self.mounts.is_active() && (1..3).contains(&abi) {
            gaps.push("Files elsewhere can be truncated (Landlock before version 3).".into());
        }
        if abi == 0 {
            gaps.push("Other processes' memory and environment are protected by the system's own rules only.".into());
        }
        if abi < 6 {
            gaps.push("Other processes of the user can be signalled (no Landlock version 6).".into());
        }
        if let Layer::Missing(why) = &self.seccomp {
            gaps.push(format!("The network is not cut off ({why})."));
        }
        gaps
    }

    /// One line, for [`Report::parse`].
    pub(crate) fn encode(&self) -> String {
        let layer = |layer: &Layer| match layer {
            Layer::Active => String::new(),
            Layer::Missing(why) => why.replace(['\t', '\n'], " "),
        };
        format!(
            "{}\t{}\t{}",
            self.landlock.unwrap_or(0),
            layer(&self.seccomp),
            layer(&self.mounts)
        )
    }

    pub(crate) fn parse(line: &str) -> Option<Self> {
        let layer = |why: &str| match why {
            "" => Layer::Active,
            why => Layer::Missing(why.into()),
        };
        let mut fields = line.split('\t');
        Some(Self {
            landlock: Some(fields.next()?.parse().ok()?).filter(|abi| *abi > 0),
            seccomp: layer(fields.next()?),
            mounts: layer(fields.next()?),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.landlock.map(|abi| format!("Landlock version {abi}")));
        parts.extend(self.seccomp.is_active().then(|| "seccomp".to_owned()));
        parts.extend(self.mounts.is_active().then(|| "read-only mounts".to_owned()));
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
    fn a_report_survives_the_way_from_the_guard() {
        let missing = || Layer::Missing("not permitted".into());
        for (landlock, seccomp, mounts, text, gaps) in [
            (
                Some(7),
                Layer::Active,
                Layer::Active,
                "Landlock version 7, seccomp, read-only mounts",
                0,
            ),
            (Some(6), Layer::Active, missing(), "Landlock version 6, seccomp", 1),
            (Some(2), Layer::Active, missing(), "Landlock version 2, seccomp", 3),
            (None, Layer::Active, Layer::Active, "seccomp, read-only mounts", 2),
            (None, missing(), missing(), "nothing is enforced", 4),
        ] {
            let report = Report {
                landlock,
                seccomp,
                mounts,
            };
            assert_eq!(Report::parse(&report.encode()), Some(report.clone()));
            assert_eq!((report.to_string().as_str(), report.gaps().len()), (text, gaps));
        }
    }

    #[test]
    fn what_is_no_report_is_none() {
        for line in ["", "x", "7", "7\t"] {
            assert_eq!(Report::parse(line), None, "{line}");
        }
    }
}
