//! Sessions: search, preview, resume, fork, rename.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::SessionTarget;
use crate::format::{age, dollars, first_line, now, tokens};
use crate::keys::KeyAction;
use crate::row::{StyledRow, wrap};
use crate::state::LiveActivity;
use crate::view::{PendingResult, ViewContext, ViewPlacement};
use futures::future::FutureExt as _;
use session::{Body, Item, SessionId, SessionMeta, Time};
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// The sessions.
pub(crate) struct SessionPicker {
    all_projects: bool,
    now: Time,
    previews: RefCell<HashMap<SessionId, SessionPreview>>,
}

/// The preview of a session.
enum SessionPreview {
    Loading(PendingResult<Vec<Arc<Item>>>),
    Loaded(Vec<(PreviewSpeaker, String)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PreviewSpeaker {
    User,
    Model,
}

impl Default for SessionPicker {
    fn default() -> Self {
        SessionPicker::at(now())
    }
}

impl SessionPicker {
    pub(crate) fn at(now: Time) -> Self {
        SessionPicker {
            all_projects: false,
            now,
            previews: RefCell::default(),
        }
    }
}

impl ListSource for SessionPicker {
    type Item = SessionMeta;

    fn title(&self) -> String {
        if self.all_projects {
            "Sessions of all projects".into()
        } else {
            "Sessions".into()
        }
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<SessionMeta> {
        let sessions = match self.all_projects {
            true => cx.backend.all_sessions(),
            false => cx.backend.sessions(),
        };
        // Sessions that need an answer come first, then those that work.
        let live: HashMap<SessionId, u8> = cx
            .state
            .others
            .iter()
            .map(|other| (other.id, rank(other.activity)))
            .collect();
        let sorted = sessions.map(move |sessions| {
            sessions.map(|mut sessions| {
                sessions.sort_by_key(|meta| live.get(&meta.id).copied().unwrap_or(u8::MAX));
                sessions
            })
        });
        ListItems::Pending(cx.start(sorted.boxed()))
    }

    fn name(&self, meta: &SessionMeta) -> String {
        let title = meta.title.as_deref().map(first_line).filter(|title| !title.is_empty());
        title.unwrap_or_else(|| format!("untitled {}", &meta.id.to_string()[..8]))
    }

    fn columns(&self, meta: &SessionMeta, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let here = cx.state.session == Some(meta.id);
        let project = match self.all_projects {
            true => meta
                .root
                .file_name()
                .map(|name| name.to_string_lossy().into_owned())
                .unwrap_or_default(),
            false => String::new(),
        };
        let live = cx.state.others.iter().find(|other| other.id == meta.id);
        let right = match (here, live.map(|live| live.activity)) {
            (true, _) if !cx.state.questions.is_empty() => StyledRow::new("open · needs your answer", cx.theme.warn),
            (true, _) if cx.state.is_working() => StyledRow::new("open · working", cx.theme.good),
            (true, _) => StyledRow::new("open", cx.theme.good),
            (false, Some(LiveActivity::WaitsForUser)) => StyledRow::new("needs your answer", cx.theme.warn),
            (false, Some(LiveActivity::Works)) => StyledRow::new("working", cx.theme.accent),
            (false, Some(LiveActivity::Idle)) => StyledRow::new("ended its turn", cx.theme.good),
            (false, None) => StyledRow::new(age(meta.updated, self.now), cx.theme.dim),
        };
        (StyledRow::new(project, cx.theme.dim), right)
    }

    fn detail(&self, meta: &SessionMeta, width: u16, cx: &ViewContext<'_>) -> Vec<StyledRow> {
        let theme = cx.theme;
        let mut rows = vec![
            StyledRow::new(self.name(meta), theme.strong),
            StyledRow::new(&*meta.model, theme.dim),
            StyledRow::new(
                format!(
                    "{} {} · {} tokens · {}",
                    meta.items,
                    if meta.items == 1 { "item" } else { "items" },
                    tokens(meta.totals.usage.prompt_tokens() + meta.totals.usage.output),
                    dollars(meta.totals.cost)
                ),
                theme.dim,
            ),
            StyledRow::empty(),
        ];
        let mut inside = self.previews.borrow_mut();
        let known = inside
            .entry(meta.id)
            .or_insert_with(|| SessionPreview::Loading(cx.start(cx.backend.session_items(meta.id))));
        if let SessionPreview::Loading(pending) = known
            && let Some(answer) = pending.take()
        {
            *known = SessionPreview::Loaded(answer.map(|items| last_messages(&items)).unwrap_or_default());
        }
        match known {
            SessionPreview::Loading(_) => rows.push(StyledRow::new("…", theme.dim)),
            SessionPreview::Loaded(lines) => {
                for (speaker, line) in lines {
                    let (mark, style) = match speaker {
                        PreviewSpeaker::User => ("› ", theme.person),
                        PreviewSpeaker::Model => ("  ", theme.text),
                    };
                    let row = StyledRow::new(mark, theme.accent).push(line.as_str(), style);
                    rows.extend(
                        wrap(&row, width.into(), &StyledRow::new("  ", theme.text))
                            .into_iter()
                            .take(3),
                    );
                }
            }
        }
        rows
    }

    fn choose_label(&self) -> &'static str {
        "open"
    }

    fn choose(&mut self, meta: &SessionMeta, cx: &ViewContext<'_>) -> ListResponse {
        match cx.state.session == Some(meta.id) {
            true => ListResponse::close(),
            false => ListResponse::close_and(AppAction::OpenSession(SessionTarget::Named(meta.id.to_string()))),
        }
    }

    fn perform(&mut self, action: KeyAction, meta: &SessionMeta, cx: &ViewContext<'_>) -> Option<ListResponse> {
        let _ = cx;
        match action {
            KeyAction::Fork => Some(ListResponse::close_and(AppAction::OpenSession(SessionTarget::Fork {
                session: meta.id,
                upto: None,
            }))),
            KeyAction::Rename => Some(ListResponse::Ask(
                action,
                "title:".into(),
                meta.title.clone().unwrap_or_default(),
            )),
            KeyAction::Scope => {
                self.all_projects = !self.all_projects;
                Some(ListResponse::Reload)
            }
            _ => None,
        }
    }

    fn submit_text(&mut self, _: KeyAction, text: String, meta: &SessionMeta, cx: &ViewContext<'_>) -> ListResponse {
        match text.trim() {
            "" => ListResponse::Stay,
            title => ListResponse::Await(cx.start(cx.backend.rename_session(meta.id, title.to_owned()))),
        }
    }

    fn key_hints(&self) -> &'static [KeyAction] {
        &[
            KeyAction::Close,
            KeyAction::Choose,
            KeyAction::Fork,
            KeyAction::Rename,
            KeyAction::Scope,
        ]
    }

    fn empty_text(&self) -> &'static str {
        "no sessions yet"
    }
}

/// The position of a running session in the list.
fn rank(activity: LiveActivity) -> u8 {
    match activity {
        LiveActivity::WaitsForUser => 0,
        LiveActivity::Works => 1,
        LiveActivity::Idle => 2,
    }
}

/// The last prompts and replies, oldest first.
fn last_messages(items: &[Arc<Item>]) -> Vec<(PreviewSpeaker, String)> {
    let mut lines: Vec<(PreviewSpeaker, String)> = items
        .iter()
        .rev()
        .filter_map(|item| {
            let (speaker, text) = match &item.body {
                Body::Prompt { message } => (PreviewSpeaker::User, session::user_text(message)),
                Body::Reply { message, .. } => (PreviewSpeaker::Model, message.text()),
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
