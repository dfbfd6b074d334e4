//! Walks the syntax tree of a command line and collects what it would do.

mod words;

use super::evaluation::{self, Evaluation};
use super::syntax_tree::{
    adjacent, children, cuts_redirection, destinations, ends_as_in_shell, feeds_shell, first_word, gaps, has_unescaped,
    heredoc_arguments, is_reserved, is_space, is_test, is_text, is_unusual, is_variable, mask_escapes,
    may_be_descriptor, may_comment, may_separate, misses_descriptor, short, source, unread,
};
use super::word::WordPiece;
use super::{
    FileTarget, Script, ShellWord, SimpleCommand, TargetSource, UnclearReason, WorkingDir, hazardous_options, programs,
    targets, wrappers,
};
use tree_sitter::{Node, Parser};

/// Maximum length of a line.
const MAX_BYTES: usize = 64 * 1024;
/// Maximum depth of a tree.
const MAX_DEPTH: usize = 200;
/// Maximum nesting of commands in strings.
const MAX_NESTED: usize = 8;
/// Maximum number of simple commands.
const MAX_COMMANDS: usize = 2_000;
/// A line with more directory changes may run anywhere.
const MAX_FOLDERS: usize = 6;

/// Parses a command line.
pub fn parse(line: &str) -> Script {
    let mut walk = ScriptWalker {
        script: Script::default(),
        folders: vec![WorkingDir::At(String::new())],
        nested: 0,
        audience: CommandAudience::AllRules,
        calculates: false,
        holds_substitution: false,
        evaluation: Evaluation::default(),
    };
    walk.source(line);
    if (walk.calculates && walk.holds_substitution) || walk.evaluation.is_uncertain() {
        walk.unclear(UnclearReason::Expansion("$((…))".into()));
    }
    walk.script.unclear.sort();
    walk.script.unclear.dedup();
    walk.script
}

struct ScriptWalker {
    script: Script,
    folders: Vec<WorkingDir>,
    nested: usize,
    /// Which rules apply to the commands being added.
    audience: CommandAudience,
    /// Whether the line contains arithmetic, which evaluates substitutions in variables.
    calculates: bool,
    /// Whether a text contains a substitution that is not evaluated in place.
    holds_substitution: bool,
    evaluation: Evaluation,
}

/// Which rules apply to a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CommandAudience {
    AllRules,
    /// The value of an option that runs a program: the rule for that program covers it, but it may be denied.
    DenyRules,
}

impl ScriptWalker {
    fn source(&mut self, text: &str) {
        if text.len() > MAX_BYTES || self.nested > MAX_NESTED {
            return self.unclear(UnclearReason::TooLarge);
        }
        if text.chars().any(is_unusual) {
            self.unclear(UnclearReason::UnusualCharacters);
        }
        let text = text.replace("\r\n", "\n");
        if text.contains('\r') {
            self.unclear(UnclearReason::UnusualCharacters);
        }
        let mut parser = Parser::new();
        if parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_err() {
            return self.unclear(UnclearReason::Unparsed);
        }
        let Some(tree) = parser.parse(mask_escapes(&text), None) else {
            return self.unclear(UnclearReason::Unparsed);
        };
        let root = tree.root_node();
        let outside = [text.get(..root.start_byte()), text.get(root.end_byte()..)];
        if outside.into_iter().flatten().any(|text| !is_space(text)) {
            self.unclear(UnclearReason::Unparsed);
        }
        self.node(root, &text, 0);
        if root.has_error() || self.script.unclear.contains(&UnclearReason::Unparsed) {
            self.collect_words(&text);
        }
    }

    /// Collects words of a line that cannot be parsed, so that deny rules apply to it.
    fn collect_words(&mut self, text: &str) {
        for part in text.split([';', '|', '&', '\n', '(', ')', '`']) {
            let quotes: &[char] = &['"', '\'', '\\', '$'];
            for separators in [&[' ', '\t'][..], &[' ', '\t', '{', '}', ','][..]] {
                let words: Vec<ShellWord> = part
                    .split(separators)
                    .map(|word| word.trim_matches(quotes))
                    .filter(|word| !word.is_empty())
                    .map(ShellWord::text)
                    .collect();
                self.simple(Vec::new(), words);
            }
        }
    }

