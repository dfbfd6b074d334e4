//! Runs the user's hooks at events of a session.
//!
//! A hook reads JSON from stdin. Exit code 0 means success, and stdout may contain a decision as JSON; exit code 2
//! blocks, with the reason on stderr; any other end is reported to the user and has no effect. If a hook that decides
//! about a call cannot run to its end, the user decides.

use crate::config::HookConfig;
use futures::future::{BoxFuture, FutureExt as _};
use policy::Ruling;
use sandbox::{CaptureCap, Confinement, OutputCapture, PipedProcess, ProcessAccess, ProcessStatus, Program};
use serde::Deserialize;
use serde_json::{Value, json};
use session::{HookEvent, HookKind, HookOutcome, Hooks, SessionId};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};

/// The default time limit of a hook.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// How much of the output of a hook is read.
const OUTPUT: CaptureCap = CaptureCap { head: 32_000, tail: 0 };
/// The maximum length of text from a hook.
const MAX_CHARS: usize = 10_000;
/// How long the rest of the output is awaited after the end of a hook.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(200);

/// The hooks of a session.
pub struct ShellHooks {
    /// The hooks.
    pub hooks: Vec<HookConfig>,
    /// The project directory, in which hooks run.
    pub root: PathBuf,
    /// Their environment.
    pub environment: sandbox::ProcessEnvironment,
    /// Their confinement; without one, only their process groups end with them.
    pub confinement: Option<Confinement>,
}

impl Hooks for ShellHooks {
    fn is_registered(&self, kind: HookKind) -> bool {
        self.hooks.iter().any(|hook| hook.event == kind)
    }

    fn call(&self, session: SessionId, event: HookEvent) -> BoxFuture<'static, HookOutcome> {
        let kind = event.kind();
        let tool = match &event {
            HookEvent::PreToolUse { tool, .. } | HookEvent::PostToolUse { tool, .. } => Some(tool.clone()),
            HookEvent::SessionStart { .. }
            | HookEvent::UserPromptSubmit { .. }
            | HookEvent::Notification { .. }
            | HookEvent::Stop { .. }
            | HookEvent::PreCompact { .. }
            | HookEvent::SessionEnd => None,
        };
        let hooks = self.hooks.iter().filter(|hook| hook.event == kind);
        let hooks: Vec<HookConfig> = hooks
            .filter(|hook| matches_tool(hook, tool.as_deref()))
            .cloned()
            .collect();
        let (root, environment) = (self.root.clone(), self.environment.clone());
        let confinement = self.confinement.clone();
        async move {
            let mut combined = HookOutcome::default();
            let mut event = event;
            for hook in hooks {
                let input = hook_input(session, hook.event, &event, &root);
                let confinement = confinement.as_ref().map(|base| base.with_access(&access(&hook)));
                let outcome = run(&hook, &input, &root, &environment, confinement.as_ref()).await;
                combine(&mut combined, &mut event, outcome);
                if matches!(combined.ruling, Ruling::Deny(_)) {
                    break;
                }
            }
            combined
        }
        .boxed()
    }
}

fn matches_tool(hook: &HookConfig, tool: Option<&str>) -> bool {
    match (&hook.matcher, tool) {
        (Some(pattern), Some(tool)) => pattern.split('|').any(|pattern| {
            let pattern = pattern.trim();
            pattern == "*" || glob(pattern.as_bytes(), tool.as_bytes())
        }),
        (None, _) | (Some(_), None) => true,
    }
}

/// Matches a pattern in which `*` matches any characters.
fn glob(pattern: &[u8], text: &[u8]) -> bool {
    match (pattern.split_first(), text.split_first()) {
        (None, None) => true,
        (Some((b'*', rest)), _) => glob(rest, text) || text.split_first().is_some_and(|(_, text)| glob(pattern, text)),
        (Some((a, pattern)), Some((b, text))) => a == b && glob(pattern, text),
        (None, Some(_)) | (Some(_), None) => false,
    }
}

/// The input of a hook.
fn hook_input(session: SessionId, name: HookKind, event: &HookEvent, root: &Path) -> Value {
    let mut value = match event {
        HookEvent::SessionStart { resumed } => json!({ "resumed": resumed }),
        HookEvent::UserPromptSubmit { prompt } => json!({ "prompt": prompt }),
        HookEvent::PreToolUse { call, tool, input } => {
            json!({ "tool_call_id": call.as_str(), "tool_name": tool, "tool_input": input })
        }
        HookEvent::PostToolUse {
            call,
            tool,
            input,
            output,
            ok,
        } => json!({
            "tool_call_id": call.as_str(), "tool_name": tool, "tool_input": input, "tool_output": output, "ok": ok,
        }),
        HookEvent::Notification { text } => json!({ "message": text }),
        HookEvent::Stop {
            answer,
            stop_hook_active: again,
        } => json!({ "answer": answer, "stop_hook_active": again }),
        HookEvent::PreCompact { manual } => json!({ "trigger": if *manual { "manual" } else { "auto" } }),
        HookEvent::SessionEnd => json!({}),
    };
    if let Some(object) = value.as_object_mut() {
        object.insert("event".into(), json!(name));
        object.insert("session_id".into(), json!(session.to_string()));
        object.insert("cwd".into(), json!(root.display().to_string()));
    }
    value
}

