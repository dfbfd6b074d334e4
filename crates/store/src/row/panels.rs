//! Panels that were shown, as rows.

use super::message::Message;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use session::{Body, ItemId, Time};
use std::borrow::Cow;
use std::str::FromStr;
use std::sync::Arc;

/// Panels that were shown.
#[derive(Serialize, Deserialize)]
pub(super) struct Panels<'a> {
    messages: Vec<Message<'a>>,
    shown: Vec<Shown<'a>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fold: Option<Fold>,
}

#[derive(Serialize, Deserialize)]
struct Shown<'a> {
    panel: Cow<'a, str>,
    hash: u64,
    since: u64,
}

#[derive(Serialize, Deserialize)]
struct Fold {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    history: Vec<(String, String)>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    brief: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    gone: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    cut: Vec<(String, u64)>,
}

impl<'a> Panels<'a> {
    pub(super) fn of(
        messages: &'a [Arc<model::Message>],
        shown: &'a [session::Shown],
        fold: Option<&session::Fold>,
    ) -> Self {
        Panels {
            messages: messages.iter().map(|message| message.as_ref().into()).collect(),
            shown: shown
                .iter()
                .map(|shown| Shown {
                    panel: Cow::Borrowed(&shown.panel),
                    hash: shown.hash,
                    since: shown.since.0,
                })
                .collect(),
            fold: fold.map(Fold::of),
        }
    }

    /// The body; `None` where this version does not know all of it.
    pub(super) fn known(self) -> serde_json::Result<Option<Body>> {
        let mut messages = Vec::with_capacity(self.messages.len());
        for message in self.messages {
            match super::body::known(message)? {
                Some(message) => messages.push(message),
                None => return Ok(None),
            }
        }
        let shown = self.shown.into_iter().map(|shown| session::Shown {
            panel: shown.panel.into_owned(),
            hash: shown.hash,
            since: Time(shown.since),
        });
        Ok(Some(Body::Panels {
            messages,
            shown: shown.collect(),
            fold: self.fold.map(Fold::known).transpose()?,
        }))
    }
}

impl Fold {
    fn of(fold: &session::Fold) -> Self {
        let ids = |ids: &[ItemId]| ids.iter().map(ItemId::to_string).collect();
        Fold {
            history: fold
                .history
                .iter()
                .map(|(first, last)| (first.to_string(), last.to_string()))
                .collect(),
            brief: ids(&fold.brief),
            gone: ids(&fold.gone),
            cut: fold.cut.iter().map(|(id, bytes)| (id.to_string(), *bytes)).collect(),
        }
    }

    fn known(self) -> serde_json::Result<session::Fold> {
        let id = |text: &str| ItemId::from_str(text).map_err(serde_json::Error::custom);
        let ids = |texts: &[String]| texts.iter().map(|text| id(text)).collect::<Result<Vec<_>, _>>();
        let pairs = self.history.iter().map(|(first, last)| Ok((id(first)?, id(last)?)));
        let cuts = self.cut.iter().map(|(text, bytes)| Ok((id(text)?, *bytes)));
        Ok(session::Fold {
            history: pairs.collect::<serde_json::Result<_>>()?,
            brief: ids(&self.brief)?,
            gone: ids(&self.gone)?,
            cut: cuts.collect::<serde_json::Result<_>>()?,
        })
    }
}
