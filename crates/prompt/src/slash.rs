//! Slash commands: prompts kept in Markdown files, called as `/name arguments`.
//!
//! Pure: whoever reads the files hands in their text. Nothing in a command is ever run; what it says is a prompt.

use crate::front::Front;
use std::path::PathBuf;

/// A command that can be called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slash {
    /// What it is called, such as `review` or `git:commit`.
    pub name: String,
    /// What it does, in one line.
    pub description: String,
    /// What its arguments are, in the author's words.
    pub hint: Option<String>,
    /// The mode in which it is carried out.
    pub mode: Option<String>,
    /// The model that carries it out.
    pub model: Option<String>,
    /// The text, with places for arguments.
    pub body: String,
    /// Where it is kept.
    pub path: PathBuf,
    /// What kind of file it is.
    pub kind: Kind,
    /// Whose it is.
    pub owner: Owner,
}

/// What kind of file a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A prompt.
    Command,
    /// Instructions for a kind of task, in a folder of their own.
    Skill,
}

/// Whose a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// The person's, or that of a project they trust.
    Person,
    /// It comes with a project that nobody has vouched for: it cannot choose modes, models or files outside the project.
    Project,
}

/// A command that is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invocation<'a> {
    /// The command's name.
    pub name: &'a str,
    /// What follows it.
    pub arguments: &'a str,
}

/// What comes of a command that is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expanded {
    /// What the model sees behind the prompt.
    pub text: String,
    /// The author's words alone, in which things may be mentioned.
    pub body: String,
    /// What the person should know.
    pub told: Vec<String>,
}

/// The longest text of a command.
const MOST: usize = 64 * 1024;
/// Characters of a description.
const LINE: usize = 160;
/// How input that was piped in begins.
const PIPED: &str = "\n\n<stdin>\n";

/// The command that a prompt calls, if it begins with a slash and a name; `/usr/bin` is a path and `/ 2` is arithmetic.
pub fn invocation(prompt: &str) -> Option<Invocation<'_>> {
    let said = prompt.split(PIPED).next().unwrap_or(prompt).trim();
    let rest = said.strip_prefix('/')?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.');
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let (name, after) = rest.split_at(end);
    let begins_well = name.starts_with(|c: char| c.is_alphabetic());
    let ends_well = after.is_empty() || after.starts_with(char::is_whitespace);
    (begins_well && ends_well).then(|| Invocation {
        name: name.trim_end_matches(['.', ':']),
        arguments: after.trim(),
    })
}

impl Slash {
    /// A command from the text of its file.
    pub fn parse(name: &str, text: &str, path: PathBuf, kind: Kind, owner: Owner) -> Self {
        let (front, body) = Front::split(text);
        let said = |keys: &[&str]| front.get(keys).map(str::to_owned);
        let first = body
            .lines()
            .map(|line| line.trim_start_matches('#').trim())
            .find(|line| !line.is_empty());
        let description = front.get(&["description"]).or(first).unwrap_or_default();
        let description = description.split_whitespace().collect::<Vec<_>>().join(" ");
        let description = match description.char_indices().nth(LINE) {
            Some((end, _)) => format!("{}…", &description[..end]),
            None => description,
        };
        Slash {
            name: name.to_owned(),
            description,
            hint: said(&["argument-hint", "argument_hint", "arguments"]),
            mode: said(&["mode", "agent"]),
            model: said(&["model"]).filter(|model| model != "inherit"),
            body: body.trim().to_owned(),
            path,
            kind,
            owner,
        }
    }

    /// What a call of this command stands for.
    pub fn expand(&self, arguments: &str) -> Expanded {
        let mut told = Vec::new();
        let (mut body, cut) = crate::system::quoted::bound(&self.body, MOST);
        if cut > 0 {
            told.push(format!(
                "/{} is longer than {} KB; its end is left out",
                self.name,
                MOST / 1024
            ));
        }
        body = body.trim_end();
        if runs_something(body) {
            told.push(format!(
                "/{} asks for commands to be run with !`…`; they are left as text, and the model decides about them",
                self.name
            ));
        }
        let body = fill(body, arguments);
        let open = match self.kind {
            Kind::Command => format!("<command name=\"{}\">\n", self.name),
            Kind::Skill => {
                let folder = self.path.parent().unwrap_or(&self.path).display();
                format!(
                    "<command name=\"{}\">\n(A skill; its files are in {folder}.)\n",
                    self.name
                )
            }
        };
        Expanded {
            text: format!("{open}{body}\n</command>"),
            body,
            told,
        }
    }
}

/// Whether a text asks for commands whose output it wants.
fn runs_something(body: &str) -> bool {
    body.match_indices("!`").any(|(at, _)| body[at + 2..].contains('`'))
}

/// Puts the arguments where the text has places for them, and behind it where it has none.
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

/// Whether a digit before this is part of a sum of money.
fn is_amount(after: &str) -> bool {
    let mut chars = after.chars();
    matches!(chars.next(), Some('.' | ',')) && chars.next().is_some_and(|c| c.is_ascii_digit())
}

/// Words, where quotes hold several together.
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

    fn slash(text: &str) -> Slash {
        Slash::parse(
            "review",
            text,
            "/p/.hew/commands/review.md".into(),
            Kind::Command,
            Owner::Person,
        )
    }

    #[test]
    fn a_prompt_calls_a_command_only_when_it_begins_with_a_name() {
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
            let found = invocation(prompt).map(|call| (call.name, call.arguments));
            assert_eq!(found, expected, "{prompt}");
        }
    }

    #[test]
    fn arguments_go_where_the_text_has_places_for_them() {
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
    fn a_command_says_what_it_is_and_its_shell_lines_stay_text() {
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
        assert!(expanded.told[0].contains("left as text"), "{:?}", expanded.told);
        assert_eq!(slash("# Look here\n").description, "Look here");
    }

    #[test]
    fn a_long_command_is_cut_and_says_so() {
        let expanded = slash(&"a line\n".repeat(20_000)).expand("");
        assert!(expanded.text.len() < MOST + 100 && expanded.told.len() == 1);
    }
}
