//! Composer behaviour and rendering, key by key.

use super::*;

use crate::state::WaitingPrompt;
use crate::test_support::{FakeBackend, ViewHarness, buffer_text, key_input};
use model::Media;
use proptest::prelude::*;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use unicode_segmentation::UnicodeSegmentation as _;

fn files() -> Vec<String> {
    [
        "src/main.rs",
        "src/composer.rs",
        "src/composer/text.rs",
        "docs/my notes.md",
        "README.md",
    ]
    .map(Into::into)
    .to_vec()
}

async fn harness() -> (ViewHarness, Composer) {
    let harness = ViewHarness::new(FakeBackend {
        files: files(),
        ..FakeBackend::default()
    });
    let mut composer = Composer::default();
    composer.handle(Input::Focus(crate::input::FocusChange::Gained), &harness.cx());
    // Symbols are requested on first use.
    write(&mut composer, &harness, "#");
    harness.run_pending().await;
    composer.apply_results(&harness.cx());
    write(&mut composer, &harness, "<backspace>");
    (harness, composer)
}

/// Types text; names in angle brackets are keys.
fn write(composer: &mut Composer, harness: &ViewHarness, text: &str) -> KeyResponse {
    let mut response = KeyResponse::Handled;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let named = rest.strip_prefix('<').and_then(|rest| rest.split_once('>'));
        let (input, after) = match named {
            Some((key, after)) => (key_input(key), after),
            None => {
                let event = KeyEvent::new(KeyCode::Char(c), crossterm::event::KeyModifiers::NONE);
                (Input::Key(event), &rest[c.len_utf8()..])
            }
        };
        response = composer.handle(input, &harness.cx());
        rest = after;
    }
    response
}

fn see(composer: &mut Composer, harness: &ViewHarness, width: u16) -> String {
    let rows = composer.rows(width, &harness.cx());
    let area = Rect::new(0, 0, width, rows);
    let mut buf = Buffer::empty(area);
    let caret = composer.draw(area, &mut buf, &harness.cx());
    buffer_text(&buf, caret)
}

#[tokio::test]
async fn the_composer_renders_at_three_widths() {
    let states = [
        ("empty", ""),
        ("lines", "first line<shift+enter>second 漢字 line"),
        (
            "long",
            "a prompt that is long enough to be broken into several rows when the window is narrow, and e\u{301} too",
        ),
        ("files", "look at @comp"),
        ("symbols", "what is #Com"),
        ("commands", "/m"),
        ("shell", "!cargo test"),
        ("search", "<ctrl+r>tests"),
        ("nothing_fits", "@zzzz"),
    ];
    for (name, keys) in states {
        for width in [80, 120, 40] {
            let (harness, mut composer) = harness().await;
            write(&mut composer, &harness, keys);
            insta::assert_snapshot!(format!("composer_{name}_{width}"), see(&mut composer, &harness, width));
        }
    }
}

#[tokio::test]
async fn queued_prompts_are_shown_and_can_be_edited() {
    let (mut harness, mut composer) = harness().await;
    harness.state.queue.push_back(WaitingPrompt {
        message: Message::user("then run the tests"),
        delivery: Delivery::Queue,
    });
    insta::assert_snapshot!("composer_queue", see(&mut composer, &harness, 60));
    assert!(matches!(
        write(&mut composer, &harness, "<up>"),
        KeyResponse::Action(AppAction::EditQueued)
    ));
    composer.restore_message(&Message::user("then run the tests"));
    assert_eq!(composer.text(), "then run the tests");
}

#[tokio::test]
async fn the_caret_is_where_the_next_letter_will_appear() {
    let cases = [
        ("abc", 5),
        ("漢字", 6),
        ("e\u{301}x", 4),
        ("a\u{200d}b", 4),
        ("👩‍👩‍👧!", 5),
        ("한국어", 8),
    ];
    for (text, column) in cases {
        let (harness, mut composer) = harness().await;
        composer.handle(Input::Paste(text.into()), &harness.cx());
        let seen = see(&mut composer, &harness, 40);
        assert!(
            seen.ends_with(&format!("caret at row 0, column {column}")),
            "{text}: {seen}"
        );
    }
}

