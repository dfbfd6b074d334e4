//! Runs the person's own programs around what a session does.
//!
//! A hook reads JSON from stdin. Exit code 0 means that all is well, and JSON on stdout may say more; exit code 2 blocks, and
//! what stands on stderr is the reason; any other end is a mishap that the person is told of, and nothing more. A hook that
//! judges a call and cannot be heard to its end leaves the judgement to the person.

use crate::config::{Hook, HookEvent};
use futures::future::{BoxFuture, FutureExt as _};
use policy::Ruling;
use sandbox::{Cap, Program, Request, Status};
use serde::Deserialize;
use serde_json::{Value, json};
use session::{Happening, Hooks, Moment, Reaction, SessionId};
use std::ffi::OsString;
use std::io::{Read, Seek, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::NamedTempFile;

/// How long a hook may take where it does not say so itself.
const USUAL: Duration = Duration::from_secs(60);
/// As much as is read of what a hook prints.
const OUTPUT: Cap = Cap { head: 32_000, tail: 0 };
/// As much of a hook's words as reaches the model.
const MOST_WORDS: usize = 10_000;
/// Gives a command its stdin and takes its stderr apart from its stdout.
const WRAPPER: &str = "exec < \"$1\" 2> \"$2\" && eval \"$3\"";

/// The hooks of a session.
pub(crate) struct Runner {
    /// What there is to run.
    pub(crate) hooks: Vec<Hook>,
    /// The project's folder, in which hooks run.
    pub(crate) root: PathBuf,
    /// The variables that they see.
    pub(crate) environment: sandbox::Environment,
    /// Where files lie through which they are spoken with: nowhere that a command in the sandbox could write.
    pub(crate) folder: PathBuf,
}

impl Hooks for Runner {
    fn hears(&self, moment: Moment) -> bool {
        self.hooks.iter().any(|hook| Moment::from(hook.event) == moment)
    }

    fn call(&self, session: SessionId, happening: Happening) -> BoxFuture<'static, Reaction> {
        let moment = happening.moment();
        let tool = match &happening {
            Happening::PreToolUse { tool, .. } | Happening::PostToolUse { tool, .. } => Some(tool.clone()),
            Happening::SessionStart { .. }
            | Happening::UserPromptSubmit { .. }
            | Happening::Notification { .. }
            | Happening::Stop { .. }
            | Happening::PreCompact { .. }
            | Happening::SessionEnd => None,
        };
        let wanted = self.hooks.iter().filter(|hook| Moment::from(hook.event) == moment);
        let wanted: Vec<Hook> = wanted.filter(|hook| fits(hook, tool.as_deref())).cloned().collect();
        let (root, environment, folder) = (self.root.clone(), self.environment.clone(), self.folder.clone());
        async move {
            let mut reaction = Reaction::default();
            let mut happening = happening;
            for hook in wanted {
                let input = describe(session, hook.event, &happening, &root);
                let said = run(&hook, &input, &root, &environment, &folder).await;
                combine(&mut reaction, &mut happening, said);
                if matches!(reaction.ruling, Ruling::Deny(_)) {
                    break;
                }
            }
            reaction
        }
        .boxed()
    }
}

fn fits(hook: &Hook, tool: Option<&str>) -> bool {
    match (&hook.matcher, tool) {
        (Some(pattern), Some(tool)) => pattern.split('|').any(|pattern| {
            let pattern = pattern.trim();
            pattern == "*" || glob(pattern.as_bytes(), tool.as_bytes())
        }),
        (None, _) | (Some(_), None) => true,
    }
}

/// `*` stands for anything.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => glob(rest, text) || text.split_first().is_some_and(|(_, text)| glob(pattern, text)),
        (Some((a, pattern)), Some((b, text))) => a == b && glob(pattern, text),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// What a hook reads.
fn describe(session: SessionId, event: HookEvent, happening: &Happening, root: &Path) -> Value {
    let mut value = match happening {
        Happening::SessionStart { resumed } => json!({ "resumed": resumed }),
        Happening::UserPromptSubmit { prompt } => json!({ "prompt": prompt }),
        Happening::PreToolUse { call, tool, input } => {
            json!({ "tool_call_id": call.as_str(), "tool_name": tool, "tool_input": input })
        }
        Happening::PostToolUse {
            call,
            tool,
            input,
            output,
            ok,
        } => json!({
            "tool_call_id": call.as_str(), "tool_name": tool, "tool_input": input, "tool_output": output, "ok": ok,
        }),
        Happening::Notification { text } => json!({ "message": text }),
        Happening::Stop { answer, again } => json!({ "answer": answer, "stop_hook_active": again }),
        Happening::PreCompact { manual } => json!({ "trigger": if *manual { "manual" } else { "auto" } }),
        Happening::SessionEnd => json!({}),
    };
    if let Some(object) = value.as_object_mut() {
        object.insert("event".into(), json!(event));
        object.insert("session_id".into(), json!(session.to_string()));
        object.insert("cwd".into(), json!(root.display().to_string()));
    }
    value
}

