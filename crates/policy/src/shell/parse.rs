//! Walks the syntax tree of a command line and lists what it would do.

use super::word::Piece;
use super::{By, Folder, Script, Simple, Target, Unclear, Word, program, quote, target, wrapper};
use tree_sitter::{Node, Parser};

/// Longer lines are not looked through.
const MOST_BYTES: usize = 64 * 1024;
/// Deeper trees are not looked through.
const MOST_DEPTH: usize = 200;
/// Commands in strings in commands in strings, up to here.
const MOST_NESTED: usize = 8;
/// More simple commands than this are not looked through.
const MOST_COMMANDS: usize = 2_000;
/// A line that changes folder more often than this may run anywhere.
const MOST_FOLDERS: usize = 6;

/// Takes a command line apart.
pub fn parse(line: &str) -> Script {
    let mut walk = Walk {
        script: Script::default(),
        folders: vec![Folder::At(String::new())],
        nested: 0,
    };
    walk.source(line);
    walk.script.unclear.sort();
    walk.script.unclear.dedup();
    walk.script
}

struct Walk {
    script: Script,
    folders: Vec<Folder>,
    nested: usize,
}

impl Walk {
    fn source(&mut self, text: &str) {
        if text.len() > MOST_BYTES || self.nested > MOST_NESTED {
            return self.unclear(Unclear::TooLarge);
        }
        if text.chars().any(is_odd) {
            self.unclear(Unclear::OddCharacters);
        }
        let text = text.replace("\r\n", "\n");
        if text.contains('\r') {
            self.unclear(Unclear::OddCharacters);
        }
        let mut parser = Parser::new();
        if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
            return self.unclear(Unclear::Unparsed);
        }
        let Some(tree) = parser.parse(&text, None) else {
            return self.unclear(Unclear::Unparsed);
        };
        if joins_lines(tree.root_node(), &text) {
            self.unclear(Unclear::Unparsed);
        }
        self.node(tree.root_node(), &text, 0);
        if tree.root_node().has_error() {
            self.guess(&text);
        }
    }

    /// Guesses the commands in a line that cannot be parsed, so that what is denied is recognised there too.
    fn guess(&mut self, text: &str) {
        for part in text.split([';', '|', '&', '\n', '(', ')', '`']) {
            let quotes: &[char] = &['"', '\'', '\\', '$'];
            for separators in [&[' ', '\t'][..], &[' ', '\t', '{', '}', ','][..]] {
                let words: Vec<Word> = part
                    .split(separators)
                    .map(|word| word.trim_matches(quotes))
                    .filter(|word| !word.is_empty())
                    .map(Word::text)
                    .collect();
                self.simple(Vec::new(), words);
            }
        }
    }

    fn unclear(&mut self, why: Unclear) {
        if self.script.unclear.len() < MOST_COMMANDS {
            self.script.unclear.push(why);
        }
    }

    fn node(&mut self, node: Node<'_>, src: &str, depth: usize) {
        if depth > MOST_DEPTH {
            return self.unclear(Unclear::TooLarge);
        }
        if node.is_error() || node.is_missing() {
            self.unclear(Unclear::Unparsed);
        }
        if node.is_named() && node.child_count() == 0 {
            self.leaf(node, src);
        }
        match node.kind() {
            "comment" | "heredoc_start" | "heredoc_end" => {}
            "command" => self.command(node, Vec::new(), src, depth),
            "redirected_statement" => self.redirected(node, src, depth),
            "declaration_command" | "unset_command" => self.declaration(node, src, depth),
            "variable_assignment" => {
                self.assignment(node, src);
                self.children(node, src, depth);
            }
            "file_redirect" => self.redirect(node, src, depth),
            "heredoc_redirect" => self.heredoc(node, src, depth),
            "expansion" => {
                self.expansion(node, src);
                self.children(node, src, depth);
            }
            "command_substitution" => {
                let text = source(node, src);
                // Inside backticks a backslash quotes once more, which the grammar does not undo.
                if text.starts_with('`') && text.contains('\\') {
                    self.unclear(Unclear::Expansion(short(text)));
                }
                self.scoped(node, src, depth);
            }
            "subshell" | "process_substitution" => self.scoped(node, src, depth),
            "pipeline" => {
                for child in children(node) {
                    let before = self.folders.clone();
                    self.node(child, src, depth + 1);
                    self.folders = before;
                }
            }
            "list" => self.list(node, src, depth),
            "test_command" => {
                self.test(node, src);
                self.children(node, src, depth);
            }
            _ => self.children(node, src, depth),
        }
    }

    /// The grammar takes some substitutions for mere text, as in ``${x:=`id`}``.
    fn leaf(&mut self, node: Node<'_>, src: &str) {
        let literal = matches!(
            node.kind(),
            "comment" | "raw_string" | "ansi_c_string" | "heredoc_start" | "heredoc_end" | "heredoc_body"
        );
        let text = source(node, src);
        if !literal && (has_unescaped(text, "`") || has_unescaped(text, "$(")) {
            self.unclear(Unclear::Expansion(short(text)));
        }
    }

    /// What follows a part may run where the part left off or, when it failed, where it began.
    fn children(&mut self, node: Node<'_>, src: &str, depth: usize) {
        for child in children(node) {
            let before = self.folders.clone();
            self.node(child, src, depth + 1);
            self.merge(before);
        }
    }

    fn scoped(&mut self, node: Node<'_>, src: &str, depth: usize) {
        let before = self.folders.clone();
        self.children(node, src, depth);
        self.folders = before;
    }

    fn list(&mut self, node: Node<'_>, src: &str, depth: usize) {
        let before = self.folders.clone();
        for child in children(node) {
            match child.kind() {
                // Only after `&&` is it certain that a change of folder has worked.
                "||" => self.merge(before.clone()),
                "&&" => {}
                _ => self.node(child, src, depth + 1),
            }
        }
    }

    fn merge(&mut self, before: Vec<Folder>) {
        for folder in before {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if self.folders.len() > MOST_FOLDERS {
            self.folders = vec![Folder::Unknown];
        }
    }

    fn redirected(&mut self, node: Node<'_>, src: &str, depth: usize) {
        // The grammar takes words after `> file` for further files, while the shell takes them for arguments.
        let mut more = Vec::new();
        for child in children(node) {
            match child.kind() {
                "file_redirect" => more.extend(destinations(child).into_iter().skip(1)),
                "heredoc_redirect" => more.extend(heredoc_arguments(child)),
                _ => {}
            }
        }
        let body = node.child_by_field_name("body");
        match body {
            Some(body) if body.kind() == "command" => self.command(body, more, src, depth + 1),
            Some(body) => {
                if !more.is_empty() {
                    self.unclear(Unclear::Unparsed);
                }
                self.node(body, src, depth + 1);
            }
            None if more.is_empty() => {}
            None => {
                let words = more
                    .iter()
                    .flat_map(|word| self.word(*word, src).expand_braces())
                    .collect();
                self.simple(Vec::new(), words);
            }
        }
        for child in children(node) {
            if Some(child) != body {
                self.node(child, src, depth + 1);
            }
        }
    }

    fn command(&mut self, node: Node<'_>, more: Vec<Node<'_>>, src: &str, depth: usize) {
        let (mut env, mut words) = (Vec::new(), Vec::new());
        for child in children(node).into_iter().chain(more) {
            match child.kind() {
                "variable_assignment" => {
                    let value = child
                        .child_by_field_name("value")
                        .map_or_else(Word::default, |value| self.word(value, src));
                    let name = child.child_by_field_name("name").map_or("", |name| source(name, src));
                    env.push((name.trim_end_matches('+').to_owned(), value));
                }
                "file_redirect" => {
                    for word in destinations(child).into_iter().skip(1) {
                        words.extend(self.word(word, src).expand_braces());
                    }
                }
                "herestring_redirect" | "heredoc_redirect" | "subshell" | "comment" => {}
                "command_name" => {
                    for part in children(child) {
                        words.extend(self.word(part, src).expand_braces());
                    }
                }
                _ => words.extend(self.word(child, src).expand_braces()),
            }
        }
        let before = self.folders.clone();
        for child in children(node) {
            match child.kind() {
                // The assignments in front of a command end with it.
                "variable_assignment" => self.children(child, src, depth),
                _ => self.node(child, src, depth + 1),
            }
        }
        self.folders = before;
        self.simple(env, words);
    }

    fn declaration(&mut self, node: Node<'_>, src: &str, depth: usize) {
        let words = children(node).into_iter().map(|child| match child.kind() {
            "variable_assignment" => Word::text(source(child, src)),
            _ => self.word(child, src),
        });
        let words = words.collect();
        self.children(node, src, depth);
        self.simple(Vec::new(), words);
    }

    fn assignment(&mut self, node: Node<'_>, src: &str) {
        let Some(name) = node.child_by_field_name("name") else {
            return;
        };
        let name = source(name, src);
        if program::changes_programs(name) {
            self.unclear(Unclear::Variable(name.to_owned()));
        }
    }

    /// Takes in one program with its arguments, and what it runs in turn.
    fn simple(&mut self, env: Vec<(String, Word)>, words: Vec<Word>) {
        if words.is_empty() {
            for (name, _) in &env {
                if program::changes_programs(name) {
                    self.unclear(Unclear::Variable(name.clone()));
                }
            }
            return;
        }
        let simple = Simple {
            env,
            words,
            open_ended: false,
            folders: self.folders.clone(),
        };
        self.take(simple, 0);
    }

    fn take(&mut self, simple: Simple, depth: usize) {
        if self.script.commands.len() >= MOST_COMMANDS || depth > MOST_NESTED {
            return self.unclear(Unclear::TooLarge);
        }
        match simple.name() {
            None => self.unclear(Unclear::Program(simple.words[0].to_string())),
            Some(name) => {
                self.script.writes.extend(target::written(&simple, &name));
                self.change_folder(&simple, &name);
            }
        }
        let opened = wrapper::open(&simple);
        for why in opened.unclear {
            self.unclear(why);
        }
        if opened.counts {
            self.script.commands.push(simple);
        }
        for inner in opened.commands {
            self.take(inner, depth + 1);
        }
        for script in opened.scripts {
            let before = self.folders.clone();
            self.nested += 1;
            self.source(&script);
            self.nested -= 1;
            self.folders = before;
        }
    }

    fn change_folder(&mut self, simple: &Simple, name: &str) {
        match name {
            "cd" | "pushd" => {}
            "popd" => return self.folders = vec![Folder::Unknown],
            _ => return,
        }
        let mut to = None;
        for word in simple.words.iter().skip(1) {
            match word.plain() {
                None => return self.folders = vec![Folder::Unknown],
                Some(text) if text == "-" || text.starts_with('+') => return self.folders = vec![Folder::Unknown],
                Some(text) if text.starts_with('-') => {}
                Some(_) if matches!(word.pieces.first(), Some(Piece::Tilde(home)) if home != "~") => {
                    return self.folders = vec![Folder::Unknown];
                }
                Some(text) => to = Some(text),
            }
        }
        let to = to.unwrap_or_else(|| "~".into());
        for folder in &mut self.folders {
            if let Folder::At(from) = folder {
                *from = program::join(from, &to);
            } else if to.starts_with(['/', '~']) {
                *folder = Folder::At(to.clone());
            }
        }
    }

    fn redirect(&mut self, node: Node<'_>, src: &str, depth: usize) {
        let operator = children(node)
            .into_iter()
            .find(|child| !child.is_named())
            .map_or("", |child| source(child, src));
        if let Some(&to) = destinations(node).first()
            && to.kind() != "process_substitution"
        {
            let words = self.word(to, src).expand_braces();
            for word in words {
                self.redirected_to(operator, word);
            }
        }
        self.children(node, src, depth);
    }

    fn redirected_to(&mut self, operator: &str, path: Word) {
        let text = path.plain().unwrap_or_default();
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            self.unclear(Unclear::Network(text.clone()));
        }
        let duplicates = matches!(operator, ">&" | "<&")
            && (text == "-" || (!text.is_empty() && text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit())));
        if duplicates {
            return;
        }
        let target = Target {
            path,
            folders: self.folders.clone(),
            by: By::Redirection,
        };
        match operator {
            "<" | "<&" => self.script.reads.push(target),
            _ => self.script.writes.push(target),
        }
    }

    fn heredoc(&mut self, node: Node<'_>, src: &str, depth: usize) {
        let start = children(node).into_iter().find(|child| child.kind() == "heredoc_start");
        let body = children(node).into_iter().find(|child| child.kind() == "heredoc_body");
        let quoted = start.is_some_and(|start| source(start, src).contains(['\'', '"', '\\']));
        if let Some(body) = body {
            let text = source(body, src).to_owned();
            // The grammar does not look into backticks here, the shell does.
            if !quoted && has_unescaped(&text, "`") {
                self.unclear(Unclear::Expansion("`…`".into()));
            }
            if feeds_shell(node, src) {
                self.nested += 1;
                self.source(&text);
                self.nested -= 1;
            }
        }
        for child in children(node) {
            match child.kind() {
                "heredoc_body" if quoted => {}
                _ => self.node(child, src, depth + 1),
            }
        }
    }

    fn expansion(&mut self, node: Node<'_>, src: &str) {
        let text = source(node, src);
        let inside = text.trim_start_matches("${").trim_end_matches('}');
        let indirect = inside.starts_with('!');
        let transforms = inside.contains('@')
            && inside
                .rsplit('@')
                .next()
                .is_some_and(|operator| operator.len() == 1 && operator.chars().all(char::is_alphabetic));
        let escapes = [
            "\\0", "\\1", "\\2", "\\3", "\\4", "\\5", "\\6", "\\7", "\\x", "\\u", "\\U",
        ];
        if indirect || transforms || escapes.iter().any(|escape| inside.contains(escape)) {
            self.unclear(Unclear::Expansion(short(text)));
        }
    }

    /// Some tests evaluate their operands once more, even quoted ones: `[[ -v 'a[$(id)]' ]]`.
    fn test(&mut self, node: Node<'_>, src: &str) {
        let text = source(node, src);
        if text.contains('\'') && (text.contains("$(") || text.contains('`')) {
            self.unclear(Unclear::Expansion(short(text)));
        }
    }

    fn word(&mut self, node: Node<'_>, src: &str) -> Word {
        let mut word = Word::default();
        self.pieces(node, src, &mut word);
        word
    }

    fn pieces(&mut self, node: Node<'_>, src: &str, word: &mut Word) {
        let text = source(node, src);
        match node.kind() {
            "word" | "number" | "variable_name" | "file_descriptor" | "special_variable_name" => word.push_bare(text),
            "raw_string" => word.push_text(Piece::Quoted(
                text.trim_start_matches('\'').trim_end_matches('\'').to_owned(),
            )),
            "ansi_c_string" => {
                let inside = text.strip_prefix("$'").and_then(|text| text.strip_suffix('\''));
                match inside.and_then(quote::ansi_c) {
                    Some(text) => word.push_text(Piece::Quoted(text)),
                    None => word.push_text(Piece::Unknown { quoted: true }),
                }
            }
            "string" | "translated_string" => self.string(node, src, word),
            "simple_expansion" => word.push_text(Piece::Variable {
                name: text.trim_start_matches('$').to_owned(),
                quoted: false,
            }),
            "expansion" => word.push_text(expanded(text, false)),
            "command_substitution" | "brace_expression" => word.push_text(Piece::Unknown { quoted: false }),
            "arithmetic_expansion" | "process_substitution" => word.push_text(Piece::Unknown { quoted: true }),
            "extglob_pattern" => word.push_text(Piece::Glob(text.to_owned())),
            "concatenation" | "command_name" => {
                let mut end = node.start_byte();
                for child in children(node) {
                    if !src.get(end..child.start_byte()).unwrap_or_default().is_empty() {
                        self.unclear(Unclear::Unparsed);
                    }
                    end = child.end_byte();
                    self.pieces(child, src, word);
                }
            }
            _ if !node.is_named() => word.push_bare(text),
            _ => word.push_text(Piece::Unknown { quoted: false }),
        }
    }

    fn string(&mut self, node: Node<'_>, src: &str, word: &mut Word) {
        let open = if source(node, src).starts_with('$') { 2 } else { 1 };
        let mut at = node.start_byte() + open;
        let end = node.end_byte().saturating_sub(1);
        word.push_text(Piece::Quoted(String::new()));
        for child in children(node) {
            let piece = match child.kind() {
                "simple_expansion" => Piece::Variable {
                    name: source(child, src).trim_start_matches('$').to_owned(),
                    quoted: !source(child, src).ends_with('@'),
                },
                "expansion" => expanded(source(child, src), true),
                "command_substitution" | "arithmetic_expansion" | "process_substitution" => {
                    Piece::Unknown { quoted: true }
                }
                _ => continue,
            };
            let between = src.get(at..child.start_byte()).unwrap_or_default();
            word.push_text(Piece::Quoted(quote::double(between)));
            word.push_text(piece);
            at = child.end_byte();
        }
        let rest = src.get(at..end).unwrap_or_default();
        word.push_text(Piece::Quoted(quote::double(rest)));
    }
}