/// What a hook may do in addition to the profile of hooks.
fn access(hook: &HookConfig) -> ProcessAccess {
    ProcessAccess {
        unconfined: hook.sandbox == Some(false),
        network: hook.network == Some(true),
        write: hook.write.iter().map(PathBuf::from).collect(),
    }
}

/// The output of a hook.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HookOutput {
    decision: Option<HookDecision>,
    reason: Option<String>,
    input: Option<Value>,
    context: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum HookDecision {
    #[serde(alias = "approve")]
    Allow,
    #[serde(alias = "block")]
    Deny,
    Ask,
}

async fn run(
    hook: &HookConfig,
    input: &Value,
    root: &Path,
    environment: &sandbox::ProcessEnvironment,
    confinement: Option<&Confinement>,
) -> HookOutcome {
    let notice = |why: String| HookOutcome {
        notices: vec![format!("the hook `{}` {why}", first_line(&hook.command))],
        ..HookOutcome::default()
    };
    // The user decides if the hook could not decide about a call.
    let undecided = |why: String| {
        let mut reaction = notice(why);
        if hook.event == HookKind::PreToolUse {
            reaction.ruling = Ruling::Ask(reaction.notices.concat());
        }
        reaction
    };
    let limit = hook.timeout.map_or(DEFAULT_TIMEOUT, |span| span.0);
    let program = Program::Shell(hook.command.clone());
    let started = PipedProcess::start(&program, root, environment, confinement);
    let (mut process, mut stdin, stdout) = match started {
        Ok(started) => started,
        Err(error) => return undecided(format!("was not run: {error}")),
    };
    let input = input.to_string();
    let mut reading = tokio::spawn(read_output(stdout));
    let work = async {
        // A hook need not read its input.
        let write = async {
            drop(stdin.write_all(input.as_bytes()).await);
            drop(stdin);
        };
        tokio::join!(write, process.wait()).1
    };
    let status = tokio::time::timeout(limit, work)
        .await
        .unwrap_or(ProcessStatus::TimedOut);
    let stderr = process.stderr();
    drop(process);
    // A background process may keep the output open.
    let output = match tokio::time::timeout(DRAIN_TIMEOUT, &mut reading).await {
        Ok(output) => output.unwrap_or_default(),
        Err(_) => String::new(),
    };
    reading.abort();
    let mut complaint = format!("{}{}", stderr.head, stderr.tail).trim().to_owned();
    complaint.truncate(complaint.floor_char_boundary(MAX_CHARS));
    match status {
        ProcessStatus::Exited(0) => parse_output(&output),
        ProcessStatus::Exited(2) => {
            let why = if complaint.is_empty() {
                "no reason given".into()
            } else {
                complaint
            };
            HookOutcome {
                ruling: Ruling::Deny(why),
                ..HookOutcome::default()
            }
        }
        // The shell's exit codes for programs that cannot be run or do not exist.
        ProcessStatus::Exited(126 | 127) => undecided(format!("could not be started: {}", first_line(&complaint))),
        ProcessStatus::Exited(code) => notice(format!("ended with exit code {code}: {}", first_line(&complaint))),
        ProcessStatus::TimedOut => undecided(format!("took longer than {} s and was stopped", limit.as_secs_f64())),
        ProcessStatus::Signalled(signal) => undecided(format!("was ended by signal {signal}")),
        ProcessStatus::Unknown => undecided("ended for an unknown reason".into()),
    }
}

/// Reads all output of a hook, and returns the start of it.
async fn read_output(mut stdout: impl AsyncRead + Unpin) -> String {
    let mut capture = OutputCapture::new(OUTPUT);
    let mut buffer = vec![0; OUTPUT.head];
    while let Ok(count @ 1..) = stdout.read(&mut buffer).await {
        capture.add(&buffer[..count]);
    }
    capture.finish().head
}

/// Parses the output of a hook: JSON, or plain text for the model.
fn parse_output(output: &str) -> HookOutcome {
    let output = output.trim();
    let printed = match serde_json::from_str::<HookOutput>(output) {
        Ok(printed) => printed,
        Err(_) if output.is_empty() => HookOutput::default(),
        Err(_) => HookOutput {
            context: Some(output.into()),
            ..HookOutput::default()
        },
    };
    let reason = printed.reason.unwrap_or_else(|| "decided by a hook".into());
    HookOutcome {
        ruling: match printed.decision {
            Some(HookDecision::Allow) => Ruling::Allow,
            Some(HookDecision::Deny) => Ruling::Deny(truncated(&reason)),
            Some(HookDecision::Ask) => Ruling::Ask(truncated(&reason)),
            None => Ruling::Silent,
        },
        input: printed.input,
        context: printed
            .context
            .map(|words| truncated(&words))
            .filter(|words| !words.is_empty()),
        notices: Vec::new(),
    }
}

