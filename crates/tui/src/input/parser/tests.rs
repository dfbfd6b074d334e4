//! Terminal bytes and the keys they represent.

use super::*;
use crossterm::event::KeyModifiers as M;

fn signals(bytes: &[u8]) -> Vec<TerminalEvent> {
    let mut parser = InputParser::default();
    let mut out = Vec::new();
    parser.feed(bytes, &mut out);
    parser.time_out(&mut out);
    out
}

fn key(code: KeyCode, modifiers: M) -> TerminalEvent {
    TerminalEvent::Input(Input::Key(KeyEvent::new(code, modifiers)))
}

#[test]
fn key_sequences_of_terminals_are_parsed() {
    let cases: &[(&[u8], KeyCode, M)] = &[
        (b"a", KeyCode::Char('a'), M::NONE),
        (b"A", KeyCode::Char('A'), M::SHIFT),
        ("ü".as_bytes(), KeyCode::Char('ü'), M::NONE),
        ("漢".as_bytes(), KeyCode::Char('漢'), M::NONE),
        (b"\r", KeyCode::Enter, M::NONE),
        (b"\n", KeyCode::Char('j'), M::CONTROL),
        (b"\x03", KeyCode::Char('c'), M::CONTROL),
        (b"\x7f", KeyCode::Backspace, M::NONE),
        (b"\x1b", KeyCode::Esc, M::NONE),
        (b"\x1bb", KeyCode::Char('b'), M::ALT),
        (b"\x1b\r", KeyCode::Enter, M::ALT),
        (b"\x1b\x7f", KeyCode::Backspace, M::ALT),
        (b"\x1b[A", KeyCode::Up, M::NONE),
        (b"\x1bOA", KeyCode::Up, M::NONE),
        (b"\x1b[<64;10;5M", KeyCode::Up, M::NONE),
        (b"\x1b[<65;10;5M", KeyCode::Down, M::NONE),
        (b"\x1b[1;5C", KeyCode::Right, M::CONTROL),
        (b"\x1b[Z", KeyCode::BackTab, M::SHIFT),
        (b"\x1b[5~", KeyCode::PageUp, M::NONE),
        (b"\x1b[3;2~", KeyCode::Delete, M::SHIFT),
        (b"\x1b[15~", KeyCode::F(5), M::NONE),
        (b"\x1b[[A", KeyCode::F(1), M::NONE),
        (b"\x1b[13;2u", KeyCode::Enter, M::SHIFT),
        (b"\x1b[27;2;13~", KeyCode::Enter, M::SHIFT),
        (b"\x1b[27u", KeyCode::Esc, M::NONE),
        (b"\x1b[99;5u", KeyCode::Char('c'), M::CONTROL),
        (b"\x1b[97:65;2u", KeyCode::Char('A'), M::SHIFT),
        (b"\x1b[57414u", KeyCode::Enter, M::NONE),
    ];
    for (bytes, code, modifiers) in cases {
        assert_eq!(
            signals(bytes),
            [key(*code, *modifiers)],
            "{:?}",
            String::from_utf8_lossy(bytes)
        );
    }
}

#[test]
fn split_sequences_are_joined() {
    let text = "\x1b[1;5C漢\x1b[200~one\r\ntwo\x1b[201~x\x1b]11;rgb:1a1a/1b1b/2626\x1b\\".as_bytes();
    let whole = signals(text);
    assert_eq!(
        whole,
        [
            key(KeyCode::Right, M::CONTROL),
            key(KeyCode::Char('漢'), M::NONE),
            TerminalEvent::Input(Input::Paste("one\ntwo".into())),
            key(KeyCode::Char('x'), M::NONE),
            TerminalEvent::Background(0x1a, 0x1b, 0x26),
        ]
    );
    for cut in 1..text.len() {
        let mut parser = InputParser::default();
        let mut out = Vec::new();
        let (one, two) = text.split_at(cut);
        parser.feed(one, &mut out);
        parser.feed(two, &mut out);
        assert_eq!(out, whole, "cut at {cut}");
    }
}

#[test]
fn a_paste_never_produces_keys() {
    let found = signals(b"\x1b[200~\x03\x1b[A:q\r\x1b[201~");
    assert_eq!(found, [TerminalEvent::Input(Input::Paste("\u{3}\u{1b}[A:q\n".into()))]);
}

#[test]
fn terminal_replies_are_not_keys() {
    let found = signals(
        b"\x1b[?62;22c\x1b[?1u\x1b[12;40R\x1b[8;24;80t\x1b[?2026;2$y\x1b[?2026;0$y\x1b_Gi=31;OK\x1b\\\x1bP>|x\x1b\\",
    );
    let expected = [
        TerminalEvent::Attributes,
        TerminalEvent::KittyFlags(1),
        TerminalEvent::Cursor { row: 11, column: 39 },
        TerminalEvent::Size { first: 24, second: 80 },
        TerminalEvent::Mode {
            mode: 2026,
            known: true,
        },
        TerminalEvent::Mode {
            mode: 2026,
            known: false,
        },
        TerminalEvent::Graphics,
    ];
    assert_eq!(found, expected);
}

#[test]
fn unknown_sequences_are_dropped_and_later_input_is_kept() {
    assert_eq!(signals(b"\x1b[999xa"), [key(KeyCode::Char('a'), M::NONE)]);
    assert_eq!(signals(b"\xff\xfea"), [key(KeyCode::Char('a'), M::NONE)]);
    assert_eq!(signals(b"\x1b[97;1:3ua"), [key(KeyCode::Char('a'), M::NONE)]);
}
