//! File versions as columns: the blob key, and a number for the kind.

use crate::blob;
use session::{FileKind, FileVersion};

const FILE: i64 = 0o100_000;
const LINK: i64 = 0o120_000;
const FOLDER: i64 = 0o040_000;
const KINDS: i64 = 0o170_000;
const PERMISSIONS: i64 = 0o7_777;
/// The permissions are unknown.
const MODE_UNKNOWN: i64 = 1 << 16;
/// The content is not stored.
pub(crate) const NOT_STORED: i64 = 1 << 17;
/// A file with unknown permissions.
pub(crate) const PLAIN_FILE: i64 = FILE | MODE_UNKNOWN;

/// The number for the kind of a version; `None` for no version and for a stored file with unknown permissions.
pub(crate) fn kind(version: Option<&FileVersion>) -> Option<i64> {
    let version = version?;
    let permissions = |mode: Option<u32>| mode.map_or(MODE_UNKNOWN, |mode| i64::from(mode) & PERMISSIONS);
    let kind = match version.kind {
        FileKind::File { mode: None } if version.is_stored => return None,
        FileKind::File { mode } => FILE | permissions(mode),
        FileKind::Link => LINK,
        FileKind::Folder { mode } => FOLDER | permissions(mode),
    };
    Some(if version.is_stored { kind } else { kind | NOT_STORED })
}

/// Decodes a version.
pub(crate) fn version(key: Option<Vec<u8>>, kind: Option<i64>) -> Option<FileVersion> {
    let content = key.map(|key| blob::hex(&key));
    let Some(number) = kind else {
        return content.map(FileVersion::from);
    };
    let mode = match number & MODE_UNKNOWN {
        0 => u32::try_from(number & PERMISSIONS).ok(),
        _ => None,
    };
    let kind = match number & KINDS {
        LINK => FileKind::Link,
        FOLDER => FileKind::Folder { mode },
        _ => FileKind::File { mode },
    };
    Some(FileVersion {
        kind,
        content,
        is_stored: number & NOT_STORED == 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_versions_round_trip() {
        let content = blob::name(b"x");
        let kinds = [
            FileKind::File { mode: None },
            FileKind::File { mode: Some(0o4755) },
            FileKind::Link,
            FileKind::Folder { mode: None },
            FileKind::Folder { mode: Some(0) },
        ];
        let mut versions = vec![None];
        for kind in kinds {
            for (content, kept) in [
                (None, true),
                (Some(content.clone()), true),
                (Some(content.clone()), false),
            ] {
                versions.push(Some(FileVersion {
                    kind,
                    content,
                    is_stored: kept,
                }));
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
