//! Every kind of item, with every kind of part.

use bytes::Bytes;
use model::{Block, Media, Message, Part, PartOrigin, ReplayData, Role, Stop, ToolOutcome};
use serde_json::json;
use session::{Body, Change, ItemId, ReplyEnd, RequestId, RestoreKind, ReviewedFile, Todo, TodoStatus};
use std::sync::Arc;

/// At least one body of each kind; results and reviews have these changes.
pub(crate) fn every_body(changes: Vec<Change>) -> Vec<Body> {
    let replay = || {
        Some(ReplayData {
            wire: "a-wire".into(),
            data: json!({"signature": "AbC=", "list": [1, 2.5, null, true, "z\u{0}\u{1F600}"]}),
        })
    };
    let media = |mime: &str, name: Option<&str>| Media {
        mime: mime.into(),
        name: name.map(Into::into),
        data: Bytes::from((0..=255).collect::<Vec<u8>>()),
    };
    let message = |role, parts| Arc::new(Message { role, parts });
    let reply = |parts, end| Body::Reply {
        message: message(Role::Assistant, parts),
        model: "maker/model-2".into(),
        request: RequestId::new(),
        end,
    };
    let text = |text: &str, replay| Part::Text {
        text: text.into(),
        origin: PartOrigin::Author,
        replay,
    };
    let stops = [
        Stop::End,
        Stop::ToolUse,
        Stop::MaxTokens,
        Stop::Refusal { detail: None },
        Stop::Refusal {
            detail: Some("no".into()),
        },
        Stop::Other { word: "pause".into() },
    ];
    let mut bodies = vec![
        Body::Prompt {
            message: message(
                Role::User,
                vec![
                    text("", None),
                    text("line\r\n\"quoted\" \\ \u{2028} ü", replay()),
                    Part::Media(media("image/png", None)),
                    Part::Media(media("application/pdf", Some("a.pdf"))),
                ],
            ),
        },
        Body::Prompt {
            message: message(Role::User, Vec::new()),
        },
        Body::Prompt {
            message: message(Role::User, every_origin()),
        },
        reply(
            vec![
                Part::Thinking {
                    text: "hm".into(),
                    replay: replay(),
                },
                Part::Thinking {
                    text: String::new(),
                    replay: None,
                },
                text(&"long ".repeat(50_000), None),
                Part::ToolCall {
                    id: "c1".into(),
                    name: "read_file".into(),
                    input: json!({"path": "a", "z": 1, "b": {"y": [], "a": -3.25e10}}),
                    malformed: None,
                    replay: replay(),
                },
                Part::ToolCall {
                    id: "c2".into(),
                    name: "grep".into(),
                    input: json!({}),
                    malformed: Some("{\"unclosed".into()),
                    replay: None,
                },
            ],
            ReplyEnd::Interrupted,
        ),
        reply(
            Vec::new(),
            ReplyEnd::Cut {
                error: "reset by peer".into(),
            },
        ),
        Body::Summary {
            message: message(Role::User, vec![text("so far", None)]),
            first_kept: None,
        },
        Body::Summary {
            message: message(Role::User, vec![text("so far again", None)]),
            first_kept: Some(session::ItemId::new()),
        },
        Body::Notice {
            text: "The limit was reached.".into(),
        },
        Body::Notification {
            message: message(Role::User, vec![text("job 3 ended", None)]),
            source: "job 3".into(),
        },
        Body::Todos {
            list: [
                TodoStatus::Pending,
                TodoStatus::InProgress,
                TodoStatus::Completed,
                TodoStatus::Cancelled,
            ]
            .map(|status| Todo {
                text: format!("{status:?}"),
                status,
            })
            .to_vec(),
        },
        Body::Panels {
            messages: vec![
                message(Role::User, vec![text("a panel", None)]),
                message(Role::User, vec![text("another", replay())]),
            ],
            states: vec![session::ShownPanel {
                panel: "file:a.rs".into(),
                hash: u64::MAX,
                since: session::Time(7),
            }],
            elision: Some(session::HistoryElision {
                history: vec![(ItemId::new(), ItemId::new())],
                brief: vec![ItemId::new()],
                hidden: vec![ItemId::new(), ItemId::new()],
                truncated: vec![(ItemId::new(), 4_000)],
            }),
        },
        Body::Panels {
            messages: Vec::new(),
            states: Vec::new(),
            elision: None,
        },
        Body::Review {
            message: Some(message(Role::User, vec![text("rejected", None)])),
            changes: changes.iter().map(reviewed).collect(),
        },
        Body::Review {
            message: None,
            changes: Vec::new(),
        },
        Body::Restored {
            message: message(Role::User, vec![text("undone", None)]),
            kind: RestoreKind::Undo,
            items: vec![ItemId::new()],
            changes: changes.clone(),
        },
        Body::Mode {
            name: "architect".into(),
            files: Vec::new(),
            edit_approval: None,
        },
        Body::Mode {
            name: "edit".into(),
            files: vec!["src/a.rs".into()],
            edit_approval: Some(policy::ApprovalMode::Ask),
        },
    ];
    for (outcome, summary, changes) in [
        (ToolOutcome::Ok, Some("2 files".to_owned()), changes),
        (ToolOutcome::Error, None, Vec::new()),
    ] {
        bodies.push(Body::Result {
            message: message(
                Role::User,
                vec![Part::ToolResult {
                    id: "c1".into(),
                    name: "read_file".into(),
                    content: vec![Block::text("text"), Block::Media(media("image/webp", None))],
                    outcome,
                }],
            ),
            call: "c1".into(),
            tool: "read_file".into(),
            title: "Read a".into(),
            summary,
            exit: None,
            millis: u64::from(u32::MAX),
            changes,
        });
    }
    bodies.extend(
        stops
            .into_iter()
            .map(|stop| reply(vec![text("x", None)], ReplyEnd::Finished(stop))),
    );
    bodies
}

/// A part of each origin, and a text of the user that looks like one of them.
fn every_origin() -> Vec<Part> {
    let origins = [
        PartOrigin::Author,
        PartOrigin::Rules,
        PartOrigin::Environment,
        PartOrigin::Mention,
        PartOrigin::Attachment,
        PartOrigin::Command,
        PartOrigin::Hook,
        PartOrigin::Reminder,
        PartOrigin::Shell,
        PartOrigin::Summary,
    ];
    let mut parts = origins.map(|origin| Part::with_origin("text", origin)).to_vec();
    parts.push(Part::text("<context>\nwritten by the user"));
    parts
}

fn reviewed(change: &Change) -> ReviewedFile {
    ReviewedFile {
        path: change.path.clone(),
        base: change.before.clone(),
        current: change.after.clone(),
    }
}
