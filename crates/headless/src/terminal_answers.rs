//! Questions on the terminal, without blocking the turn in a read.

use crate::config::PermissionLevel;
use crate::output::color::columns;
use crate::output::format::{sanitise, wrap};
use crate::output::text::flat;
use policy::{Action, GrantScope};
use serde_json::Value;
use session::{Answer, Question, QuestionId, QuestionSubject};
use std::io::{BufRead, IsTerminal, Write};
use tokio::sync::mpsc;

/// The number of lines of an input that are shown with a question.
const MAX_LINES: usize = 40;
/// Commands up to this length are shown completely in the question itself.
const SHORT: usize = 200;

/// Whether questions can be asked on the terminal.
pub fn is_interactive() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Reads lines from the terminal as answers.
pub struct AnswerReader {
    permission: PermissionLevel,
    sender: mpsc::Sender<(QuestionId, Answer)>,
    receiver: mpsc::Receiver<(QuestionId, Answer)>,
    /// Whether a line is being read; there is one terminal, so only one read is pending at a time.
    busy: bool,
}

impl AnswerReader {
    /// No question was asked yet.
    pub fn new(permission: PermissionLevel) -> Self {
        let (sender, receiver) = mpsc::channel(1);
        AnswerReader {
            permission,
            sender,
            receiver,
            busy: false,
        }
    }

    /// Asks; the answer comes from [`AnswerReader::next`].
    pub fn ask(&mut self, question: &Question) {
        if std::mem::replace(&mut self.busy, true) {
            crate::output::print_stderr("  (the previous question is already answered; press Enter first)\n");
            return;
        }
        let sender = self.sender.clone();
        let (question, permission) = (question.clone(), self.permission);
        // A separate thread: a terminal read cannot be cancelled and must not block the runtime's shutdown.
        std::thread::spawn(move || {
            let answer = dialog(
                &question,
                permission,
                columns(),
                &mut std::io::stdin().lock(),
                &mut std::io::stderr(),
            );
            // The turn may have ended.
            drop(sender.blocking_send((question.id, answer)));
        });
    }

    /// The next answer.
    pub async fn next(&mut self) -> (QuestionId, Answer) {
        match self.receiver.recv().await {
            Some(answer) => {
                self.busy = false;
                answer
            }
            None => std::future::pending().await,
        }
    }
}

/// Asks a yes or no question before the run starts.
pub fn confirm(question: &str) -> bool {
    crate::output::print_stderr(&wrap(&format!("{} [y/N] ", sanitise(question)), columns()));
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line);
    read.is_ok() && matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

/// Asks until the answer is clear. An end of input means no.
fn dialog(
    question: &Question,
    permission: PermissionLevel,
    columns: usize,
    input: &mut impl BufRead,
    out: &mut impl Write,
) -> Answer {
    match &question.subject {
        QuestionSubject::Permission {
            action,
            input: call,
            rules,
            ..
        } => {
            let short = details(action, call, rules, permission, MAX_LINES);
            let whole = details(action, call, rules, permission, usize::MAX);
            print_prompt(out, &short);
            let more = if short == whole { "" } else { "[m]ore of it, " };
            let hint = format!(
                "  [y]es once, [s]ession, [p]roject, [a]lways, [n]o, [e]dit, {more}or type an instruction for the model: "
            );
            let hint = wrap(&hint, columns);
            loop {
                let Some(line) = read(input, out, &hint) else {
                    return Answer::Reject { reason: None };
                };
                if short != whole && matches!(line.trim().to_ascii_lowercase().as_str(), "m" | "more") {
                    print_prompt(out, &whole);
                    continue;
                }
                match parse_answer(&line, rules) {
                    TypedAnswer::Answer(answer) => return answer,
                    TypedAnswer::Edit => {
                        if let Some(new) = edit(call, input, out) {
                            return Answer::Modify { input: new };
                        }
                    }
                }
            }
        }
        QuestionSubject::Inquiry {
            choices,
            multiple: several,
            ..
        } => {
            let hint = match (choices.is_empty(), several) {
                (true, _) => "  your answer: ",
                (false, false) => "  enter a number or a text: ",
                (false, true) => "  enter numbers such as 1,3 or a text: ",
            };
            match read(input, out, hint) {
                None => Answer::Reject { reason: None },
                Some(line) => choose(&line, choices, *several),
            }
        }
    }
}