#[tokio::test]
async fn a_long_paste_is_folded_and_sent_in_full() {
    let (harness, mut composer) = harness().await;
    let pasted = "line\n".repeat(120);
    write(&mut composer, &harness, "see ");
    composer.handle(Input::Paste(pasted.clone()), &harness.cx());
    insta::assert_snapshot!("composer_pasted", see(&mut composer, &harness, 60));
    match write(&mut composer, &harness, "<enter>") {
        KeyResponse::Action(AppAction::Submit { message, .. }) => {
            assert_eq!(message.text(), format!("see {}", pasted.trim_end()))
        }
        _ => panic!("nothing was sent"),
    }
    assert!(composer.is_empty());
}

#[tokio::test]
async fn completion_inserts_the_selected_name() {
    let cases = [
        ("see @comptext<tab>", "see @src/composer/text.rs "),
        ("see @mynotes<tab>", "see @\"docs/my notes.md\" "),
        ("see @src/<down><up><tab>", "see @src/"),
        ("#Sess<tab>", "#Session "),
        ("/rena<tab>", "/rename "),
        ("/shi<tab>", "/ship "),
        ("@main<esc>.rs", "@main.rs"),
    ];
    for (keys, expected) in cases {
        let (harness, mut composer) = harness().await;
        write(&mut composer, &harness, keys);
        assert_eq!(composer.text(), expected, "{keys}");
    }
}

#[tokio::test]
async fn commands_shell_lines_and_prompts_are_distinguished() {
    let (harness, mut composer) = harness().await;
    assert!(matches!(
        write(&mut composer, &harness, "/context<enter>"),
        KeyResponse::Action(AppAction::Key(KeyAction::ContextView))
    ));
    assert!(matches!(
        write(&mut composer, &harness, "/nope<enter>"),
        KeyResponse::Action(AppAction::Flash(_))
    ));
    assert_eq!(composer.text(), "/nope", "a mistyped command stays in the composer");
    write(&mut composer, &harness, "<ctrl+u>/etc/hosts is wrong");
    assert!(matches!(
        write(&mut composer, &harness, "<enter>"),
        KeyResponse::Action(AppAction::Submit { .. })
    ));
    write(&mut composer, &harness, "!ls<enter>");
    harness.run_pending().await;
    let notices: Vec<String> = composer
        .apply_results(&harness.cx())
        .into_iter()
        .filter_map(|action| {
            if let AppAction::Notice(text) = action {
                Some(text)
            } else {
                None
            }
        })
        .collect();
    assert_eq!(notices, ["! ls\noutput of ls"]);
    match write(&mut composer, &harness, "why?<enter>") {
        KeyResponse::Action(AppAction::Submit { message, .. }) => {
            assert_eq!(session::user_text(&message), "why?");
            let texts: Vec<&Part> = message.parts.iter().collect();
            let printed = Part::Text {
                text: "<ran by=\"user\">\n$ ls\noutput of ls\n</ran>".into(),
                origin: PartOrigin::Shell,
                replay: None,
            };
            assert_eq!(texts, [&Part::text("why?"), &printed]);
            // A returned message is equal to the sent one, including attached output.
            composer.restore_message(&message);
            assert_eq!(composer.text(), "why?");
            match write(&mut composer, &harness, "<enter>") {
                KeyResponse::Action(AppAction::Submit { message: again, .. }) => assert_eq!(again, message),
                _ => panic!("nothing was sent again"),
            }
        }
        _ => panic!("nothing was sent"),
    }
}

