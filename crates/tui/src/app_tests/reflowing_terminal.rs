//! A virtual terminal that rewraps rows when resized, like tmux and most modern terminals.

use unicode_width::UnicodeWidthChar as _;

/// A row and whether it continues in the next one.
#[derive(Debug, Clone, Default)]
struct ReflowLine {
    cells: Vec<char>,
    continues: bool,
}

/// The scrollback and the visible screen.
#[derive(Debug)]
pub(super) struct ReflowingTerminal {
    lines: Vec<ReflowLine>,
    width: usize,
    height: usize,
    row: usize,
    column: usize,
    wraps: bool,
    /// The cursor is after the last column.
    full: bool,
    /// Replies to width queries that were not collected.
    pub(super) answers: Vec<u16>,
}

impl ReflowingTerminal {
    pub(super) fn new(width: u16, height: u16) -> Self {
        ReflowingTerminal {
            lines: vec![ReflowLine::default(); height.into()],
            width: width.into(),
            height: height.into(),
            row: 0,
            column: 0,
            wraps: true,
            full: false,
            answers: Vec::new(),
        }
    }

    /// All lines, with wrapped rows joined.
    pub(super) fn everything(&self) -> Vec<String> {
        let (joined, _) = self.joined();
        let text = |line: &Vec<char>| line.iter().collect::<String>().trim_end().to_string();
        joined.iter().map(text).collect()
    }

    fn above(&self) -> usize {
        self.lines.len() - self.height
    }

    /// Resizes the terminal.
    pub(super) fn resize(&mut self, width: u16, height: u16) {
        let (width, height) = (usize::from(width), usize::from(height));
        self.full = false;
        if height < self.height {
            let needed = self.height - height;
            // Rows below the cursor are removed first; then rows above scroll away.
            let below = needed.min(self.height - 1 - self.row);
            self.lines.truncate(self.lines.len() - below);
            self.row -= needed - below;
        } else {
            let needed = height - self.height;
            let back = needed.min(self.above());
            self.row += back;
            self.lines
                .resize(self.lines.len() + needed - back, ReflowLine::default());
        }
        self.height = height;
        if width != self.width {
            self.width = width;
            self.reflow();
        }
    }

    /// Joined lines, and the cursor's line and offset.
    fn joined(&self) -> (Vec<Vec<char>>, (usize, usize)) {
        let mut joined: Vec<Vec<char>> = Vec::new();
        let mut cursor = (0, 0);
        let mut continues = false;
        for (index, line) in self.lines.iter().enumerate() {
            if !continues {
                joined.push(Vec::new());
            }
            let last = joined.len() - 1;
            let whole = joined.last_mut().unwrap();
            if index == self.above() + self.row {
                cursor = (last, whole.len() + self.column.min(line.cells.len()));
            }
            whole.extend(&line.cells);
            continues = line.continues;
        }
        (joined, cursor)
    }

    fn reflow(&mut self) {
        let (joined, (line, place)) = self.joined();
        let mut lines: Vec<ReflowLine> = Vec::new();
        let mut at = (0, 0);
        for (index, whole) in joined.iter().enumerate() {
            if index == line {
                at = (lines.len() + place / self.width, place % self.width);
            }
            let mut pieces = whole.chunks(self.width).peekable();
            if pieces.peek().is_none() {
                lines.push(ReflowLine::default());
            }
            while let Some(piece) = pieces.next() {
                lines.push(ReflowLine {
                    cells: piece.to_vec(),
                    continues: pieces.peek().is_some(),
                });
            }
        }
        let missing = self
            .height
            .saturating_sub(lines.len())
            .max((at.0 + 1).saturating_sub(lines.len()));
        lines.resize(lines.len() + missing, ReflowLine::default());
        self.lines = lines;
        (self.row, self.column) = match at.0.checked_sub(self.above()) {
            Some(row) => (row, at.1),
            None => (0, 0),
        };
    }

    fn line(&mut self) -> &mut ReflowLine {
        let at = self.above() + self.row;
        &mut self.lines[at]
    }

    fn down(&mut self) {
        if self.row + 1 < self.height {
            self.row += 1;
        } else {
            self.lines.push(ReflowLine::default());
        }
    }

    fn put(&mut self, c: char) {
        assert_eq!(c.width(), Some(1), "{c:?}: wide characters are another test's business");
        if self.full && self.wraps {
            self.line().continues = true;
            self.down();
            (self.column, self.full) = (0, false);
        }
        let (column, width) = (self.column, self.width);
        let line = self.line();
        if line.cells.len() <= column {
            line.cells.resize(column + 1, ' ');
        }
        line.cells[column] = c;
        if column + 1 == width {
            self.full = true;
        } else {
            self.column += 1;
        }
    }

    /// Processes output.
    pub(super) fn process(&mut self, bytes: &[u8]) {
        let mut rest = std::str::from_utf8(bytes).unwrap();
        while !rest.is_empty() {
            rest = self.step(rest);
        }
    }

    /// Processes one character or sequence; returns the rest.
    pub(super) fn step<'t>(&mut self, text: &'t str) -> &'t str {
        let c = text.chars().next().unwrap();
        let rest = &text[c.len_utf8()..];
        match c {
            '\x1b' => return self.escape(rest),
            '\r' => (self.column, self.full) = (0, false),
            '\n' => {
                self.line().continues = false;
                self.down();
                self.full = false;
            }
            c => self.put(c),
        }
        rest
    }

    fn escape<'t>(&mut self, rest: &'t str) -> &'t str {
        if let Some(text) = rest.strip_prefix(']') {
            return text.split_once("\x1b\\").unwrap().1;
        }
        let rest = rest.strip_prefix('[').expect("a control sequence");
        let end = rest.find(|c: char| ('@'..='~').contains(&c)).unwrap();
        self.control(&rest[..end], rest[end..].chars().next().unwrap());
        &rest[end + 1..]
    }

    fn control(&mut self, parameters: &str, last: char) {
        let count = || parameters.parse::<usize>().unwrap_or(1).max(1);
        match (last, parameters) {
            ('A', _) => (self.row, self.full) = (self.row.saturating_sub(count()), false),
            ('C', _) => (self.column, self.full) = ((self.column + count()).min(self.width - 1), false),
            ('K', "2") => *self.line() = ReflowLine::default(),
            ('J', "") => {
                let column = self.column;
                self.line().cells.truncate(column);
                self.line().continues = false;
                for row in self.row + 1..self.height {
                    let at = self.above() + row;
                    self.lines[at] = ReflowLine::default();
                }
            }
            ('h', "?7") => self.wraps = true,
            ('l', "?7") => self.wraps = false,
            ('t', "18") => self.answers.push(u16::try_from(self.width).unwrap()),
            ('m', _) | ('h' | 'l', "?25" | "?2026") => {}
            (last, parameters) => panic!("CSI {parameters}{last}"),
        }
    }
}