/// Details of a question: the complete command or input, the offered rules, and how commands are confined.
/// At most `most` lines of each part are shown.
fn details(action: &Action, input: &Value, rules: &[String], permission: PermissionLevel, most: usize) -> String {
    let mut text = String::new();
    match action {
        Action::Run { command, cwd } | Action::Escalate { command, cwd } => {
            if command.len() > SHORT || command.contains('\n') {
                text.push_str(&shortened(command, most));
            }
            text.push_str(&format!("  in {}\n", flat(&cwd.display().to_string())));
        }
        Action::Write { .. } | Action::Mcp { .. } => {
            if let Value::Object(fields) = input {
                for (name, value) in fields.iter().filter(|(name, _)| *name != "path") {
                    let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
                    text.push_str(&format!("  {}:\n{}", flat(name), shortened(&value, most)));
                }
            }
        }
        Action::Read { .. } | Action::Fetch { .. } | Action::SwitchMode { .. } | Action::Subtask { .. } => {}
    }
    for (number, rule) in rules.iter().enumerate().skip(1) {
        text.push_str(&format!(
            "  s{0}, p{0}, a{0}: allow everything that matches {1}\n",
            number + 1,
            flat(rule)
        ));
    }
    let level = match permission {
        PermissionLevel::ReadOnly => "read-only",
        PermissionLevel::Workspace => "workspace",
        PermissionLevel::Full => "full",
    };
    text.push_str(&format!("  permission: {level}\n"));
    text
}

fn shortened(text: &str, most: usize) -> String {
    let mut shown: String = text.lines().take(most).map(|line| format!("  | {line}\n")).collect();
    let more = text.lines().count().saturating_sub(most);
    if more > 0 {
        shown.push_str(&format!("  | … {more} more lines\n"));
    }
    shown
}

/// The meaning of a line.
#[derive(Debug, PartialEq)]
enum TypedAnswer {
    Answer(Answer),
    Edit,
}

fn parse_answer(line: &str, rules: &[String]) -> TypedAnswer {
    let word = line.trim().to_ascii_lowercase();
    let approve = |scope: GrantScope, rule: Option<String>| TypedAnswer::Answer(Answer::Approve { scope, rule });
    match word.as_str() {
        "y" | "yes" => return TypedAnswer::Answer(Answer::once()),
        "s" | "session" => return approve(GrantScope::Session, None),
        "p" | "project" => return approve(GrantScope::Project, None),
        "a" | "always" => return approve(GrantScope::Always, None),
        "" | "n" | "no" => return TypedAnswer::Answer(Answer::Reject { reason: None }),
        "e" | "edit" => return TypedAnswer::Edit,
        _ => {}
    }
    let scope = match word.chars().next() {
        Some('s') => Some(GrantScope::Session),
        Some('p') => Some(GrantScope::Project),
        Some('a') => Some(GrantScope::Always),
        Some(_) | None => None,
    };
    let number = word.get(1..).and_then(|number| number.parse::<usize>().ok());
    if let (Some(scope), Some(rule)) = (scope, number.and_then(|number| rules.get(number.checked_sub(1)?))) {
        return approve(scope, Some(rule.clone()));
    }
    TypedAnswer::Answer(Answer::Reject {
        reason: Some(line.trim().into()),
    })
}

/// Lets the user edit the input: a command as text, anything else as JSON.
fn edit(input: &Value, lines: &mut impl BufRead, out: &mut impl Write) -> Option<Value> {
    if input.is_null() {
        print_prompt(out, "  cannot edit: the call is already running\n");
        return None;
    }
    let command = input.get("command").and_then(Value::as_str);
    match command {
        Some(command) => print_prompt(out, &format!("  now: {command}\n")),
        None => print_prompt(out, &format!("  now: {input}\n")),
    }
    let line = read(lines, out, "  new value (empty to keep): ").filter(|line| !line.trim().is_empty())?;
    match serde_json::from_str::<Value>(line.trim()) {
        Ok(new @ Value::Object(_)) => Some(new),
        Ok(_) | Err(_) if command.is_some() => {
            let mut new = input.clone();
            new["command"] = Value::String(line.trim().into());
            Some(new)
        }
        Ok(_) => {
            print_prompt(out, "  it must be a JSON object\n");
            None
        }
        Err(error) => {
            print_prompt(out, &format!("  that is not JSON: {error}\n"));
            None
        }
    }
}

fn choose(line: &str, choices: &[(String, Option<String>)], several: bool) -> Answer {
    let line = line.trim();
    if line.is_empty() {
        return Answer::Reject { reason: None };
    }
    let numbers: Option<Vec<usize>> = line
        .split([',', ' '])
        .filter(|part| !part.is_empty())
        .map(|part| part.parse().ok())
        .collect();
    let chosen: Option<Vec<&str>> = numbers.and_then(|numbers| {
        let label = |number: usize| choices.get(number.checked_sub(1)?).map(|(label, _)| label.as_str());
        numbers.into_iter().map(label).collect()
    });
    match chosen {
        Some(labels) if labels.len() == 1 || several => Answer::Text {
            text: labels.join(", "),
        },
        Some(_) | None => Answer::Text { text: line.into() },
    }
}

fn read(input: &mut impl BufRead, out: &mut impl Write, hint: &str) -> Option<String> {
    print_prompt(out, hint);
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line),
    }
}