/// What a hook may print.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Printed {
    decision: Option<Decision>,
    reason: Option<String>,
    input: Option<Value>,
    context: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Decision {
    #[serde(alias = "approve")]
    Allow,
    #[serde(alias = "block")]
    Deny,
    Ask,
}

/// Makes the files through which a hook is spoken with, its stdin and its stderr, where nobody else can get at them.
fn files(folder: &Path, input: &Value) -> std::io::Result<(NamedTempFile, NamedTempFile)> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let stdin = NamedTempFile::new_in(folder)?;
    stdin.as_file().write_all(input.to_string().as_bytes())?;
    Ok((stdin, NamedTempFile::new_in(folder)?))
}

async fn run(hook: &Hook, input: &Value, root: &Path, environment: &sandbox::Environment, folder: &Path) -> Reaction {
    let mishap = |why: String| Reaction {
        notices: vec![format!("the hook `{}` {why}", first_line(&hook.command))],
        ..Reaction::default()
    };
    // A hook that was to judge a call and could not.
    let unheard = |why: String| {
        let mut reaction = mishap(why);
        if hook.event == HookEvent::PreToolUse {
            reaction.ruling = Ruling::Ask(reaction.notices.concat());
        }
        reaction
    };
    let (stdin, mut stderr) = match files(folder, input) {
        Ok(files) => files,
        Err(error) => return unheard(format!("was not run: {error}")),
    };
    let arguments = [
        "-c".into(),
        WRAPPER.into(),
        "hook".into(),
        stdin.path().into(),
        stderr.path().into(),
        OsString::from(&hook.command),
    ];
    let limit = hook.timeout.map_or(USUAL, |span| span.0);
    let request = Request {
        program: Program::Exec {
            program: "sh".into(),
            args: arguments.into(),
        },
        cwd: root.into(),
        environment: environment.clone(),
        timeout: Some(limit),
        grace: Request::GRACE,
        output: OUTPUT,
        terminal: None,
    };
    let exit = match sandbox::spawn(&request) {
        Ok(mut process) => process.exit().await,
        Err(error) => return unheard(format!("was not run: {error}")),
    };
    let mut complaint = Vec::new();
    let read = stderr
        .rewind()
        .and_then(|()| stderr.as_file_mut().take(MOST_WORDS as u64).read_to_end(&mut complaint));
    let complaint = match read {
        Ok(_) => String::from_utf8_lossy(&complaint).trim().to_string(),
        Err(_) => String::new(),
    };
    match exit.status {
        Status::Exited(0) => understand(&exit.output.head),
        Status::Exited(2) => {
            let why = if complaint.is_empty() {
                "no reason given".into()
            } else {
                complaint
            };
            Reaction {
                ruling: Ruling::Deny(why),
                ..Reaction::default()
            }
        }
        // A shell's words for what cannot be run and what is not there.
        Status::Exited(126 | 127) => unheard(format!("could not be started: {}", first_line(&complaint))),
        Status::Exited(code) => mishap(format!("ended with exit code {code}: {}", first_line(&complaint))),
        Status::TimedOut => unheard(format!("took longer than {} s and was stopped", limit.as_secs_f64())),
        Status::Signalled(signal) => unheard(format!("was ended by signal {signal}")),
        Status::Unknown => unheard("ended in an unknown way".into()),
    }
}

/// What a hook printed: JSON, or plain words for the model.
fn understand(output: &str) -> Reaction {
    let output = output.trim();
    let printed = match serde_json::from_str::<Printed>(output) {
        Ok(printed) => printed,
        Err(_) if output.is_empty() => Printed::default(),
        Err(_) => Printed {
            context: Some(output.into()),
            ..Printed::default()
        },
    };
    let reason = printed.reason.unwrap_or_else(|| "a hook says so".into());
    Reaction {
        ruling: match printed.decision {
            Some(Decision::Allow) => Ruling::Allow,
            Some(Decision::Deny) => Ruling::Deny(bounded(&reason)),
            Some(Decision::Ask) => Ruling::Ask(bounded(&reason)),
            None => Ruling::Silent,
        },
        input: printed.input,
        context: printed
            .context
            .map(|words| bounded(&words))
            .filter(|words| !words.is_empty()),
        notices: Vec::new(),
    }
}

