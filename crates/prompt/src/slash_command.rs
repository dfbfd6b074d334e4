//! Slash commands: prompts in Markdown files, invoked as `/name arguments`.
//!
//! Pure: the caller reads the files. Nothing in a command is executed; its text is a prompt.

use crate::front_matter::FrontMatter;
use std::path::PathBuf;

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SlashCommand {
    /// Its name, such as `todo` or `file:src/main.rs`.
    pub name: String,
    /// A one-line description.
    pub description: String,
    /// The expected arguments, in the author's words.
    pub hint: Option<String>,
    /// The mode in which it runs.
    pub mode: Option<String>,
    /// The model that it uses.
    pub model: Option<String>,
    /// The text, with placeholders for arguments.
    pub body: String,
    /// The path of its file.
    pub path: PathBuf,
    /// The kind of file.
    pub kind: SlashCommandKind,
    /// Who provides it.
    pub owner: CommandOwner,
}

/// The kind of a command file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SlashCommandKind {
    /// A prompt.
    Command,
    /// Instructions for a kind of task, in a directory of their own.
    Skill,
}

/// Who provides a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandOwner {
    /// The user, or a trusted project.
    User,
    /// An untrusted project: the command cannot choose modes, models or files outside the project.
    Project,
}

/// An invocation of a slash command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlashInvocation<'a> {
    /// The name of the command.
    pub name: &'a str,
    /// The arguments.
    pub arguments: &'a str,
}

/// The expansion of an invocation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpandedCommand {
    /// The text that the model sees after the prompt.
    pub text: String,
    /// Only the author's text, which may contain mentions.
    pub body: String,
    /// Messages for the user.
    pub notices: Vec<String>,
}

/// Maximum bytes of a command's text.
const MAX_BODY_BYTES: usize = 64 * 1024;
/// Maximum characters of a description.
const MAX_DESCRIPTION_CHARS: usize = 160;
/// Start of piped input.
const STDIN_START: &str = "\n\n<stdin>\n";

/// Returns the slash command that a prompt invokes. `/usr/bin` is a path and `/ 2` is arithmetic.
pub fn parse_invocation(prompt: &str) -> Option<SlashInvocation<'_>> {
    let value = prompt.split(STDIN_START).next().unwrap_or(prompt).trim();
    let rest = value.strip_prefix('/')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let begins_well = name.starts_with(|c: char| c.is_alphabetic());
    let ends_well = after.is_empty() || after.starts_with(char::is_whitespace);
    (begins_well && ends_well).then(|| SlashInvocation {
        name: name.trim_end_matches(['.', ':']),
        arguments: after.trim(),
    })
}

impl SlashCommand {
    /// Parses a command file.
    pub fn parse(name: &str, text: &str, path: PathBuf, kind: SlashCommandKind, owner: CommandOwner) -> Self {
        let (front, body) = FrontMatter::split(text);
        let value = |keys: &[&str]| front.get(keys).map(str::to_owned);
        let first = body
            .lines()
            .map(|line| line.trim_start_matches('#').trim())
            .find(|line| !line.is_empty());
        let description = front.get(&["description"]).or(first).unwrap_or_default();
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = match description.char_indices().nth(MAX_DESCRIPTION_CHARS) {
            Some((end, _)) => format!("{}…", &description[..end]),
            None => description,
        };
        SlashCommand {
            name: name.to_owned(),
            description,
            hint: value(&["argument-hint", "argument_hint", "arguments"]),
            mode: value(&["mode", "agent"]),
            model: value(&["model"]).filter(|model| model != "inherit"),
            body: body.trim().to_owned(),
            path,
            kind,
            owner,
        }
    }

    /// Expands an invocation of this command.
    pub fn expand(&self, arguments: &str) -> ExpandedCommand {
        let mut notices = Vec::new();
        let (mut body, cut) = crate::system_prompt::quote::truncate_lines(&self.body, MAX_BODY_BYTES);
        if cut > 0 {
            notices.push(format!(
                "/{} is longer than {} KB; the rest is omitted",
                self.name,
                MAX_BODY_BYTES / 1024
            ));
        }
        body = body.trim_end();
        if has_inline_commands(body) {
            notices.push(format!(
                "/{} contains inline commands (!`…`); they are not run but sent to the model as text",
                self.name
            ));
        }
        let body = fill(body, arguments);
        let open = match self.kind {
            SlashCommandKind::Command => format!("<command name=\"{}\">\n", self.name),
            SlashCommandKind::Skill => {
                let folder = self.path.parent().unwrap_or(&self.path).display();
                format!(
                    "<command name=\"{}\">\n(A skill; its files are in {folder}.)\n",
                    self.name
                )
            }
        };
        ExpandedCommand {
            text: format!("{open}{body}\n</command>"),
            body,
            notices,
        }
    }
}

/// Whether a text contains inline commands.
fn has_inline_commands(body: &str) -> bool {
    body.match_indices("!`").any(|(at, _)| body[at + 2..].contains('`'))
}