    fn unclear(&mut self, why: UnclearReason) {
        if self.script.unclear.len() < MAX_COMMANDS {
            self.script.unclear.push(why);
        }
    }

    fn node(&mut self, node: Node<'_>, src: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return self.unclear(UnclearReason::TooLarge);
        }
        self.check_unparsed(node, src);
        match node.kind() {
            "heredoc_start" | "heredoc_end" => {}
            "comment" => {
                if !may_comment(src.get(..node.start_byte()).unwrap_or_default()) {
                    self.unclear(UnclearReason::Unparsed);
                }
            }
            "compound_statement" => {
                // Only a separate brace opens a group; `{a,b}` is a word.
                let text = source(node, src);
                if text.starts_with("((") {
                    self.calculate(text);
                }
                if text.starts_with('{') && !text[1..].starts_with(char::is_whitespace) {
                    self.unclear(UnclearReason::Unparsed);
                }
                self.children(node, src, depth);
            }
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
            "arithmetic_expansion" | "c_style_for_statement" => {
                let header = node
                    .child_by_field_name("body")
                    .map_or(node.end_byte(), |body| body.start_byte());
                self.calculate(src.get(node.start_byte()..header).unwrap_or_default());
                self.children(node, src, depth);
            }
            "subscript" => {
                let index = source(node, src).split_once('[').map_or("", |(_, index)| index);
                self.calculate(index);
                self.children(node, src, depth);
            }
            "for_statement" | "select_statement" => {
                self.loop_variable(node, src);
                self.children(node, src, depth);
            }
            "command_substitution" => {
                let text = source(node, src);
                // Inside backticks a backslash quotes twice, which the grammar does not handle.
                if text.starts_with('`') && text.contains('\\') {
                    self.unclear(UnclearReason::Expansion(short(text)));
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

    /// Finds places where the grammar and the shell may disagree.
    fn check_unparsed(&mut self, node: Node<'_>, src: &str) {
        if node.is_error() || node.is_missing() {
            self.unclear(UnclearReason::Unparsed);
        }
        if node.is_named() && node.child_count() == 0 {
            self.leaf(node, src);
        }
        if is_text(node.kind()) && node.kind() != "heredoc_body" {
            let overlooked = |text: &str| has_unescaped(text, "$(") || has_unescaped(text, "`");
            if gaps(node, src).into_iter().any(overlooked) {
                self.unclear(UnclearReason::Unparsed);
            }
        } else if !is_text(node.kind()) && !gaps(node, src).into_iter().all(|gap| may_separate(gap, node.kind())) {
            self.unclear(UnclearReason::Unparsed);
        }
        if cuts_redirection(node, src) || misses_descriptor(node, src) {
            self.unclear(UnclearReason::Unparsed);
        }
    }

    /// The grammar treats some substitutions as text, as in ``${x:=`id`}``.
    fn leaf(&mut self, node: Node<'_>, src: &str) {
        let text = source(node, src);
        self.holds_substitution |= node.kind() != "comment" && (text.contains("$(") || text.contains('`'));
        let literal = matches!(
            node.kind(),
            "comment" | "raw_string" | "ansi_c_string" | "heredoc_start" | "heredoc_end" | "heredoc_body"
        );
        let text = source(node, src);
        if !literal && (has_unescaped(text, "`") || has_unescaped(text, "$(")) {
            self.unclear(UnclearReason::Expansion(short(text)));
        }
    }

    /// The next part may run where the previous one ended or, if it failed, where it started.
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
                // Only after `&&` has a directory change certainly succeeded.
                "||" => self.merge(before.clone()),
                "&&" => {}
                _ => self.node(child, src, depth + 1),
            }
        }
    }

    fn merge(&mut self, before: Vec<WorkingDir>) {
        for folder in before {
            if !self.folders.contains(&folder) {
                self.folders.push(folder);
            }
        }
        if self.folders.len() > MAX_FOLDERS {
            self.folders = vec![WorkingDir::Unknown];
        }
    }

