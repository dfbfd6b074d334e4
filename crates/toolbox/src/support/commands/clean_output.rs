//! Cleans the output of programs: removes colours and control codes, and collapses repeated lines.

/// Minimum number of equal lines to collapse.
const MIN_REPEATS: usize = 4;

/// The text as a terminal would show it in the end, with repeated lines collapsed.
pub(crate) fn clean_output(text: &str) -> String {
    if text.bytes().all(|byte| byte == b'\n' || byte == b'\t' || byte >= b' ') {
        return collapse(text);
    }
    collapse(&apply_control_codes(text))
}

/// Applies carriage returns, backspaces and line erasure; removes other control sequences.
fn apply_control_codes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line = ScreenLine::default();
    let mut rest = text.chars().peekable();
    while let Some(letter) = rest.next() {
        match letter {
            '\n' => line.end(&mut out),
            '\r' => line.column = 0,
            '\u{8}' => line.column = line.column.saturating_sub(1),
            '\u{1b}' => match rest.peek() {
                Some('[') => {
                    rest.next();
                    let parameters = take_until(&mut rest, |letter| ('@'..='~').contains(&letter));
                    line.control(&parameters);
                }
                // Titles and links end with a bell or a string terminator.
                Some(']' | 'P' | '_' | '^' | 'X') => skip_string(&mut rest),
                Some('(' | ')' | '#' | '%') => {
                    rest.next();
                    rest.next();
                }
                Some(_) => {
                    rest.next();
                }
                None => {}
            },
            '\t' => line.put('\t'),
            letter if letter.is_control() => {}
            letter => line.put(letter),
        }
    }
    out.extend(line.letters);
    out
}

/// A line on the screen and the cursor's column.
#[derive(Default)]
struct ScreenLine {
    letters: Vec<char>,
    column: usize,
}

impl ScreenLine {
    fn put(&mut self, letter: char) {
        match self.letters.get_mut(self.column) {
            Some(place) => *place = letter,
            None => self.letters.push(letter),
        }
        self.column += 1;
    }

    /// Applies a control sequence: its parameters and final character.
    fn control(&mut self, sequence: &str) {
        let what = sequence.chars().last();
        let number = sequence.trim_end_matches(|letter: char| !letter.is_ascii_digit());
        match (what, number) {
            (Some('K'), "" | "0") => self.letters.truncate(self.column),
            (Some('K'), "2") => {
                self.letters.clear();
                self.column = 0;
            }
            (Some('G'), number) => {
                let column = number.parse::<usize>().unwrap_or(1).saturating_sub(1);
                self.column = column.min(self.letters.len());
            }
            (Some('D'), number) => self.column = self.column.saturating_sub(number.parse().unwrap_or(1)),
            _ => {}
        }
        self.column = self.column.min(self.letters.len());
    }

    fn end(&mut self, out: &mut String) {
        out.extend(self.letters.drain(..));
        out.push('\n');
        self.column = 0;
    }
}

fn take_until(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, is_end: impl Fn(char) -> bool) -> String {
    let mut taken = String::new();
    for letter in rest.by_ref() {
        taken.push(letter);
        if is_end(letter) {
            break;
        }
    }
    taken
}

fn skip_string(rest: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(letter) = rest.next() {
        match letter {
            '\u{7}' => return,
            '\u{1b}' if rest.peek() == Some(&'\\') => {
                rest.next();
                return;
            }
            // An unterminated string must not swallow the following lines.
            '\n' => return,
            _ => {}
        }
    }
}

/// Collapses repeated lines, and lines that differ only in a percentage.
fn collapse(text: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < lines.len() {
        let same = run(&lines[at..], |one, other| one.trim_end() == other.trim_end());
        if same >= MIN_REPEATS {
            out.push_str(lines[at].trim_end_matches('\n'));
            out.push_str(&format!("\n[the same line {same} times]\n"));
            at += same;
            continue;
        }
        let counting = match lines[at].contains('%') {
            true => run(&lines[at..], |one, other| {
                other.contains('%') && shape(one) == shape(other)
            }),
            false => 1,
        };
        if counting >= MIN_REPEATS {
            out.push_str(lines[at]);
            out.push_str(&format!("[{} lines of progress]\n", counting - 2));
            out.push_str(lines[at + counting - 1]);
            at += counting;
            continue;
        }
        out.push_str(lines[at]);
        at += 1;
    }
    out
}

/// The number of consecutive lines that are like the first one.
fn run(lines: &[&str], alike: impl Fn(&str, &str) -> bool) -> usize {
    let Some((first, others)) = lines.split_first() else {
        return 0;
    };
    1 + others.iter().take_while(|other| alike(first, other)).count()
}

/// The line without digits and bars.
fn shape(line: &str) -> String {
    line.chars()
        .filter(|letter| !letter.is_ascii_digit() && !".,:=#>-\u{2588}\u{2591}\u{2593} ".contains(*letter))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_codes_are_applied_as_on_a_terminal() {
        for (printed, seen) in [
            ("plain\n\ttext", "plain\n\ttext"),
            ("\u{1b}[1;31merror\u{1b}[0m: no\n", "error: no\n"),
            ("10%\r50%\r100%\ndone\n", "100%\ndone\n"),
            ("long text\rshort\n", "shorttext\n"),
            ("long text\r\u{1b}[Kshort\n", "short\n"),
            ("a\r\nb\r\n", "a\nb\n"),
            ("abc\u{8}\u{8}X\n", "aXc\n"),
            (
                "\u{1b}]0;title\u{7}text \u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\\n",
                "text link\n",
            ),
            ("\u{1b}(Bx\u{7}\u{1b}", "x"),
            ("\u{1b}[2K\u{1b}[1Gx\u{e4}\n", "x\u{e4}\n"),
            ("\u{1b}]0;never ended\nnext\n", "next\n"),
            ("", ""),
        ] {
            assert_eq!(clean_output(printed), seen, "{printed:?}");
        }
    }

    #[test]
    fn repeated_lines_are_collapsed() {
        assert_eq!(clean_output(&"x\n".repeat(3)), "x\nx\nx\n");
        assert_eq!(clean_output(&"x\n".repeat(1_000)), "x\n[the same line 1000 times]\n");
        assert_eq!(clean_output("a\nx\nx\nx\nx"), "a\nx\n[the same line 4 times]\n");
        let progress: String = (0..=100)
            .map(|number| format!("loading {number}% [{}>]\n", "=".repeat(number)))
            .collect();
        let folded = clean_output(&format!("{progress}ready\n"));
        assert!(
            folded.starts_with("loading 0% [>]\n[99 lines of progress]\nloading 100%"),
            "{folded}"
        );
        assert!(folded.ends_with("\nready\n"), "{folded}");
        let build = "[ 10%] cc a.c\n[ 20%] cc b.c\n[ 30%] cc d.c\n[ 40%] cc e.c\n";
        assert_eq!(clean_output(build), build, "different lines stay");
    }
}
