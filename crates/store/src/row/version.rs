//! A version of a file as columns: the key of its bytes, and a number for its kind.

use crate::blob;
use session::{Kind, Version};

const FILE: i64 = 0o100_000;
const LINK: i64 = 0o120_000;
const FOLDER: i64 = 0o040_000;
const KINDS: i64 = 0o170_000;
const PERMISSIONS: i64 = 0o7_777;
/// Nobody noted the permissions.
const UNNOTED: i64 = 1 << 16;
/// The bytes were not kept.
pub(crate) const UNKEPT: i64 = 1 << 17;
/// A file of which only the bytes are known.
pub(crate) const PLAIN: i64 = FILE | UNNOTED;

/// The number for the kind of a version; nothing for no version, and for a file of which only the bytes are known.
pub(crate) fn kind(version: Option<&Version>) -> Option<i64> {
    let version = version?;
    let permissions = |mode: Option<u32>| mode.map_or(UNNOTED, |mode| i64::from(mode) & PERMISSIONS);
    let kind = match version.kind {
        Kind::File { mode: None } if version.kept => return None,
        Kind::File { mode } => FILE | permissions(mode),
        Kind::Link => LINK,
        Kind::Folder { mode } => FOLDER | permissions(mode),
    };
    Some(if version.kept { kind } else { kind | UNKEPT })
}

/// The version that these columns tell of.
pub(crate) fn version(key: Option<Vec<u8>>, kind: Option<i64>) -> Option<Version> {
    let content = key.map(|key| blob::hex(&key));
    let Some(number) = kind else {
        return content.map(Version::from);
    };
    let mode = match number & UNNOTED {
        0 => u32::try_from(number & PERMISSIONS).ok(),
        _ => None,
    };
    let kind = match number & KINDS {
        LINK => Kind::Link,
        FOLDER => Kind::Folder { mode },
        _ => Kind::File { mode },
    };
    Some(Version {
        kind,
        content,
        kept: number & UNKEPT == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_version_survives_being_kept() {
        let content = blob::name(b"x");
        let kinds = [
            Kind::File { mode: None },
            Kind::File { mode: Some(0o4755) },
            Kind::Link,
            Kind::Folder { mode: None },
            Kind::Folder { mode: Some(0) },
        ];
        let mut versions = vec![None];
        for kind in kinds {
            for (content, kept) in [
                (None, true),
                (Some(content.clone()), true),
                (Some(content.clone()), false),
            ] {
                versions.push(Some(Version { kind, content, kept }));
            }
        }
        for written in versions {
            let key = written
                .as_ref()
                .and_then(|version| blob::key(version.content.as_ref()?));
            let is_nothing = written
                .as_ref()
                .is_some_and(|version| version.content.is_none() && kind(written.as_ref()).is_none());
            let read = version(key, kind(written.as_ref()));
            assert_eq!(read, written.filter(|_| !is_nothing));
        }
    }
}