    fn redirected(&mut self, node: Node<'_>, src: &str, depth: usize) {
        // The grammar parses words after `> file` as further files; the shell treats them as arguments.
        let mut more = Vec::new();
        for child in children(node) {
            match child.kind() {
                "file_redirect" => {
                    let words = destinations(child);
                    more.extend(words.iter().copied().skip(first_word(&words, src)));
                }
                "heredoc_redirect" => more.extend(heredoc_arguments(child, src)),
                _ => {}
            }
        }
        let body = node.child_by_field_name("body");
        match body {
            Some(body) if body.kind() == "command" => {
                self.check_unparsed(body, src);
                self.command(body, more, src, depth + 1);
            }
            Some(body) => {
                if !more.is_empty() {
                    self.unclear(UnclearReason::Unparsed);
                }
                self.node(body, src, depth + 1);
            }
            None if more.is_empty() => {}
            None => {
                let groups = adjacent(&more, src);
                let words = groups
                    .iter()
                    .flat_map(|group| self.joined(group, src).expand_braces())
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
        let mut parts = Vec::new();
        for child in children(node).into_iter().chain(more) {
            match child.kind() {
                "herestring_redirect" | "heredoc_redirect" | "subshell" | "comment" => {}
                "file_redirect" => parts.extend(
                    destinations(child)
                        .into_iter()
                        .skip(first_word(&destinations(child), src)),
                ),
                "command_name" => parts.extend(children(child)),
                _ => parts.push(child),
            }
        }
        let (mut env, mut words) = (Vec::new(), Vec::new());
        for group in adjacent(&parts, src) {
            if group[0].kind() == "variable_assignment" && words.is_empty() {
                env.push(self.set(&group, src));
            } else {
                words.extend(self.joined(&group, src).expand_braces());
            }
        }
        let before = self.folders.clone();
        for child in children(node) {
            match child.kind() {
                // Assignments before a command end with it.
                "variable_assignment" => self.children(child, src, depth),
                _ => self.node(child, src, depth + 1),
            }
        }
        self.folders = before;
        self.simple(env, words);
    }

    fn declaration(&mut self, node: Node<'_>, src: &str, depth: usize) {
        let words = children(node).into_iter().map(|child| match child.kind() {
            "variable_assignment" => ShellWord::text(source(child, src)),
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
        let name = source(name, src).to_owned();
        if !is_variable(&name) {
            self.unclear(UnclearReason::Unparsed);
        }
        self.variable(&name);
        self.assigned_value(&name, node.child_by_field_name("value"), src);
    }

    /// Records the value of an assignment.
    fn assigned_value(&mut self, name: &str, value: Option<Node<'_>>, src: &str) {
        let Some(value) = value else { return };
        match value.kind() {
            "arithmetic_expansion" => self.evaluation.set_number(name),
            "array" => {
                self.evaluation.set_array(name);
                for element in children(value).into_iter().filter(Node::is_named) {
                    let text = source(element, src);
                    // The index is arithmetic, even in quotes.
                    if text.starts_with('[') {
                        self.calculate(text);
                    }
                    let word = self.word(element, src);
                    self.evaluation.set(name, &word);
                }
            }
            _ => {
                let word = self.word(value, src);
                self.evaluation.set(name, &word);
            }
        }
    }

    /// Reports a variable that changes the behaviour of programs.
    fn variable(&mut self, name: &str) {
        if programs::changes_programs(name) {
            self.unclear(UnclearReason::Variable(name.to_owned()));
        }
    }

    /// Records arithmetic.
    fn calculate(&mut self, text: &str) {
        self.calculates = true;
        self.evaluation.calculate(text);
    }

    /// `for` and `select` assign words to a variable.
    fn loop_variable(&mut self, node: Node<'_>, src: &str) {
        let Some(name) = node.child_by_field_name("variable") else {
            return;
        };
        let name = source(name, src).to_owned();
        self.variable(&name);
        let mut cursor = node.walk();
        let values: Vec<_> = node.children_by_field_name("value", &mut cursor).collect();
        if values.is_empty() || node.kind() == "select_statement" {
            self.evaluation.set(&name, &ShellWord::unknown());
        }
        for value in values {
            let word = self.word(value, src);
            self.evaluation.set(&name, &word);
        }
    }

    /// Adds a command, and the commands that it runs.
    fn simple(&mut self, env: Vec<(String, ShellWord)>, words: Vec<ShellWord>) {
        for (name, value) in &env {
            self.evaluation.set(name, value);
        }
        if words.is_empty() {
            for (name, _) in &env {
                self.variable(name);
            }
            return;
        }
        let simple = SimpleCommand {
            env,
            words,
            open_ended: false,
            folders: self.folders.clone(),
        };
        self.add_command(simple, 0);
    }

    fn add_command(&mut self, mut simple: SimpleCommand, depth: usize) {
        // The grammar parses `{` after `!` and `!` after `time` as programs.
        while simple.words.first().is_some_and(is_reserved) {
            self.unclear(UnclearReason::Unparsed);
            simple.words.remove(0);
        }
        // A line break within the name of an assignment.
        while simple.words.len() > 1
            && let Some(assigned) = wrappers::assignment(&simple.words[0])
        {
            self.unclear(UnclearReason::Unparsed);
            simple.env.push(assigned);
            simple.words.remove(0);
        }
        if simple.words.is_empty() {
            return;
        }
        if self.script.commands.len() >= MAX_COMMANDS || depth > MAX_NESTED {
            return self.unclear(UnclearReason::TooLarge);
        }
        match simple.name() {
            None => self.unclear(UnclearReason::Program(simple.words[0].to_string())),
            Some(name) => {
                self.builtin(&simple, &name);
                self.script.writes.extend(targets::written_targets(&simple, &name));
                self.change_folder(&simple, &name);
            }
        }
        let wrapped = wrappers::wrapped_commands(&simple);
        for why in wrapped.unclear {
            self.unclear(why);
        }
        // A text that is run as a command inherits these variables, but the parts of it do not show them.
        if !wrapped.scripts.is_empty() {
            for (name, _) in simple.env.iter().filter(|(name, _)| !programs::harmless_variable(name)) {
                self.unclear(UnclearReason::Variable(name.clone()));
            }
        }
        let hidden = hazardous_options::option_scripts(&simple);
        match (wrapped.counts, self.audience) {
            (true, CommandAudience::AllRules) => self.script.commands.push(simple),
            (false, _) | (_, CommandAudience::DenyRules) => self.script.wrappers.push(simple),
        }
        for inner in wrapped.commands {
            self.add_command(inner, depth + 1);
        }
        for script in wrapped.scripts {
            self.nested_source(&script);
        }
        let audience = std::mem::replace(&mut self.audience, CommandAudience::DenyRules);
        let unclear = self.script.unclear.len();
        for script in hidden {
            self.nested_source(&script);
        }
        // Such a value need not be a shell command; the option itself needs approval.
        self.script.unclear.truncate(unclear);
        self.audience = audience;
    }

    fn nested_source(&mut self, script: &str) {
        let before = self.folders.clone();
        self.nested += 1;
        self.source(script);
        self.nested -= 1;
        self.folders = before;
    }

    /// Records the variables that a builtin sets, and the text that it evaluates.
    fn builtin(&mut self, simple: &SimpleCommand, name: &str) {
        let effects = evaluation::builtin_effects(simple, name);
        self.calculates |= effects.calculates;
        for text in effects.arithmetic {
            self.calculate(&text);
        }
        for (variable, value) in effects.variables {
            self.variable(&variable);
            self.evaluation.set(&variable, &value);
        }
        for variable in effects.declared {
            self.evaluation.declare(variable);
        }
        if effects.is_hidden {
            self.unclear(UnclearReason::Wrapper(name.to_owned()));
        }
    }

    fn change_folder(&mut self, simple: &SimpleCommand, name: &str) {
        match name {
            "cd" | "pushd" => {}
            "popd" => return self.folders = vec![WorkingDir::Unknown],
            _ => return,
        }
        let mut to = None;
        for word in simple.words.iter().skip(1) {
            match word.plain() {
                None => return self.folders = vec![WorkingDir::Unknown],
                Some(text) if text == "-" || text.starts_with('+') => return self.folders = vec![WorkingDir::Unknown],
                Some(text) if text.starts_with('-') => {}
                Some(_) if matches!(word.pieces.first(), Some(WordPiece::Tilde(home)) if home != "~") => {
                    return self.folders = vec![WorkingDir::Unknown];
                }
                Some(text) => to = Some(text),
            }
        }
        let to = to.unwrap_or_else(|| "~".into());
        for folder in &mut self.folders {
            if let WorkingDir::At(from) = folder {
                *from = programs::join(from, &to);
            } else if to.starts_with(['/', '~']) {
                *folder = WorkingDir::At(to.clone());
            }
        }
    }

    fn redirect(&mut self, node: Node<'_>, src: &str, depth: usize) {
        let before = src.get(..node.start_byte()).unwrap_or_default();
        // The index in `{a[i]}> f` is arithmetic.
        if before.ends_with('}') && before.replace("\\\n", "").ends_with("]}") {
            self.unclear(UnclearReason::Unparsed);
        }
        if let Some(descriptor) = node.child_by_field_name("descriptor") {
            let number = source(descriptor, src).bytes().all(|byte| byte.is_ascii_digit());
            if !number || !may_be_descriptor(before) {
                self.unclear(UnclearReason::Unparsed);
            }
        }
        let operator = children(node)
            .into_iter()
            .find(|child| !child.is_named())
            .map_or("", |child| source(child, src));
        let to = destinations(node);
        let to = &to[..first_word(&to, src)];
        if to.first().is_some_and(|to| to.kind() != "process_substitution") {
            let words = self.joined(to, src).expand_braces();
            for word in words {
                self.read_by_shell(operator, &word);
                self.redirected_to(operator, word);
            }
        }
        self.children(node, src, depth);
    }

    /// `< /bin/rm` copies a program as `cat /bin/rm` does, for rules that deny it.
    fn read_by_shell(&mut self, operator: &str, path: &ShellWord) {
        let is_program = |text: &String| text.starts_with('/') && programs::is_standard(text);
        if operator == "<" && path.plain().as_ref().is_some_and(is_program) {
            self.script.wrappers.push(SimpleCommand {
                env: Vec::new(),
                words: vec![ShellWord::text("cat"), path.clone()],
                open_ended: false,
                folders: self.folders.clone(),
            });
        }
    }

    fn redirected_to(&mut self, operator: &str, path: ShellWord) {
        let text = path.plain().unwrap_or_default();
        if text.starts_with("/dev/tcp/") || text.starts_with("/dev/udp/") {
            self.unclear(UnclearReason::Network(text.clone()));
        }
        // The shell expands this word again before using it as a file name.
        if matches!(operator, ">&" | "<&") && (text.contains("$(") || text.contains('`')) {
            self.unclear(UnclearReason::Expansion(short(&text)));
        }
        let duplicates = matches!(operator, ">&" | "<&")
            && (text == "-" || (!text.is_empty() && text.trim_end_matches('-').chars().all(|c| c.is_ascii_digit())));
        if duplicates {
            return;
        }
        let target = FileTarget {
            path,
            folders: self.folders.clone(),
            by: TargetSource::Redirection,
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
        let after = start.and_then(|start| src.get(start.end_byte()..)?.chars().next());
        let is_glued = after.is_some_and(|after| !after.is_whitespace() && !";|&()<>".contains(after));
        if is_glued || !ends_as_in_shell(node, src) {
            self.unclear(UnclearReason::Unparsed);
        }
        if let Some(body) = body {
            let text = source(body, src).to_owned();
            // The grammar misses backticks here, and a leading substitution.
            let overlooked = unread(body, src).into_iter().any(|text| has_unescaped(text, "$("));
            if !quoted && (overlooked || has_unescaped(&text, "`")) {
                self.unclear(UnclearReason::Expansion(short(text.trim())));
            }
            // The grammar parses arithmetic here as a subshell.
            if !quoted && let Some(at) = text.find("$((") {
                self.calculate(&text[at..]);
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

    /// Tests and arithmetic evaluate their operands again, even quoted ones: `[[ -v 'a[$(id)]' ]]`.
    fn test(&mut self, node: Node<'_>, src: &str) {
        let text = source(node, src);
        if !is_test(text) {
            self.unclear(UnclearReason::Unparsed);
        }
        let quotes = text.contains('\'') || text.contains('\\');
        if quotes && (text.contains("$(") || text.contains('`')) {
            self.unclear(UnclearReason::Expansion(short(text)));
        }
        self.calculates = true;
        self.evaluation.test(text);
    }
}