/// Adds what one hook said to what those before it said: deny before ask before allow, and the next sees the new input.
fn combine(all: &mut Reaction, happening: &mut Happening, said: Reaction) {
    all.ruling = match (std::mem::replace(&mut all.ruling, Ruling::Silent), said.ruling) {
        (_, Ruling::Deny(why)) | (Ruling::Deny(why), _) => Ruling::Deny(why),
        (_, Ruling::Ask(why)) | (Ruling::Ask(why), _) => Ruling::Ask(why),
        (Ruling::Allow, _) | (_, Ruling::Allow) => Ruling::Allow,
        (Ruling::Silent, Ruling::Silent) => Ruling::Silent,
    };
    if let Some(new) = said.input {
        if let Happening::PreToolUse { input, .. } = happening {
            *input = new.clone();
        }
        all.input = Some(new);
    }
    all.context = match (all.context.take(), said.context) {
        (Some(before), Some(more)) => Some(format!("{before}\n{more}")),
        (before, more) => before.or(more),
    };
    all.notices.extend(said.notices);
}

fn bounded(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MOST_WORDS) {
        Some((at, _)) => format!("{}\n[cut]", &text[..at]),
        None => text.into(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The hooks of a session: nobody's where there are none.
pub(crate) fn hooks(
    hooks: Vec<Hook>,
    root: &Path,
    environment: sandbox::Environment,
    folder: PathBuf,
) -> Arc<dyn Hooks> {
    Arc::new(Runner {
        hooks,
        root: root.into(),
        environment,
        folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(event: HookEvent, matcher: Option<&str>, command: &str) -> Hook {
        Hook {
            event,
            matcher: matcher.map(Into::into),
            command: command.into(),
            timeout: Some(crate::config::Span(Duration::from_secs(20))),
        }
    }

    async fn before(hooks: Vec<Hook>) -> Reaction {
        let temp = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let environment = sandbox::Environment::scrubbed([("PATH".into(), path)], &[] as &[&str], &[] as &[&str]);
        let runner = Runner {
            hooks,
            root: temp.path().into(),
            environment,
            folder: temp.path().join("data/hooks"),
        };
        let happening = Happening::PreToolUse {
            call: "c".into(),
            tool: "terminal".into(),
            input: json!({"command": "rm -r build"}),
        };
        runner.call(SessionId::new(), happening).await
    }

    #[tokio::test]
    async fn exit_code_two_blocks_with_the_words_on_stderr_and_others_are_mishaps() {
        let pre = HookEvent::PreToolUse;
        let blocked = before(vec![hook(
            pre,
            None,
            "grep -q '\"tool_name\":\"terminal\"' && echo 'not that' >&2 && exit 2",
        )])
        .await;
        assert_eq!(blocked.ruling, Ruling::Deny("not that".into()));
        let broken = before(vec![hook(pre, None, "echo oh >&2; exit 3")]).await;
        assert_eq!(broken.ruling, Ruling::Silent);
        assert_eq!(
            broken.notices,
            ["the hook `echo oh >&2; exit 3` ended with exit code 3: oh"]
        );
        let slow = Hook {
            timeout: Some(crate::config::Span(Duration::from_millis(50))),
            ..hook(pre, None, "sleep 30")
        };
        let slow = before(vec![slow]).await;
        assert!(slow.notices[0].contains("took longer than 0.05 s"), "{slow:?}");
        let missing = before(vec![hook(pre, None, "exec ./is-not-there")]).await;
        for unheard in [slow, missing] {
            assert!(
                matches!(&unheard.ruling, Ruling::Ask(why) if *why == unheard.notices[0]),
                "{unheard:?}"
            );
        }
        let other = before(vec![
            hook(pre, Some("edit_*|write_file"), "exit 2"),
            hook(HookEvent::Stop, None, "exit 2"),
        ])
        .await;
        assert_eq!(other, Reaction::default());
    }

    #[tokio::test]
    async fn what_a_hook_reads_lies_in_a_folder_of_its_owner_alone() {
        let command = r#"f=$(readlink /proc/self/fd/0) && d=${f%/*} && echo "${d##*/} $(stat -c %a "$d")""#;
        let said = before(vec![hook(HookEvent::PreToolUse, None, command)]).await;
        assert_eq!(said.context.as_deref(), Some("hooks 700"));
    }

    #[tokio::test]
    async fn what_a_hook_prints_decides_changes_and_adds() {
        let pre = HookEvent::PreToolUse;
        let first = r#"echo '{"decision": "allow", "input": {"command": "ls"}, "context": "one"}'"#;
        let second = r#"grep -q '"command":"ls"' && echo '{"decision": "ask", "reason": "sure?", "context": "two"}'"#;
        let said = before(vec![hook(pre, Some("term*"), first), hook(pre, None, second)]).await;
        assert_eq!(said.ruling, Ruling::Ask("sure?".into()));
        assert_eq!(said.input, Some(json!({"command": "ls"})));
        assert_eq!(said.context.as_deref(), Some("one\ntwo"));
        let words = before(vec![hook(pre, None, "echo mind the step")]).await;
        assert_eq!(words.context.as_deref(), Some("mind the step"));
    }
}