/// Merges the outcome of a hook into that of the previous ones: deny takes precedence over ask, and ask over allow.
/// The next hook sees the changed input.
fn combine(all: &mut HookOutcome, event: &mut HookEvent, outcome: HookOutcome) {
    all.ruling = match (std::mem::replace(&mut all.ruling, Ruling::Silent), outcome.ruling) {
        (_, Ruling::Deny(why)) | (Ruling::Deny(why), _) => Ruling::Deny(why),
        (_, Ruling::Ask(why)) | (Ruling::Ask(why), _) => Ruling::Ask(why),
        (Ruling::Allow, _) | (_, Ruling::Allow) => Ruling::Allow,
        (Ruling::Silent, Ruling::Silent) => Ruling::Silent,
    };
    if let Some(new) = outcome.input {
        if let HookEvent::PreToolUse { input, .. } = event {
            *input = new.clone();
        }
        all.input = Some(new);
    }
    all.context = match (all.context.take(), outcome.context) {
        (Some(before), Some(more)) => Some(format!("{before}\n{more}")),
        (before, more) => before.or(more),
    };
    all.notices.extend(outcome.notices);
}

fn truncated(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MAX_CHARS) {
        Some((at, _)) => format!("{}\n[cut]", &text[..at]),
        None => text.into(),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Creates the hooks of a session.
pub fn hooks(
    hooks: Vec<HookConfig>,
    root: &Path,
    environment: sandbox::ProcessEnvironment,
    confinement: Option<Confinement>,
) -> Arc<dyn Hooks> {
    Arc::new(ShellHooks {
        hooks,
        root: root.into(),
        environment,
        confinement,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(event: HookKind, matcher: Option<&str>, command: &str) -> HookConfig {
        HookConfig {
            event,
            matcher: matcher.map(Into::into),
            command: command.into(),
            timeout: Some(crate::config::HumanDuration(Duration::from_secs(20))),
            sandbox: None,
            network: None,
            write: Vec::new(),
        }
    }

    async fn before(hooks: Vec<HookConfig>) -> HookOutcome {
        let temp = tempfile::tempdir().unwrap();
        let path = env!("PATH").into();
        let environment =
            sandbox::ProcessEnvironment::scrubbed([("PATH".into(), path)], &[] as &[&str], &[] as &[&str]);
        let runner = ShellHooks {
            hooks,
            root: temp.path().into(),
            environment,
            confinement: None,
        };
        let event = HookEvent::PreToolUse {
            call: "c".into(),
            tool: "terminal".into(),
            input: json!({"command": "rm -r build"}),
        };
        runner.call(SessionId::new(), event).await
    }

    #[tokio::test]
    async fn exit_code_two_blocks_with_the_text_on_stderr_and_others_are_reported() {
        let pre = HookKind::PreToolUse;
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
        let slow = HookConfig {
            timeout: Some(crate::config::HumanDuration(Duration::from_millis(50))),
            ..hook(pre, None, "sleep 30")
        };
        let slow = before(vec![slow]).await;
        assert!(slow.notices[0].contains("took longer than 0.05 s"), "{slow:?}");
        let missing = before(vec![hook(pre, None, "exec ./is-not-there")]).await;
        for undecided in [slow, missing] {
            assert!(
                matches!(&undecided.ruling, Ruling::Ask(why) if *why == undecided.notices[0]),
                "{undecided:?}"
            );
        }
        let other = before(vec![
            hook(pre, Some("edit_*|write_file"), "exit 2"),
            hook(HookKind::Stop, None, "exit 2"),
        ])
        .await;
        assert_eq!(other, HookOutcome::default());
    }

    #[tokio::test]
    async fn a_hook_that_ignores_its_input_or_leaves_a_process_does_not_block() {
        let outcome = before(vec![hook(HookKind::PreToolUse, None, "sleep 60 & echo done")]).await;
        assert!(
            outcome.context.as_deref().is_none_or(|text| text == "done"),
            "{outcome:?}"
        );
        assert_eq!(outcome.ruling, Ruling::Silent);
    }

    #[tokio::test]
    async fn the_output_of_a_hook_decides_changes_the_input_and_adds_context() {
        let pre = HookKind::PreToolUse;
        let first = r#"echo '{"decision": "allow", "input": {"command": "ls"}, "context": "one"}'"#;
        let second = r#"grep -q '"command":"ls"' && echo '{"decision": "ask", "reason": "sure?", "context": "two"}'"#;
        let outcome = before(vec![hook(pre, Some("term*"), first), hook(pre, None, second)]).await;
        assert_eq!(outcome.ruling, Ruling::Ask("sure?".into()));
        assert_eq!(outcome.input, Some(json!({"command": "ls"})));
        assert_eq!(outcome.context.as_deref(), Some("one\ntwo"));
        let words = before(vec![hook(pre, None, "echo mind the step")]).await;
        assert_eq!(words.context.as_deref(), Some("mind the step"));
    }
}
