//! Origins of text parts as rows.

use model::PartOrigin;
use serde::{Deserialize, Serialize};

/// Prefixes of parts that hew added, in rows without an origin.
const PREFIXES: &[(&str, PartOrigin)] = &[
    ("<rules path=\"", PartOrigin::Rules),
    ("<environment>\n", PartOrigin::Environment),
    ("<context>\n", PartOrigin::Mention),
    ("<file path=\"", PartOrigin::Attachment),
    ("<command name=\"", PartOrigin::Command),
    ("<hook>\n", PartOrigin::Hook),
    ("<reminder>\n", PartOrigin::Reminder),
    ("<ran by=\"person\">\n$ ", PartOrigin::Shell),
    ("<summary>", PartOrigin::Summary),
];

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum OriginRow {
    Author,
    Rules,
    Environment,
    Mention,
    Attachment,
    Command,
    Hook,
    Reminder,
    Shell,
    Summary,
    #[serde(other)]
    Unknown,
}

impl OriginRow {
    /// The origin of a part; `None` for a text by its author that the prefix rule cannot misread.
    pub(super) fn encode(text: &str, origin: PartOrigin) -> Option<Self> {
        Some(match origin {
            PartOrigin::Author if !text.starts_with('<') => return None,
            PartOrigin::Author => OriginRow::Author,
            PartOrigin::Rules => OriginRow::Rules,
            PartOrigin::Environment => OriginRow::Environment,
            PartOrigin::Mention => OriginRow::Mention,
            PartOrigin::Attachment => OriginRow::Attachment,
            PartOrigin::Command => OriginRow::Command,
            PartOrigin::Hook => OriginRow::Hook,
            PartOrigin::Reminder => OriginRow::Reminder,
            PartOrigin::Shell => OriginRow::Shell,
            PartOrigin::Summary => OriginRow::Summary,
        })
    }

    pub(super) fn decode(self) -> PartOrigin {
        match self {
            OriginRow::Author => PartOrigin::Author,
            OriginRow::Rules => PartOrigin::Rules,
            OriginRow::Environment => PartOrigin::Environment,
            OriginRow::Mention => PartOrigin::Mention,
            OriginRow::Attachment => PartOrigin::Attachment,
            OriginRow::Command => PartOrigin::Command,
            // An origin of a newer version is not the author either.
            OriginRow::Hook | OriginRow::Unknown => PartOrigin::Hook,
            OriginRow::Reminder => PartOrigin::Reminder,
            OriginRow::Shell => PartOrigin::Shell,
            OriginRow::Summary => PartOrigin::Summary,
        }
    }
}

/// The origin of a part in a row without one, as versions before schema 6 wrote them: hew marked its own parts only by tags.
pub(super) fn origin_by_prefix(text: &str) -> PartOrigin {
    let found = PREFIXES.iter().find(|(prefix, _)| text.starts_with(prefix));
    found.map_or(PartOrigin::Author, |(_, origin)| *origin)
}
