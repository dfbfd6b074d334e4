//! Vim keys behave as Vim users expect.

use super::*;

fn shown(editor: &TextEditor) -> String {
    let mut text = editor.as_str().to_owned();
    text.insert(editor.text().caret(), '|');
    text
}

/// Presses keys in normal mode; `<esc>` and `<c-r>` are keys too.
fn check(before: &str, keys: &str, after: &str) {
    let mut editor = TextEditor::default();
    let caret = before.find('|').unwrap();
    editor.set(&before.replace('|', ""));
    editor.move_caret(caret);
    let mut vim = Vim {
        mode: VimMode::Normal,
        ..Vim::default()
    };
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let (key, length) = if let Some(after) = rest.strip_prefix("<esc>") {
            (KeyChord::parse("esc").unwrap(), rest.len() - after.len())
        } else if let Some(after) = rest.strip_prefix("<c-r>") {
            (KeyChord::parse("ctrl+r").unwrap(), rest.len() - after.len())
        } else {
            (KeyChord::new(KeyCode::Char(c), KeyModifiers::NONE), c.len_utf8())
        };
        if vim.handle_key(key, &mut editor).is_none() {
            replay_key(key, &mut editor);
        }
        rest = &rest[length..];
    }
    assert_eq!(shown(&editor), after, "{before:?} {keys}");
}

#[test]
fn motions_match_vim() {
    let cases = [
        ("|one two.three", "w", "one |two.three"),
        ("|one two.three", "2w", "one two|.three"),
        ("|one two.three x", "2W", "one two.three |x"),
        ("|one two", "e", "on|e two"),
        ("one two|", "b", "one |two"),
        ("  on|e", "0", "|  one"),
        ("  on|e", "^", "  |one"),
        ("|one two", "$", "one tw|o"),
        ("|a(b)c", "fb", "a(|b)c"),
        ("|a,b,c,d", "f,;", "a,b|,c,d"),
        ("|a,b,c,d", "2f,,", "a|,b,c,d"),
        ("|a,b,c", "t,", "|a,b,c"),
        ("ab|c", "Fa", "|abc"),
        ("|f(a[0], b)", "%", "f(a[0], b|)"),
        ("one\ntwo\nthr|ee", "gg", "|one\ntwo\nthree"),
        ("|one\ntwo\nthree", "2G", "one\n|two\nthree"),
        ("|one\ntwo", "j", "one\n|two"),
        ("漢|字", "h", "|漢字"),
    ];
    for (before, keys, after) in cases {
        check(before, keys, after);
    }
}

#[test]
fn operators_take_motions_counts_and_objects() {
    let cases = [
        ("|one two three", "dw", "|two three"),
        ("|one two three", "2dw", "|three"),
        ("|one two three", "d2w", "|three"),
        ("|one two three", "cwxy<esc>", "x|y two three"),
        ("one |two", "db", "|two"),
        ("one t|wo three", "diw", "one | three"),
        ("one t|wo three", "daw", "one |three"),
        ("say \"he|llo\" now", "di\"", "say \"|\" now"),
        ("say |x \"hello\"", "di\"", "say x \"|\""),
        ("say \"he|llo\" now", "da\"", "say | now"),
        ("f(a, |(b), c)", "di(", "f(a, (|), c)"),
        ("f(a, (b),| c)", "ci)z<esc>", "f(|z)"),
        ("x{|a}", "da{", "|x"),
        ("one\n|two\nthree", "dd", "one\n|three"),
        ("one\ntwo\n|three", "dd", "one\n|two"),
        ("|one\ntwo\nthree", "2dd", "|three"),
        ("|one\ntwo", "ddp", "two\n|one"),
        ("|one\ntwo", "yyP", "|one\none\ntwo"),
        ("|one two", "yiwP", "on|eone two"),
        ("a|bc", "D", "|a"),
        ("a|bc", "Cx<esc>", "a|x"),
        ("a|bcd", "2x", "a|d"),
        ("abc|d", "2X", "a|d"),
        ("|abc", "rx", "|xbc"),
        ("|abc", "~", "A|bc"),
        ("|one\n  two", "J", "one| two"),
        ("|one", "otwo<esc>", "one\ntw|o"),
        ("|one", "Otwo<esc>", "tw|o\none"),
        ("|one", "Ax<esc>", "one|x"),
        ("on|e", "Ix<esc>", "|xone"),
        ("|one", "sx<esc>", "|xne"),
        ("|one two", "dfn", "|e two"),
        ("|one two", "dtt", "|two"),
        ("one\ntwo\n|three", "dk", "|one"),
    ];
    for (before, keys, after) in cases {
        check(before, keys, after);
    }
}

#[test]
fn changes_are_undone_redone_and_repeated() {
    let cases = [
        ("|one two three", "dw.", "|three"),
        ("|one two three", "cwx<esc>w.", "x |x three"),
        ("|one two", "dwu", "|one two"),
        ("|one two", "dwu<c-r>", "|two"),
        ("|one two", "d<esc>w", "one |two"),
        ("|one", "3", "|one"),
        ("|a\nb", "Ax<esc>j.", "ax\nb|x"),
    ];
    for (before, keys, after) in cases {
        check(before, keys, after);
    }
}

#[test]
fn operators_apply_to_the_selection() {
    let cases = [
        ("|one two", "ved", "| two"),
        ("|one two", "vwd", "|wo"),
        ("one |two three", "vbd", "|wo three"),
        ("|one two", "veyP", "on|eone two"),
        ("|one two", "vecx<esc>", "|x two"),
        ("a (b| c) d", "vi(d", "a (|) d"),
        ("one tw|o three", "viwU", "one |TWO three"),
        ("on|e two", "v<esc>x", "on| two"),
        ("one\ntw|o\nthree", "Vd", "one\n|three"),
        ("|one\ntwo\nthree", "Vjd", "|three"),
        ("|one\ntwo", "Vyp", "one\n|one\ntwo"),
        ("one |two", "vlod", "one |o"),
        ("|one two", "vv~", "O|ne two"),
        ("|漢字", "vd", "|字"),
    ];
    for (before, keys, after) in cases {
        check(before, keys, after);
    }
}