/// A `${…}`: a variable when it is only that.
fn expanded(text: &str, quoted: bool) -> Piece {
    let inside = text.trim_start_matches("${").trim_end_matches('}');
    if !inside.is_empty() && inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return Piece::Variable {
            name: inside.to_owned(),
            quoted,
        };
    }
    Piece::Unknown {
        quoted: quoted && !inside.contains('@'),
    }
}

fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.children(&mut cursor).collect()
}

fn destinations<'t>(redirect: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = redirect.walk();
    redirect.children_by_field_name("destination", &mut cursor).collect()
}

fn heredoc_arguments<'t>(redirect: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = redirect.walk();
    let mut words: Vec<_> = redirect.children_by_field_name("argument", &mut cursor).collect();
    for child in children(redirect) {
        if child.kind() == "file_redirect" {
            words.extend(destinations(child).into_iter().skip(1));
        }
    }
    words
}

/// Whether a here-document is the input of a shell.
fn feeds_shell(heredoc: Node<'_>, src: &str) -> bool {
    let Some(body) = heredoc.parent().and_then(|parent| parent.child_by_field_name("body")) else {
        return false;
    };
    source(body, src)
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.'))
        .any(program::is_shell)
}

fn source<'s>(node: Node<'_>, src: &'s str) -> &'s str {
    src.get(node.byte_range()).unwrap_or_default()
}

fn has_unescaped(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let backslashes = text[..at].bytes().rev().take_while(|&byte| byte == b'\\').count();
        backslashes % 2 == 0
    })
}

fn short(text: &str) -> String {
    text.chars().take(40).collect()
}

/// Whether a line goes on in the middle of a word, which the grammar takes for two words.
fn joins_lines(root: Node<'_>, text: &str) -> bool {
    text.match_indices("\\\n").any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(|c| !c.is_whitespace());
        let after = text[at + 2..].chars().next().is_some_and(|c| !c.is_whitespace());
        before && after && !within_quotes(root, at)
    })
}

fn within_quotes(root: Node<'_>, at: usize) -> bool {
    let mut node = root.descendant_for_byte_range(at, at + 1);
    while let Some(current) = node {
        if matches!(
            current.kind(),
            "string" | "raw_string" | "ansi_c_string" | "heredoc_body" | "comment"
        ) {
            return true;
        }
        node = current.parent();
    }
    false
}

/// Characters that hide something from a reader, or that shells and this grammar may read differently.
fn is_odd(c: char) -> bool {
    match c {
        '\n' | '\t' | '\r' => false,
        _ if c.is_control() => true,
        _ if c.is_ascii() => false,
        _ if c.is_whitespace() => true,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}
