//! The sessions: search, look inside, resume, fork, rename.

use super::list::{Act, Fetch, Source};
use crate::house::Which;
use crate::keys::Deed;
use crate::row::{Row, wrap};
use crate::view::{Cx, Errand, Place, Wish};
use crate::words::{ago, first_line, money, now, tokens};
use session::{Body, Item, Meta, SessionId, Time};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The sessions.
pub(crate) struct Sessions {
    everywhere: bool,
    now: Time,
    inside: RefCell<HashMap<SessionId, Inside>>,
}

/// What is known of a session's items.
enum Inside {
    Fetching(Errand<Vec<Arc<Item>>>),
    Known(Vec<(Speaker, String)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    Person,
    Model,
}

impl Default for Sessions {
    fn default() -> Self {
        Sessions::at(now())
    }
}

impl Sessions {
    /// The sessions as they look at a time.
    pub(crate) fn at(now: Time) -> Self {
        Sessions {
            everywhere: false,
            now,
            inside: RefCell::default(),
        }
    }
}

impl Source for Sessions {
    type Entry = Meta;

    fn title(&self) -> String {
        if self.everywhere {
            "Sessions of all projects".into()
        } else {
            "Sessions".into()
        }
    }

    fn place(&self) -> Place {
        Place::Full
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Meta> {
        Fetch::Later(cx.fetch(match self.everywhere {
            true => cx.house.all_sessions(),
            false => cx.house.sessions(),
        }))
    }

    fn name(&self, meta: &Meta) -> String {
        let title = meta.title.as_deref().map(first_line).filter(|title| !title.is_empty());
        title.unwrap_or_else(|| format!("untitled {}", &meta.id.to_string()[..8]))
    }

    fn about(&self, meta: &Meta, cx: &Cx<'_>) -> (Row, Row) {
        let here = cx.state.session == Some(meta.id);
        let project = match self.everywhere {
            true => meta
                .root
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            false => String::new(),
        };
        let right = match here {
            true => Row::of("open", cx.theme.good),
            false => Row::of(ago(meta.updated, self.now), cx.theme.dim),
        };
        (Row::of(project, cx.theme.dim), right)
    }

    fn detail(&self, meta: &Meta, width: u16, cx: &Cx<'_>) -> Vec<Row> {
        let theme = cx.theme;
        let mut rows = vec![
            Row::of(self.name(meta), theme.strong),
            Row::of(&*meta.model, theme.dim),
            Row::of(
                format!(
                    "{} items · {} tokens · {}",
                    meta.items,
                    tokens(meta.totals.usage.prompt() + meta.totals.usage.output),
                    money(meta.totals.cost)
                ),
                theme.dim,
            ),
            Row::empty(),
        ];
        let mut inside = self.inside.borrow_mut();
        let known = inside
            .entry(meta.id)
            .or_insert_with(|| Inside::Fetching(cx.fetch(cx.house.items(meta.id))));
        if let Inside::Fetching(errand) = known
            && let Some(answer) = errand.take()
        {
            *known = Inside::Known(answer.map(|items| said(&items)).unwrap_or_default());
        }
        match known {
            Inside::Fetching(_) => rows.push(Row::of("…", theme.dim)),
            Inside::Known(lines) => {
                for (speaker, line) in lines {
                    let (mark, style) = match speaker {
                        Speaker::Person => ("› ", theme.person),
                        Speaker::Model => ("  ", theme.text),
                    };
                    let row = Row::of(mark, theme.accent).and(line.as_str(), style);
                    rows.extend(wrap(&row, width.into(), &Row::of("  ", theme.text)).into_iter().take(3));
                }
            }
        }
        rows
    }

    fn verb(&self) -> &'static str {
        "resume"
    }

    fn choose(&mut self, meta: &Meta, cx: &Cx<'_>) -> Act {
        match cx.state.session == Some(meta.id) {
            true => Act::Close,
            false => Act::CloseAnd(Wish::Switch(Which::Named(meta.id.to_string()))),
        }
    }

    fn act(&mut self, deed: Deed, meta: &Meta, cx: &Cx<'_>) -> Option<Act> {
        let _ = cx;
        match deed {
            Deed::Fork => Some(Act::CloseAnd(Wish::Switch(Which::Fork {
                session: meta.id,
                upto: None,
            }))),
            Deed::Rename => Some(Act::Ask(deed, "title:".into(), meta.title.clone().unwrap_or_default())),
            Deed::Scope => {
                self.everywhere = !self.everywhere;
                Some(Act::Again)
            }
            _ => None,
        }
    }

    fn said(&mut self, _: Deed, words: String, meta: &Meta, cx: &Cx<'_>) -> Act {
        match words.trim() {
            "" => Act::Stay,
            title => Act::Await(cx.fetch(cx.house.rename(meta.id, title.to_owned()))),
        }
    }

    fn hints(&self) -> &'static [Deed] {
        &[Deed::Close, Deed::Choose, Deed::Fork, Deed::Rename, Deed::Scope]
    }

    fn empty(&self) -> &'static str {
        "no sessions yet"
    }
}

/// What was said last, oldest first.
fn said(items: &[Arc<Item>]) -> Vec<(Speaker, String)> {
    let mut lines: Vec<(Speaker, String)> = items
        .iter()
        .rev()
        .filter_map(|item| {
            let (speaker, text) = match &item.body {
                Body::Prompt { message } => (Speaker::Person, session::spoken(message)),
                Body::Reply { message, .. } => (Speaker::Model, message.text()),
                _ => return None,
            };
            let line = first_line(&text);
            (!line.is_empty()).then_some((speaker, line))
        })
        .take(12)
        .collect();
    lines.reverse();
    lines
}