/// Replaces the placeholders with the arguments; appends the arguments if there are no placeholders.
fn fill(body: &str, arguments: &str) -> String {
    let words = words(arguments);
    let mut filled = String::with_capacity(body.len() + arguments.len());
    let mut inputs: Vec<&str> = Vec::new();
    let (mut rest, mut used) = (body, false);
    while let Some(at) = rest.find('$') {
        filled.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let digit = after
            .chars()
            .next()
            .and_then(|c| c.to_digit(10))
            .filter(|digit| *digit > 0);
        let follows = |count: usize| {
            after[count..]
                .chars()
                .next()
                .is_some_and(|c| c.is_alphanumeric() || c == '_')
        };
        if let Some(more) = after.strip_prefix("ARGUMENTS").filter(|_| !follows(9)) {
            filled.push_str(arguments);
            (rest, used) = (more, true);
        } else if let Some(digit) = digit.filter(|_| !follows(1) && !is_amount(&after[1..])) {
            filled.push_str(words.get(digit as usize - 1).map_or("", String::as_str));
            (rest, used) = (&after[1..], true);
        } else if let Some((input, more)) = after.strip_prefix("{input:").and_then(|input| input.split_once('}')) {
            let name = input.split(':').next().unwrap_or(input);
            let place = inputs.iter().position(|known| *known == name).unwrap_or_else(|| {
                inputs.push(name);
                inputs.len() - 1
            });
            filled.push_str(words.get(place).map_or("", String::as_str));
            (rest, used) = (more, true);
        } else {
            filled.push('$');
            rest = after;
        }
    }
    filled.push_str(rest);
    if !used && !arguments.is_empty() {
        filled.push_str(&format!("\n\nArguments: {arguments}"));
    }
    filled
}

/// Whether the digit before this is part of an amount of money.
fn is_amount(after: &str) -> bool {
    let mut chars = after.chars();
    matches!(chars.next(), Some('.' | ',')) && chars.next().is_some_and(|c| c.is_ascii_digit())
}

/// Splits words; quotes group several words.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quote, mut begun) = (Vec::new(), String::new(), None, false);
    for c in text.chars() {
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => (quote, begun) = (Some(c), true),
            (c, None) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                }
                begun = false;
            }
            (c, _) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slash(text: &str) -> SlashCommand {
        SlashCommand::parse(
            "review",
            text,
            "/p/.hew/commands/review.md".into(),
            SlashCommandKind::Command,
            CommandOwner::User,
        )
    }

    #[test]
    fn a_prompt_invokes_a_command_only_if_it_begins_with_a_name() {
        let cases = [
            ("/review", Some(("review", ""))),
            ("  /git:commit fix it ", Some(("git:commit", "fix it"))),
            ("/review a\nb", Some(("review", "a\nb"))),
            ("/review\n\n<stdin>\npiped\n</stdin>", Some(("review", ""))),
            ("/usr/bin is missing", None),
            ("/2 of it", None),
            ("/ 2", None),
            ("/x(y)", None),
            ("say /review", None),
            ("//comment", None),
            ("", None),
        ];
        for (prompt, expected) in cases {
            let found = parse_invocation(prompt).map(|call| (call.name, call.arguments));
            assert_eq!(found, expected, "{prompt}");
        }
    }

    #[test]
    fn arguments_replace_placeholders() {
        let cases = [
            ("Fix $ARGUMENTS.", "a b", "Fix a b."),
            ("From $1 to $2 ($3).", "'the one' two", "From the one to two ()."),
            (
                "It costs $5.00 or $10, $HOME.",
                "x",
                "It costs $5.00 or $10, $HOME.\n\nArguments: x",
            ),
            ("${input:file:which?} ${input:n} ${input:file}", "a 2", "a 2 a"),
            ("No places.", "", "No places."),
            ("$ARGUMENTSX $1a", "", "$ARGUMENTSX $1a"),
        ];
        for (body, arguments, expected) in cases {
            assert_eq!(slash(body).expand(arguments).body, expected, "{body}");
        }
    }

    #[test]
    fn a_command_is_described_and_its_shell_lines_stay_text() {
        let command = slash(
            "---\ndescription: Reviews\nargument-hint: [file] [n]\nmode: ask\nmodel: inherit\n---\n# Look\n!`git diff`",
        );
        assert_eq!(
            (command.description.as_str(), command.hint.as_deref()),
            ("Reviews", Some("[file] [n]"))
        );
        assert_eq!((command.mode.as_deref(), command.model.as_deref()), (Some("ask"), None));
        let expanded = command.expand("");
        assert_eq!(
            expanded.text,
            "<command name=\"review\">\n# Look\n!`git diff`\n</command>"
        );
        assert!(
            expanded.notices[0].contains("inline commands"),
            "{:?}",
            expanded.notices
        );
        assert_eq!(slash("# Look here\n").description, "Look here");
    }

    #[test]
    fn a_long_command_is_cut_with_a_note() {
        let expanded = slash(&"a line\n".repeat(20_000)).expand("");
        assert!(expanded.text.len() < MAX_BODY_BYTES + 100 && expanded.notices.len() == 1);
    }
}
