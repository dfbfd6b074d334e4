//! What the composer shows and does, key by key.

use super::*;

use crate::stage::{Given, Stage, key_input, shown};
use crate::state::Queued;
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

async fn stage() -> (Stage, Composer) {
    let stage = Stage::new(Given {
        files: files(),
        ..Given::default()
    });
    let mut composer = Composer::default();
    composer.handle(Input::Focus(crate::input::Focus::Gained), &stage.cx());
    // Names are looked for when the first is asked for.
    write(&mut composer, &stage, "#");
    stage.calm().await;
    composer.settle(&stage.cx());
    write(&mut composer, &stage, "<backspace>");
    (stage, composer)
}

/// Types text; names in angle brackets are keys.
fn write(composer: &mut Composer, stage: &Stage, text: &str) -> Said {
    let mut said = Said::Nothing;
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
        said = composer.handle(input, &stage.cx());
        rest = after;
    }
    said
}

fn see(composer: &mut Composer, stage: &Stage, width: u16) -> String {
    let rows = composer.rows(width, &stage.cx());
    let area = Rect::new(0, 0, width, rows);
    let mut buf = Buffer::empty(area);
    let caret = composer.draw(area, &mut buf, &stage.cx());
    shown(&buf, caret)
}

#[tokio::test]
async fn the_composer_reads_well_at_three_widths() {
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
            let (stage, mut composer) = stage().await;
            write(&mut composer, &stage, keys);
            insta::assert_snapshot!(format!("composer_{name}_{width}"), see(&mut composer, &stage, width));
        }
    }
}

#[tokio::test]
async fn what_is_queued_is_shown_and_can_be_pulled_back() {
    let (mut stage, mut composer) = stage().await;
    stage.state.queue.push_back(Queued {
        message: Message::user("then run the tests"),
        delivery: Delivery::Queue,
    });
    insta::assert_snapshot!("composer_queue", see(&mut composer, &stage, 60));
    assert!(matches!(write(&mut composer, &stage, "<up>"), Said::Pull));
    composer.give_back(&Message::user("then run the tests"));
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
        let (stage, mut composer) = stage().await;
        composer.handle(Input::Paste(text.into()), &stage.cx());
        let seen = see(&mut composer, &stage, 40);
        assert!(
            seen.ends_with(&format!("caret at row 0, column {column}")),
            "{text}: {seen}"
        );
    }
}

#[tokio::test]
async fn a_long_paste_is_folded_and_sent_whole() {
    let (stage, mut composer) = stage().await;
    let pasted = "line\n".repeat(120);
    write(&mut composer, &stage, "see ");
    composer.handle(Input::Paste(pasted.clone()), &stage.cx());
    insta::assert_snapshot!("composer_pasted", see(&mut composer, &stage, 60));
    match write(&mut composer, &stage, "<enter>") {
        Said::Prompt { message, .. } => assert_eq!(message.text(), format!("see {}", pasted.trim_end())),
        _ => panic!("it is sent"),
    }
    assert!(composer.is_empty());
}

#[tokio::test]
async fn completion_puts_in_what_was_chosen() {
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
        let (stage, mut composer) = stage().await;
        write(&mut composer, &stage, keys);
        assert_eq!(composer.text(), expected, "{keys}");
    }
}

#[tokio::test]
async fn commands_shell_lines_and_prompts_are_told_apart() {
    let (stage, mut composer) = stage().await;
    assert!(matches!(
        write(&mut composer, &stage, "/context<enter>"),
        Said::Wish(Wish::Act(Deed::ContextView))
    ));
    assert!(matches!(
        write(&mut composer, &stage, "/nope<enter>"),
        Said::Wish(Wish::Flash(_))
    ));
    assert_eq!(composer.text(), "/nope", "what was mistyped stays to be mended");
    write(&mut composer, &stage, "<ctrl+u>/etc/hosts is wrong");
    assert!(matches!(write(&mut composer, &stage, "<enter>"), Said::Prompt { .. }));
    write(&mut composer, &stage, "!ls<enter>");
    stage.calm().await;
    let told: Vec<String> = composer
        .settle(&stage.cx())
        .into_iter()
        .filter_map(|wish| if let Wish::Tell(text) = wish { Some(text) } else { None })
        .collect();
    assert_eq!(told, ["! ls\noutput of ls"]);
    match write(&mut composer, &stage, "why?<enter>") {
        Said::Prompt { message, .. } => {
            assert_eq!(session::spoken(&message), "why?");
            let texts: Vec<&Part> = message.parts.iter().collect();
            let printed = Part::text("<ran by=\"person\">\n$ ls\noutput of ls\n</ran>");
            assert_eq!(texts, [&Part::text("why?"), &printed]);
            // What comes back is what was sent, in the line and behind it.
            composer.give_back(&message);
            assert_eq!(composer.text(), "why?");
            match write(&mut composer, &stage, "<enter>") {
                Said::Prompt { message: again, .. } => assert_eq!(again, message),
                _ => panic!("it is sent again"),
            }
        }
        _ => panic!("it is sent with what was printed"),
    }
}