#[tokio::test]
async fn a_backslash_before_enter_is_a_new_line() {
    let (harness, mut composer) = harness().await;
    write(&mut composer, &harness, "one\\<enter>two<alt+enter>three<ctrl+j>");
    assert_eq!(composer.text(), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn stepping_through_the_history_keeps_the_current_text() {
    let (harness, mut composer) = harness().await;
    let mut seen = Vec::new();
    write(&mut composer, &harness, "draft<up>");
    for key in ["<up>", "<up>", "<up>", "<down>", "<down>"] {
        write(&mut composer, &harness, key);
        seen.push(composer.text());
    }
    assert_eq!(
        seen,
        [
            "explain the parser",
            "fix the tests",
            "fix the tests",
            "explain the parser",
            "draft"
        ]
    );
    write(&mut composer, &harness, "<ctrl+r>tests");
    assert_eq!(composer.text(), "fix the tests");
    write(&mut composer, &harness, "<esc>");
    assert_eq!(composer.text(), "draft");
}

#[tokio::test]
async fn a_draft_is_saved_once_for_many_keys() {
    let (harness, mut composer) = harness().await;
    write(&mut composer, &harness, "half a thought");
    assert!(
        harness.fake.operations.lock().unwrap().is_empty(),
        "no key waits for the disk"
    );
    composer.flush(&harness.cx());
    assert_eq!(*harness.fake.operations.lock().unwrap(), ["draft half a thought"]);
    write(&mut composer, &harness, "<enter>");
    assert_eq!(
        harness.fake.operations.lock().unwrap().last().unwrap(),
        "draft ",
        "a submitted prompt is not a draft"
    );
}

#[tokio::test]
async fn vim_keys_edit_and_enter_sends() {
    let (harness, mut composer) = harness().await;
    composer.set_vim(true);
    write(&mut composer, &harness, "one two<esc>bcwthree<esc>");
    assert_eq!(
        (composer.text().as_str(), composer.badge()),
        ("one three", Some("normal"))
    );
    assert!(matches!(
        write(&mut composer, &harness, "i<enter>"),
        KeyResponse::Action(AppAction::Submit { .. })
    ));
}

/// An edit for the model test below.
#[derive(Debug, Clone)]
enum Edit {
    Type(&'static str),
    Act(KeyAction),
}

fn edit() -> impl Strategy<Value = Edit> {
    let text = prop::sample::select(vec!["a", "b", " ", "\n", "漢", "e", "\u{301}", "👩‍👩‍👧", "\t", "_", "."]);
    let action = prop::sample::select(vec![
        KeyAction::Left,
        KeyAction::Right,
        KeyAction::LineStart,
        KeyAction::LineEnd,
        KeyAction::TextStart,
        KeyAction::TextEnd,
        KeyAction::DeleteBack,
        KeyAction::DeleteForward,
    ]);
    prop_oneof![3 => text.prop_map(Edit::Type), 2 => action.prop_map(Edit::Act)]
}

/// A minimal reference editor: the text and the caret's byte offset.
fn reference_edit(text: &mut String, caret: &mut usize, edit: &Edit) {
    let stops: Vec<usize> = text
        .grapheme_indices(true)
        .map(|(at, _)| at)
        .chain([text.len()])
        .collect();
    let before = stops.iter().copied().rfind(|at| *at < *caret).unwrap_or(0);
    let after = stops.iter().copied().find(|at| *at > *caret).unwrap_or(text.len());
    match edit {
        Edit::Type(typed) => {
            text.insert_str(*caret, typed);
            *caret += typed.len();
        }
        Edit::Act(KeyAction::Left) => *caret = before,
        Edit::Act(KeyAction::Right) => *caret = after,
        Edit::Act(KeyAction::LineStart) => *caret = text[..*caret].rfind('\n').map_or(0, |at| at + 1),
        Edit::Act(KeyAction::LineEnd) => *caret = text[*caret..].find('\n').map_or(text.len(), |at| *caret + at),
        Edit::Act(KeyAction::TextStart) => *caret = 0,
        Edit::Act(KeyAction::TextEnd) => *caret = text.len(),
        Edit::Act(KeyAction::DeleteBack) => {
            text.replace_range(before..*caret, "");
            *caret = before;
        }
        Edit::Act(_) => text.replace_range(*caret..after, ""),
    }
    // Adjacent characters may have combined into one grapheme.
    *caret = text
        .grapheme_indices(true)
        .map(|(at, _)| at)
        .chain([text.len()])
        .find(|at| *at >= *caret)
        .unwrap_or(0);
}

proptest! {
    #[test]
    fn random_edits_match_the_reference_editor_and_can_be_undone(edits in prop::collection::vec(edit(), 0..80)) {
        let (mut text, mut caret) = (String::new(), 0);
        let mut editor = TextEditor::default();
        for edit in &edits {
            reference_edit(&mut text, &mut caret, edit);
            match edit {
                Edit::Type(typed) => editor.insert(typed),
                Edit::Act(action) => {
                    editor.perform(*action);
                }
            }
            prop_assert_eq!((editor.as_str(), editor.text().caret()), (text.as_str(), caret));
            for width in [2, 7, 40] {
                let layout = editor.layout_for(width);
                let (row, _) = layout.position(editor.as_str(), &editor.attachments, caret);
                prop_assert!(row < layout.rows().len());
            }
        }
        while editor.undo() == EditOutcome::Changed {}
        prop_assert_eq!(editor.as_str(), "");
        while editor.redo() == EditOutcome::Changed {}
        prop_assert_eq!(editor.as_str(), text);
    }
}

#[tokio::test]
async fn the_clipboard_gives_an_image_or_text_or_nothing() {
    let media = Media {
        mime: "image/png".into(),
        name: None,
        data: b"png".to_vec().into(),
    };
    for (clip, line, images) in [
        (Some(ClipboardContent::Image(media)), "see [image 1: clipboard]", 1),
        (Some(ClipboardContent::Text("two\r\nlines".into())), "see two\nlines", 0),
        (None, "see ", 0),
    ] {
        let is_there = clip.is_some();
        let (_, mut composer) = harness().await;
        let harness = ViewHarness::new(FakeBackend {
            clipboard: clip,
            ..FakeBackend::default()
        });
        write(&mut composer, &harness, "see <ctrl+v>");
        harness.run_pending().await;
        let actions = composer.apply_results(&harness.cx());
        assert_eq!(
            actions.iter().any(|action| matches!(action, AppAction::Flash(_))),
            !is_there
        );
        assert_eq!(composer.text(), line);
        match write(&mut composer, &harness, "<enter>") {
            KeyResponse::Action(AppAction::Submit { message, .. }) => {
                let media = message.parts.iter().filter(|part| matches!(part, Part::Media(_)));
                assert_eq!(media.count(), images, "{line}");
            }
            _ => panic!("nothing was sent: {line}"),
        }
    }
}

#[tokio::test]
async fn arguments_of_slash_commands_are_completed() {
    let (harness, mut composer) = harness().await;
    write(&mut composer, &harness, "/effort h");
    let seen = see(&mut composer, &harness, 60);
    assert!(seen.contains("› high"), "{seen}");
    assert!(seen.contains("a lot"), "{seen}");
    write(&mut composer, &harness, "<tab>");
    assert_eq!(composer.text(), "/effort high ");
    match write(&mut composer, &harness, "<enter>") {
        KeyResponse::Action(AppAction::SetEffort(effort)) => assert_eq!(effort, Some(model::Effort::High)),
        _ => panic!("the effort was not set"),
    }
    // Enter gives the selected value.
    write(&mut composer, &harness, "/mode co");
    harness.run_pending().await;
    composer.apply_results(&harness.cx());
    let seen = see(&mut composer, &harness, 60);
    assert!(seen.contains("› code  changes files and runs commands"), "{seen}");
    match write(&mut composer, &harness, "<enter>") {
        KeyResponse::Action(AppAction::Send(session::Command::SetMode { name })) => assert_eq!(name, "code"),
        _ => panic!("the mode was not set"),
    }
    // Without a value, the command opens its list.
    write(&mut composer, &harness, "/theme ");
    assert!(see(&mut composer, &harness, 60).contains("› dark"));
    assert!(matches!(
        write(&mut composer, &harness, "<enter>"),
        KeyResponse::Action(AppAction::Key(KeyAction::Themes))
    ));
    write(&mut composer, &harness, "/panels o<enter>");
    assert_eq!(composer.text(), "/panels open ");
    write(&mut composer, &harness, "<ctrl+u>/undo x");
    assert!(!composer.is_choosing());
}
