//! The output of a run on a terminal and in a pipe.

use super::*;
use model::{Block, CallId, Message, Role, ToolOutcome};
use session::{
    BlobId, Change, ItemDelta, ItemId, ItemStart, Limit, QuestionId, ReplyEnd, RequestId, Time, Totals, TurnEnd,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// Both streams in one, as a terminal shows them.
#[derive(Clone, Default)]
struct Screen(Rc<RefCell<Vec<u8>>>);

impl Write for Screen {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn style(answer: AnswerDisplay, live: bool) -> TextStyle {
    TextStyle {
        answer,
        out: ColorMode::Plain,
        err: ColorMode::Plain,
        live,
        quiet: false,
        columns: || 60,
    }
}

fn item(body: Body) -> Event {
    Event::ItemFinished {
        item: Arc::new(Item {
            id: ItemId::new(),
            parent: None,
            at: Time(0),
            body,
        }),
    }
}

fn reply(parts: Vec<Part>) -> Event {
    item(Body::Reply {
        message: Arc::new(Message {
            role: Role::Assistant,
            parts,
        }),
        model: "p/m".into(),
        request: RequestId::new(),
        end: ReplyEnd::Interrupted,
    })
}

fn commands() -> FollowUpCommands {
    FollowUpCommands {
        resume: "hew resume 0199".into(),
        review: "hew changes 0199".into(),
    }
}

fn result(outcome: ToolOutcome, title: &str, summary: &str, millis: u64) -> Event {
    let call = CallId::from("c");
    let parts = vec![Part::ToolResult {
        id: call.clone(),
        name: "terminal".into(),
        content: vec![Block::text(summary)],
        outcome,
    }];
    item(Body::Result {
        message: Arc::new(Message {
            role: Role::User,
            parts,
        }),
        call,
        tool: "terminal".into(),
        title: title.into(),
        summary: Some(summary.into()),
        exit: None,
        millis,
        changes: vec![Change {
            path: "a.txt".into(),
            before: None,
            after: Some(BlobId(title.into()).into()),
        }],
    })
}

fn turn_events() -> Vec<Event> {
    let id = ItemId::new();
    let delta = |delta| Event::ItemDelta { id, delta };
    let call = Part::ToolCall {
        id: "c".into(),
        name: "terminal".into(),
        input: serde_json::Value::Null,
        malformed: None,
        replay: None,
    };
    vec![
        Event::TurnStarted,
        Event::ItemStarted {
            id,
            kind: ItemStart::Reply,
        },
        delta(ItemDelta::Thinking("Where to\nbegin? ".into())),
        delta(ItemDelta::Thinking("With the tests.".into())),
        delta(ItemDelta::Text("I will ".into())),
        delta(ItemDelta::Text("test\u{1b}[31m it.".into())),
        delta(ItemDelta::Call {
            call: "c".into(),
            tool: "terminal".into(),
        }),
        reply(vec![Part::text("I will test it."), call]),
        result(
            ToolOutcome::Error,
            "make test",
            "The user declined.\nDo not try again.",
            1_234,
        ),
        result(ToolOutcome::Ok, &"long ".repeat(40), "fine", 1),
        Event::Retrying {
            error: "busy".into(),
            attempt: 2,
            delay: Duration::from_secs(3),
        },
        delta(ItemDelta::Text("Done.".into())),
        reply(vec![Part::text("Done.")]),
    ]
}

fn show(style: TextStyle, ending: &TurnEnd) -> String {
    let screen = Screen::default();
    let mut text = TextWriter::new(Box::new(screen.clone()), Box::new(screen.clone()), style, "p/m");
    for event in turn_events() {
        text.event(&event);
    }
    let finish = TurnResult {
        ending,
        answer: "Done.",
        output: None,
        duration: Duration::from_secs(2),
        run: Duration::from_secs(2),
        totals: &Totals::default(),
        exit_code: 0,
    };
    text.finish(&finish, &commands());
    String::from_utf8(screen.0.take()).unwrap()
}

#[test]
fn on_a_terminal_the_answer_streams_between_tool_lines() {
    insta::assert_snapshot!(show(style(AnswerDisplay::Streaming, false), &TurnEnd::Completed));
}

#[test]
fn a_pipe_gets_the_last_answer_and_the_outcome() {
    insta::assert_snapshot!(show(
        style(AnswerDisplay::Last, false),
        &TurnEnd::Limit(Limit::Steps(1))
    ));
}

#[test]
fn the_live_line_is_erased_before_other_output() {
    let screen = Screen::default();
    let mut text = TextWriter::new(
        Box::new(screen.clone()),
        Box::new(screen.clone()),
        style(AnswerDisplay::Streaming, true),
        "p/m",
    );
    for event in turn_events() {
        text.event(&event);
        text.tick();
    }
    let shown = String::from_utf8(screen.0.borrow().clone()).unwrap();
    let clear = "\r\u{1b}[2K";
    for line in shown.split('\n') {
        let last = line.rsplit(clear).next().unwrap_or(line);
        let drawn = last.contains("p/m") || last.contains("m · 0s");
        let unfinished = line == shown.split('\n').next_back().unwrap_or_default();
        assert!(!drawn || unfinished, "{line:?}");
    }
    assert!(shown.contains("calling terminal · m · 0s · step 1"), "{shown}");
}

fn screen_of(style: TextStyle) -> (Screen, TextWriter) {
    let screen = Screen::default();
    let text = TextWriter::new(Box::new(screen.clone()), Box::new(screen.clone()), style, "p/m");
    (screen, text)
}

fn shown(screen: &Screen) -> String {
    String::from_utf8(screen.0.take()).unwrap()
}

fn asked(why: &str) -> Event {
    Event::QuestionAsked {
        question: Question {
            id: QuestionId::new(),
            call: Some("c".into()),
            tool: "terminal".into(),
            subject: session::QuestionSubject::Permission {
                action: policy::Action::Run {
                    command: "make".into(),
                    cwd: "/".into(),
                },
                reason: why.into(),
                input: serde_json::Value::Null,
                rules: Vec::new(),
            },
        },
    }
}

#[test]
fn events_during_a_question_are_shown_after_its_answer() {
    let (screen, mut text) = screen_of(style(AnswerDisplay::Streaming, false));
    for event in [
        asked("first"),
        result(ToolOutcome::Ok, "a", "fine", 1),
        asked("second"),
        result(ToolOutcome::Ok, "b", "fine", 1),
    ] {
        text.event(&event);
    }
    assert_eq!(shown(&screen), "? hew wants to run `make`: first\n");
    text.answered();
    assert_eq!(shown(&screen), "✓ Run a · fine\n? hew wants to run `make`: second\n");
    text.answered();
    assert_eq!(shown(&screen), "✓ Run b · fine\n");
}

#[test]
fn a_question_is_one_paragraph_without_control_characters() {
    let (screen, mut text) = screen_of(style(AnswerDisplay::Streaming, false));
    text.event(&asked("it is\r\u{1b}[2K\u{9b}1A\n? hew wants to run `ls`"));
    assert_eq!(
        shown(&screen),
        "? hew wants to run `make`: it is 1A ? hew wants to run `ls`\n"
    );
    let path = "/p/a\n\u{1b}[1Ab".into();
    let place = policy::PathArea::Outside;
    assert_eq!(
        super::describe(&policy::Action::Write { path, place }),
        "to change /p/a b"
    );
}

#[test]
fn a_pause_in_the_stream_shows_the_live_line_below_the_text_until_it_continues() {
    let (screen, mut text) = screen_of(style(AnswerDisplay::Streaming, true));
    let say = |text: &mut TextWriter, words: &str| {
        text.event(&Event::ItemDelta {
            id: ItemId::new(),
            delta: ItemDelta::Text(words.into()),
        });
    };
    say(&mut text, "to be");
    text.wrote = Instant::now() + Duration::from_secs(60);
    text.tick();
    assert_eq!(shown(&screen), "to be");
    text.wrote = Instant::now().checked_sub(STATUS_DELAY).unwrap();
    text.tick();
    let drawn = shown(&screen);
    assert!(drawn.starts_with("\u{1b}D\u{1b}[A\u{1b}7\r\n"), "{drawn:?}");
    say(&mut text, " continued\n");
    assert_eq!(shown(&screen), "\r\u{1b}[2K\u{1b}8 continued\n");
}

#[test]
fn a_narrow_terminal_has_no_live_line() {
    let narrow = TextStyle {
        columns: || NARROW - 1,
        ..style(AnswerDisplay::Streaming, true)
    };
    let (screen, mut text) = screen_of(narrow);
    text.event(&Event::TurnStarted);
    text.tick();
    assert_eq!(shown(&screen), "");
}

#[test]
fn a_retried_request_is_one_step() {
    let (screen, mut text) = screen_of(style(AnswerDisplay::Streaming, true));
    let id = ItemId::new();
    let kind = ItemStart::Reply;
    for event in [
        Event::ItemStarted { id, kind: kind.clone() },
        Event::ItemDropped { id },
        Event::ItemStarted { id, kind },
    ] {
        text.event(&event);
    }
    text.tick();
    assert!(shown(&screen).contains("step 1"));
    text.event(&reply(vec![Part::text("x")]));
    assert_eq!(text.done.steps, 1);
}
