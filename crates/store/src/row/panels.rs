//! Panels as rows.

use super::message::MessageRow;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use session::{Body, ItemId, Time};
use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

/// A panels item.
#[derive(Serialize, Deserialize)]
pub(super) struct PanelsRow<'a> {
    messages: Vec<MessageRow<'a>>,
    shown: Vec<ShownPanelRow<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fold: Option<ElisionRow>,
}

#[derive(Serialize, Deserialize)]
struct ShownPanelRow<'a> {
    panel: Cow<'a, str>,
    hash: u64,
    since: u64,
}

#[derive(Serialize, Deserialize)]
struct ElisionRow {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    brief: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cut: Vec<(String, u64)>,
}

impl<'a> PanelsRow<'a> {
    pub(super) fn of(
        messages: &'a [Arc<model::Message>],
        shown: &'a [session::ShownPanel],
        fold: Option<&session::HistoryElision>,
    ) -> Self {
        PanelsRow {
            messages: messages.iter().map(|message| message.as_ref().into()).collect(),
            shown: shown
                .iter()
                .map(|shown| ShownPanelRow {
                    panel: Cow::Borrowed(&shown.panel),
                    hash: shown.hash,
                    since: shown.since.0,
                })
                .collect(),
            fold: fold.map(ElisionRow::of),
        }
    }

    /// Decodes the body; `None` if a message is unknown.
    pub(super) fn known(self) -> serde_json::Result<Option<Body>> {
        let mut messages = Vec::with_capacity(self.messages.len());
        for message in self.messages {
            match super::body::decode_message(message)? {
                Some(message) => messages.push(message),
                None => return Ok(None),
            }
        }
        let shown = self.shown.into_iter().map(|shown| session::ShownPanel {
            panel: shown.panel.into_owned(),
            hash: shown.hash,
            since: Time(shown.since),
        });
        Ok(Some(Body::Panels {
            messages,
            states: shown.collect(),
            elision: self.fold.map(ElisionRow::known).transpose()?,
        }))
    }
}

impl ElisionRow {
    fn of(fold: &session::HistoryElision) -> Self {
        let ids = |ids: &[ItemId]| ids.iter().map(ItemId::to_string).collect();
        ElisionRow {
            history: fold
                .history
                .iter()
                .map(|(first, last)| (first.to_string(), last.to_string()))
                .collect(),
            brief: ids(&fold.brief),
            gone: ids(&fold.hidden),
            cut: fold
                .truncated
                .iter()
                .map(|(id, bytes)| (id.to_string(), *bytes))
                .collect(),
        }
    }

    fn known(self) -> serde_json::Result<session::HistoryElision> {
        let id = |text: &str| ItemId::from_str(text).map_err(serde_json::Error::custom);
        let ids = |texts: &[String]| texts.iter().map(|text| id(text)).collect::<Result<Vec<_>, _>>();
        let pairs = self.history.iter().map(|(first, last)| Ok((id(first)?, id(last)?)));
        let cuts = self.cut.iter().map(|(text, bytes)| Ok((id(text)?, *bytes)));
        Ok(session::HistoryElision {
            history: pairs.collect::<serde_json::Result<_>>()?,
            brief: ids(&self.brief)?,
            hidden: ids(&self.gone)?,
            truncated: cuts.collect::<serde_json::Result<_>>()?,
        })
    }
}
