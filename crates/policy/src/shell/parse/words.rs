//! Builds words from syntax nodes.

use super::super::syntax_tree::{children, has_unescaped, hides_expansion, is_variable, short, source};
use super::super::word::WordPiece;
use super::super::{ShellWord, UnclearReason, quote};
use super::ScriptWalker;
use tree_sitter::Node;

impl ScriptWalker {
    /// The variable assigned before a command, with its value.
    pub(super) fn set(&mut self, group: &[Node<'_>], src: &str) -> (String, ShellWord) {
        let name = group[0]
            .child_by_field_name("name")
            .map_or("", |name| source(name, src));
        if !is_variable(name) {
            self.unclear(UnclearReason::Unparsed);
        }
        let mut value = group[0]
            .child_by_field_name("value")
            .map_or_else(ShellWord::default, |value| self.word(value, src));
        for part in &group[1..] {
            self.pieces(*part, src, &mut value);
        }
        (name.trim_end_matches('+').to_owned(), value)
    }

    /// Joins adjacent nodes into a word.
    pub(super) fn joined(&mut self, group: &[Node<'_>], src: &str) -> ShellWord {
        let mut word = ShellWord::default();
        for part in group {
            match part.kind() {
                "variable_assignment" => word.push_text(WordPiece::Quoted(source(*part, src).to_owned())),
                _ => self.pieces(*part, src, &mut word),
            }
        }
        word
    }

    pub(super) fn word(&mut self, node: Node<'_>, src: &str) -> ShellWord {
        let mut word = ShellWord::default();
        self.pieces(node, src, &mut word);
        word
    }

    fn pieces(&mut self, node: Node<'_>, src: &str, word: &mut ShellWord) {
        let text = source(node, src);
        match node.kind() {
            "word" | "number" | "variable_name" | "file_descriptor" | "special_variable_name" => {
                // The grammar includes a line break before a backslash in the word.
                let after = src.get(node.end_byte()..).unwrap_or_default();
                if hides_expansion(text, after) || [" ", "\t", "\n"].iter().any(|space| has_unescaped(text, space)) {
                    self.unclear(UnclearReason::Unparsed);
                }
                word.push_bare(text);
            }
            "raw_string" => word.push_text(WordPiece::Quoted(
                text.trim_start_matches('\'').trim_end_matches('\'').to_owned(),
            )),
            "ansi_c_string" => {
                let inside = text.strip_prefix("$'").and_then(|text| text.strip_suffix('\''));
                match inside.and_then(quote::ansi_c) {
                    Some(text) => word.push_text(WordPiece::Quoted(text)),
                    None => word.push_text(WordPiece::Unknown { quoted: true }),
                }
            }
            "string" | "translated_string" => self.string(node, src, word),
            "simple_expansion" => word.push_text(WordPiece::Variable {
                name: text.trim_start_matches('$').to_owned(),
                quoted: false,
            }),
            "expansion" => word.push_text(expanded(text, false)),
            "command_substitution" | "brace_expression" => word.push_text(WordPiece::Unknown { quoted: false }),
            "arithmetic_expansion" | "process_substitution" => word.push_text(WordPiece::Unknown { quoted: true }),
            "extglob_pattern" => word.push_text(WordPiece::Glob(text.to_owned())),
            "concatenation" | "command_name" => {
                let mut end = node.start_byte();
                for child in children(node) {
                    if !src.get(end..child.start_byte()).unwrap_or_default().is_empty() {
                        self.unclear(UnclearReason::Unparsed);
                    }
                    end = child.end_byte();
                    self.pieces(child, src, word);
                }
            }
            // The dollar sign of `$"…"`, which only marks translations.
            _ if text == "$" && src.get(node.end_byte()..).is_some_and(|rest| rest.starts_with('"')) => {}
            _ if text == "$" && src.get(node.end_byte()..).is_some_and(|rest| rest.starts_with('\'')) => {
                self.unclear(UnclearReason::Unparsed);
            }
            _ if !node.is_named() => {
                // The grammar treats empty backticks as text.
                if text.contains('`') || hides_expansion(text, src.get(node.end_byte()..).unwrap_or_default()) {
                    self.unclear(UnclearReason::Unparsed);
                }
                word.push_bare(text);
            }
            _ => word.push_text(WordPiece::Unknown { quoted: false }),
        }
    }

    fn string(&mut self, node: Node<'_>, src: &str, word: &mut ShellWord) {
        let open = if source(node, src).starts_with('$') { 2 } else { 1 };
        let mut at = node.start_byte() + open;
        let end = node.end_byte().saturating_sub(1);
        word.push_text(WordPiece::Quoted(String::new()));
        for child in children(node) {
            let piece = match child.kind() {
                "simple_expansion" => WordPiece::Variable {
                    name: source(child, src).trim_start_matches('$').to_owned(),
                    quoted: !source(child, src).ends_with('@'),
                },
                "expansion" => expanded(source(child, src), true),
                "command_substitution" | "arithmetic_expansion" | "process_substitution" => {
                    WordPiece::Unknown { quoted: true }
                }
                _ => continue,
            };
            let between = src.get(at..child.start_byte()).unwrap_or_default();
            word.push_text(WordPiece::Quoted(quote::double(between)));
            word.push_text(piece);
            at = child.end_byte();
        }
        let rest = src.get(at..end).unwrap_or_default();
        word.push_text(WordPiece::Quoted(quote::double(rest)));
    }

    /// Reports an expansion that runs or hides commands, and records its arithmetic.
    pub(super) fn expansion(&mut self, node: Node<'_>, src: &str) {
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
        let name_end = inside
            .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .unwrap_or(inside.len());
        let (name, operator) = inside.split_at(name_end);
        // `${x:1}` is arithmetic, `${x:=1}` and `${x=1}` assign.
        match operator.strip_prefix(':') {
            Some(offset) if !offset.starts_with(['-', '=', '+', '?']) => self.calculate(offset),
            rest => {
                if rest.unwrap_or(operator).starts_with('=') {
                    self.variable(name);
                    self.evaluation.set(name, &ShellWord::unknown());
                }
            }
        }
        // Within double quotes and here-documents, single quotes in `${…}` do not quote. The grammar treats process
        // substitutions in patterns as text, the shell runs them, even within double quotes.
        let overlooked = (inside.contains('\'') && (inside.contains("$(") || inside.contains('`')))
            || inside.contains("<(")
            || inside.contains(">(");
        if indirect || transforms || overlooked || escapes.iter().any(|escape| inside.contains(escape)) {
            self.unclear(UnclearReason::Expansion(short(text)));
        }
    }
}

/// A `${…}` expansion: a variable if it is nothing more.
fn expanded(text: &str, quoted: bool) -> WordPiece {
    let inside = text.trim_start_matches("${").trim_end_matches('}');
    if !inside.is_empty() && inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        return WordPiece::Variable {
            name: inside.to_owned(),
            quoted,
        };
    }
    WordPiece::Unknown {
        quoted: quoted && !inside.contains('@'),
    }
}