/// Removes control characters: the text may come from a model and must not overwrite the question.
fn print_prompt(out: &mut impl Write, text: &str) {
    // A failure to write to stderr cannot be reported.
    drop(out.write_all(sanitise(text).as_bytes()).and_then(|()| out.flush()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn ask(subject: QuestionSubject, typed: &str) -> (Answer, String) {
        let question = Question {
            id: QuestionId::new(),
            call: None,
            tool: "terminal".into(),
            subject,
        };
        let mut out = Vec::new();
        let answer = dialog(
            &question,
            PermissionLevel::Workspace,
            80,
            &mut typed.as_bytes(),
            &mut out,
        );
        (answer, String::from_utf8(out).unwrap())
    }

    fn permission(typed: &str) -> Answer {
        let subject = QuestionSubject::Permission {
            action: Action::Run {
                command: "git push origin main".into(),
                cwd: "/p".into(),
            },
            reason: "no rule covers it".into(),
            input: json!({"command": "git push origin main"}),
            rules: vec!["run(=git push origin main)".into(), "run(git push)".into()],
        };
        let (answer, shown) = ask(subject, typed);
        assert!(
            shown.contains("in /p\n") && shown.contains("s2, p2, a2: allow everything that matches run(git push)"),
            "{shown}"
        );
        answer
    }

    #[test]
    fn every_answer_has_a_letter_and_other_text_is_a_reason() {
        let approve = |scope, rule: Option<&str>| Answer::Approve {
            scope,
            rule: rule.map(Into::into),
        };
        for (typed, expected) in [
            ("Yes\n", Answer::once()),
            ("s\n", approve(GrantScope::Session, None)),
            ("p\n", approve(GrantScope::Project, None)),
            ("a\n", approve(GrantScope::Always, None)),
            ("p2\n", approve(GrantScope::Project, Some("run(git push)"))),
            ("n\n", Answer::Reject { reason: None }),
            ("\n", Answer::Reject { reason: None }),
            ("", Answer::Reject { reason: None }),
            (
                "use the staging server\n",
                Answer::Reject {
                    reason: Some("use the staging server".into()),
                },
            ),
            (
                "e\ngit push origin dev\n",
                Answer::Modify {
                    input: json!({"command": "git push origin dev"}),
                },
            ),
            (
                "e\n{\"command\": \"ls\", \"cwd\": \"src\"}\n",
                Answer::Modify {
                    input: json!({"command": "ls", "cwd": "src"}),
                },
            ),
            ("e\n\ny\n", Answer::once()),
        ] {
            assert_eq!(permission(typed), expected, "{typed:?}");
        }
    }

    #[test]
    fn a_question_shows_the_whole_text_of_the_model_without_control_characters() {
        let lines: String = (1..=60).map(|number| format!("echo {number}\n")).collect();
        let command = format!("{lines}rm -r ~\r\u{1b}[2K\u{9b}1Aecho hello");
        let subject = |command: &str| QuestionSubject::Permission {
            action: Action::Run {
                command: command.into(),
                cwd: "/p\n  permission: full\u{1b}[1A".into(),
            },
            reason: "no rule covers it".into(),
            input: json!({"command": command}),
            rules: vec!["run(=x)".into(), "run(x\u{1b}[2K\ny)".into()],
        };
        let (answer, shown) = ask(subject(&command), "e\n\nm\ny\n");
        assert_eq!(answer, Answer::once());
        assert!(!shown.contains(['\r', '\u{1b}', '\u{9b}']), "{shown:?}");
        assert!(!shown.contains("\n  permission: full"), "{shown}");
        let (short, whole) = shown.split_once("… 21 more lines").unwrap();
        assert!(
            !short.contains("rm -r ~") && whole.contains("  | rm -r ~ 1Aecho hello\n"),
            "{shown}"
        );
        assert!(shown.contains("[m]ore of it"), "{shown}");
        // If nothing is omitted, it is ordinary text.
        let answer = Answer::Reject {
            reason: Some("m".into()),
        };
        assert_eq!(ask(subject("ls"), "m\n").0, answer);
    }

    #[test]
    fn a_number_selects_a_choice_and_other_text_is_the_answer() {
        let subject = |several| QuestionSubject::Inquiry {
            question: "Which?".into(),
            choices: vec![("tabs".into(), None), ("spaces".into(), Some("two".into()))],
            multiple: several,
        };
        let answer = |several, typed| match ask(subject(several), typed).0 {
            Answer::Text { text } => text,
            other => format!("{other:?}"),
        };
        assert_eq!(answer(false, "2\n"), "spaces");
        assert_eq!(answer(true, "1, 2\n"), "tabs, spaces");
        assert_eq!(answer(false, "3\n"), "3");
        assert_eq!(answer(false, "both of them\n"), "both of them");
        assert_eq!(ask(subject(false), "\n").0, Answer::Reject { reason: None });
    }
}