#[tokio::test]
async fn a_backslash_before_enter_is_a_new_line() {
    let (stage, mut composer) = stage().await;
    write(&mut composer, &stage, "one\\<enter>two<alt+enter>three<ctrl+j>");
    assert_eq!(composer.text(), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn earlier_prompts_come_back_and_what_was_being_written_is_not_lost() {
    let (stage, mut composer) = stage().await;
    let mut seen = Vec::new();
    write(&mut composer, &stage, "draft<up>");
    for key in ["<up>", "<up>", "<up>", "<down>", "<down>"] {
        write(&mut composer, &stage, key);
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
    write(&mut composer, &stage, "<ctrl+r>tests");
    assert_eq!(composer.text(), "fix the tests");
    write(&mut composer, &stage, "<esc>");
    assert_eq!(composer.text(), "draft");
}

#[tokio::test]
async fn a_draft_is_kept_once_for_many_keys() {
    let (stage, mut composer) = stage().await;
    write(&mut composer, &stage, "half a thought");
    assert!(stage.given.done.lock().unwrap().is_empty(), "no key waits for the disk");
    composer.flush(&stage.cx());
    assert_eq!(*stage.given.done.lock().unwrap(), ["draft half a thought"]);
    write(&mut composer, &stage, "<enter>");
    assert_eq!(
        stage.given.done.lock().unwrap().last().unwrap(),
        "draft ",
        "what was said is no draft any more"
    );
}

#[tokio::test]
async fn vim_keys_edit_and_enter_sends() {
    let (stage, mut composer) = stage().await;
    composer.set_vim(true);
    write(&mut composer, &stage, "one two<esc>bcwthree<esc>");
    assert_eq!(
        (composer.text().as_str(), composer.badge()),
        ("one three", Some("normal"))
    );
    assert!(matches!(write(&mut composer, &stage, "i<enter>"), Said::Prompt { .. }));
}

/// A key that edits, for the model below.
#[derive(Debug, Clone)]
enum Edit {
    Type(&'static str),
    Act(Deed),
}

fn edit() -> impl Strategy<Value = Edit> {
    let text = prop::sample::select(vec!["a", "b", " ", "\n", "漢", "e", "\u{301}", "👩‍👩‍👧", "\t", "_", "."]);
    let deed = prop::sample::select(vec![
        Deed::Left,
        Deed::Right,
        Deed::LineStart,
        Deed::LineEnd,
        Deed::TextStart,
        Deed::TextEnd,
        Deed::DeleteBack,
        Deed::DeleteForward,
    ]);
    prop_oneof![3 => text.prop_map(Edit::Type), 2 => deed.prop_map(Edit::Act)]
}

/// The plainest editor there is: the text, and how many bytes stand before the caret.
fn naive(text: &mut String, caret: &mut usize, edit: &Edit) {
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
        Edit::Act(Deed::Left) => *caret = before,
        Edit::Act(Deed::Right) => *caret = after,
        Edit::Act(Deed::LineStart) => *caret = text[..*caret].rfind('\n').map_or(0, |at| at + 1),
        Edit::Act(Deed::LineEnd) => *caret = text[*caret..].find('\n').map_or(text.len(), |at| *caret + at),
        Edit::Act(Deed::TextStart) => *caret = 0,
        Edit::Act(Deed::TextEnd) => *caret = text.len(),
        Edit::Act(Deed::DeleteBack) => {
            text.replace_range(before..*caret, "");
            *caret = before;
        }
        Edit::Act(_) => text.replace_range(*caret..after, ""),
    }
    // What has come together may be one character now.
    *caret = text
        .grapheme_indices(true)
        .map(|(at, _)| at)
        .chain([text.len()])
        .find(|at| *at >= *caret)
        .unwrap_or(0);
}

proptest! {
    #[test]
    fn random_keys_do_what_the_plainest_editor_does_and_undo_leads_back(edits in prop::collection::vec(edit(), 0..80)) {
        let (mut text, mut caret) = (String::new(), 0);
        let mut editor = Editor::default();
        for edit in &edits {
            naive(&mut text, &mut caret, edit);
            match edit {
                Edit::Type(typed) => editor.insert(typed),
                Edit::Act(deed) => {
                    editor.act(*deed);
                }
            }
            prop_assert_eq!((editor.as_str(), editor.text().caret()), (text.as_str(), caret));
            for width in [2, 7, 40] {
                let layout = editor.fit(width);
                let (row, _) = layout.place(editor.as_str(), &editor.chips, caret);
                prop_assert!(row < layout.rows().len());
            }
        }
        while editor.undo() == Done::Changed {}
        prop_assert_eq!(editor.as_str(), "");
        while editor.redo() == Done::Changed {}
        prop_assert_eq!(editor.as_str(), text);
    }
}

#[tokio::test]
async fn the_clipboard_gives_an_image_or_text_or_leaves_nothing() {
    let media = Media {
        mime: "image/png".into(),
        name: None,
        data: b"png".to_vec().into(),
    };
    for (clip, line, images) in [
        (Some(Clip::Image(media)), "see [image 1: clipboard]", 1),
        (Some(Clip::Text("two\r\nlines".into())), "see two\nlines", 0),
        (None, "see ", 0),
    ] {
        let is_there = clip.is_some();
        let (_, mut composer) = stage().await;
        let stage = Stage::new(Given {
            clip,
            ..Given::default()
        });
        write(&mut composer, &stage, "see <ctrl+v>");
        stage.calm().await;
        let told = composer.settle(&stage.cx());
        assert_eq!(told.iter().any(|wish| matches!(wish, Wish::Flash(_))), !is_there);
        assert_eq!(composer.text(), line);
        match write(&mut composer, &stage, "<enter>") {
            Said::Prompt { message, .. } => {
                let media = message.parts.iter().filter(|part| matches!(part, Part::Media(_)));
                assert_eq!(media.count(), images, "{line}");
            }
            _ => panic!("it can be sent: {line}"),
        }
    }
}
