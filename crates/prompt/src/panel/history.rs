//! An earlier part of the conversation in full, after it was shortened to a history panel.

use super::{Panel, PanelContext, Volatility};
use crate::assembly::history;
use futures::future::{BoxFuture, FutureExt as _};
use session::{Body, Item, ItemId};
use std::sync::Arc;

/// A chunk of the conversation in full.
#[derive(Debug, Clone)]
pub struct HistoryPanel {
    name: String,
    /// The number of the chunk, from 1.
    number: usize,
}

impl HistoryPanel {
    /// The panel of a chunk, by the number in its history panel.
    pub fn new(number: usize) -> Self {
        HistoryPanel {
            name: format!("history:{number}"),
            number,
        }
    }
}

impl Panel for HistoryPanel {
    fn name(&self) -> &str {
        &self.name
    }

    fn volatility(&self) -> Volatility {
        Volatility::Fixed
    }

    fn snapshot<'a>(&'a self, context: &'a PanelContext<'a>) -> BoxFuture<'a, Option<String>> {
        let text = chunk(context.items, self.number).map(|(first, last)| {
            let from = context.items.iter().skip_while(|item| item.id != first);
            let mut text = String::new();
            for item in from {
                history::full_entry(&mut text, item);
                if item.id == last {
                    break;
                }
            }
            text
        });
        async move { text }.boxed()
    }
}

/// The first and the last item of a chunk. Chunks before a summary stay available.
fn chunk(items: &[Arc<Item>], number: usize) -> Option<(ItemId, ItemId)> {
    let elision = items.iter().rev().find_map(|item| match &item.body {
        Body::Panels {
            elision: Some(elision), ..
        } if !elision.history.is_empty() => Some(elision),
        _ => None,
    });
    elision?.history.get(number.checked_sub(1)?).copied()
}
