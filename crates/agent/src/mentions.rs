//! Looks up the mentions of a prompt and appends their content to it.
//!
//! A mention written by the user needs no approval, unless it only resembles one or approvals cannot be requested. Denied
//! and hidden files stay inaccessible.

use crate::Approvals;
use crate::prompts::PromptCommand;
use crate::session::Session;
use crate::turn::approval::MentionIntent;
use crate::turn::calls::touched_paths;
use futures::FutureExt as _;
use futures::future::{BoxFuture, join_all};
use model::{CallId, Media, Message, Part, PartOrigin, Role};
use prompt::{CommandOwner, MentionCertainty, MentionedContent, PromptMention};
use serde_json::Value;
use session::NoticeLevel;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use tool::{
    CallContext, CallInput, ContextContent, ContextError, ContextFound, ContextOutput, ContextRequest, ContextRunner,
    SymbolDefinition,
};

/// The maximum size of all mentioned content, in addition to the token budget.
const MAX_BYTES: usize = 200_000;
/// The start of piped input.
const STDIN_START: &str = "\n\n<stdin>\n";
/// The maximum size of another session's transcript.
const THREAD_BYTES: usize = 40_000;

/// Appends the command and the content of all mentions to a prompt. Returns it with the paths that were read. Notifies the
/// user of mentions that could not be resolved.
pub(crate) async fn resolve(
    session: &Session,
    mut message: Message,
    command: Option<PromptCommand>,
) -> (Message, Vec<PathBuf>) {
    // The prompt of a subtask was written by a model, whose reads need an approval.
    if session.env.depth > 0 {
        return (message, Vec::new());
    }
    let mentions = collect(session, &message, command.as_ref());
    let command = command.map(|command| Part::with_origin(command.expanded.text, PartOrigin::Command));
    message.parts.extend(command);
    if mentions.is_empty() {
        return (message, Vec::new());
    }
    let lookups = mentions
        .iter()
        .map(|(mention, intent)| look_up(session, mention, *intent));
    let (mut contents, mut media, mut touched) = (Vec::new(), Vec::new(), Vec::new());
    for ((mention, _), found) in mentions.iter().zip(join_all(lookups).await) {
        match found {
            Ok(found) => {
                contents.extend(found.contents);
                media.extend(found.media);
                touched.extend(found.touched);
            }
            Err(_) if is_guess(mention) => {}
            Err(ContextError::NotFound(_)) if is_ambiguous(mention) => {}
            Err(why) => {
                let text = format!("not included: {}: {why}", name(mention));
                session.env.notice(NoticeLevel::Warning, text).await;
            }
        }
    }
    let budget = session.turn.frame.budget;
    let bytes = budget.map_or(MAX_BYTES, |budget| {
        budget.family.bytes(budget.mentions()).min(MAX_BYTES)
    });
    if let Some(context) = prompt::mention_context(&contents, bytes) {
        for cut in context.cut {
            session.env.notice(NoticeLevel::Info, cut).await;
        }
        let context = Part::with_origin(context.text, PartOrigin::Mention);
        message.parts.push(context);
    }
    message.parts.extend(media.into_iter().map(Part::Media));
    (message, touched)
}

/// The mentions of a prompt and its command. Piped input and attached files are not searched.
fn collect(
    session: &Session,
    message: &Message,
    command: Option<&PromptCommand>,
) -> Vec<(PromptMention, MentionIntent)> {
    let explicit = match session.env.config.approvals {
        Approvals::Deny => MentionIntent::Possible,
        Approvals::Ask => MentionIntent::Explicit,
    };
    let mut found: Vec<(PromptMention, MentionIntent)> = Vec::new();
    let mut add = |text: &str, intent: MentionIntent| {
        for mention in prompt::parse_mentions(text) {
            if !found.iter().any(|(known, _)| *known == mention) {
                let intent = if is_guess(&mention) {
                    MentionIntent::Possible
                } else {
                    intent
                };
                found.push((mention, intent));
            }
        }
    };
    for part in &message.parts {
        match part {
            Part::Text {
                text,
                origin: PartOrigin::Author,
                ..
            } => {
                add(text.split(STDIN_START).next().unwrap_or(text), explicit);
            }
            Part::Text { .. }
            | Part::Thinking { .. }
            | Part::ToolCall { .. }
            | Part::ToolResult { .. }
            | Part::Media(_) => {}
        }
    }
    if let Some(command) = command {
        let intent = match command.owner {
            CommandOwner::User => explicit,
            CommandOwner::Project => MentionIntent::Possible,
        };
        add(&command.expanded.body, intent);
    }
    found
}

/// The content of a mention.
#[derive(Default)]
struct FoundMention {
    contents: Vec<MentionedContent>,
    media: Vec<Media>,
    touched: Vec<PathBuf>,
}

impl From<MentionedContent> for FoundMention {
    fn from(content: MentionedContent) -> Self {
        FoundMention {
            contents: vec![content],
            ..FoundMention::default()
        }
    }
}

/// Returns whether the text may only resemble a mention.
fn is_guess(mention: &PromptMention) -> bool {
    match mention {
        PromptMention::Path { certainty, .. } => *certainty == MentionCertainty::Guessed,
        // A word after `#` is often an ordinary word, unless it is written like an identifier.
        PromptMention::Symbol(name) => {
            let is_hump = |pair: &[char]| pair[0].is_lowercase() && pair[1].is_uppercase();
            let letters: Vec<char> = name.chars().collect();
            !name.contains(['_', ':', '.']) && !letters.windows(2).any(is_hump)
        }
        PromptMention::Thread(_)
        | PromptMention::Url(_)
        | PromptMention::Rule(_)
        | PromptMention::Diff
        | PromptMention::Diagnostics
        | PromptMention::Codebase(_) => false,
    }
}

/// Returns whether the mention may be a name of something else than a path.
fn is_ambiguous(mention: &PromptMention) -> bool {
    matches!(
        mention,
        PromptMention::Path {
            certainty: MentionCertainty::Ambiguous,
            ..
        }
    )
}

/// The mention as the user wrote it.
fn name(mention: &PromptMention) -> String {
    match mention {
        PromptMention::Path { path, .. } => format!("@{path}"),
        PromptMention::Symbol(name) => format!("#{name}"),
        PromptMention::Thread(id) => format!("@thread:{id}"),
        PromptMention::Url(url) => format!("@{url}"),
        PromptMention::Rule(name) => format!("@rule:{name}"),
        PromptMention::Diff => "@diff".into(),
        PromptMention::Diagnostics => "@diagnostics".into(),
        PromptMention::Codebase(words) => format!("@codebase {words}"),
    }
}

/// Looks up a mention.
async fn look_up(
    session: &Session,
    mention: &PromptMention,
    intent: MentionIntent,
) -> Result<FoundMention, ContextError> {
    let request = match mention {
        PromptMention::Path { path, lines: None, .. } => ContextRequest::Path(path.clone()),
        PromptMention::Path {
            path,
            lines: Some(lines),
            ..
        } => ContextRequest::Lines {
            path: path.clone(),
            lines: lines.clone(),
        },
        PromptMention::Symbol(name) => ContextRequest::Symbol(name.clone()),
        PromptMention::Url(url) => ContextRequest::Url(url.clone()),
        PromptMention::Diff => ContextRequest::Diff,
        PromptMention::Diagnostics => ContextRequest::Diagnostics,
        PromptMention::Codebase(words) => ContextRequest::Codebase(words.clone()),
        PromptMention::Rule(name) => return saved_prompt(session, name).await,
        PromptMention::Thread(id) => return thread(session, id).await,
    };
    let runner = MentionRunner { session, intent };
    let ContextFound { content, touched, path } = session.env.config.context_source.read(&request, &runner).await?;
    let request = path.into_iter().fold(request, ContextRequest::with_path);
    Ok(FoundMention {
        touched,
        ..found(request, content)
    })
}

/// The content of a request in the form of the prompt.
fn found(request: ContextRequest, content: ContextContent) -> FoundMention {
    let name = request.name().to_owned();
    let content = match (content, request) {
        (ContextContent::Media(media), _) => {
            return FoundMention {
                media,
                ..FoundMention::default()
            };
        }
        (ContextContent::Symbols(definitions), _) => {
            let symbol = |SymbolDefinition { path, lines, text }| MentionedContent::Symbol {
                path,
                lines,
                name: name.clone(),
                text,
            };
            return FoundMention {
                contents: definitions.into_iter().map(symbol).collect(),
                ..FoundMention::default()
            };
        }
        (ContextContent::Folder(listing), _) => MentionedContent::Folder { path: name, listing },
        (ContextContent::Text(text), ContextRequest::Path(path) | ContextRequest::Symbol(path)) => {
            MentionedContent::File { path, text }
        }
        (ContextContent::Text(text), ContextRequest::Lines { path, lines }) => {
            MentionedContent::Selection { path, lines, text }
        }
        (ContextContent::Text(text), ContextRequest::Url(url)) => MentionedContent::Page { url, text },
        (ContextContent::Text(text), ContextRequest::Diff) => MentionedContent::Diff { text },
        (ContextContent::Text(text), ContextRequest::Diagnostics) => MentionedContent::Diagnostics { text },
        (ContextContent::Text(text), ContextRequest::Codebase(words)) => MentionedContent::Codebase { words, text },
    };
    content.into()
}

/// Runs the tools of a context source under the policy for mentions.
struct MentionRunner<'s> {
    session: &'s Session,
    intent: MentionIntent,
}

impl ContextRunner for MentionRunner<'_> {
    fn run<'a>(&'a self, tool: &'a str, input: Value) -> BoxFuture<'a, Result<ContextOutput, ContextError>> {
        run_without_asking(self.session, tool, input, self.intent).boxed()
    }
}

/// Runs a tool without asking the user.
pub(crate) async fn run_without_asking(
    session: &Session,
    tool: &str,
    input: Value,
    intent: MentionIntent,
) -> Result<ContextOutput, ContextError> {
    let config = &session.env.config;
    let missing = || ContextError::Failed(format!("it needs the tool {tool}, which is not available"));
    let tool = config.tools.get(tool).ok_or_else(missing)?;
    let (id, input) = (CallId::from("mention"), CallInput::from(input));
    let approver = session.approver(Some(id.clone()), &tool.spec().name);
    let crashed = |_| ContextError::Failed(format!("`{}` crashed; this is a bug in hew", tool.spec().name));
    // A panic in a tool ends that tool, not the session.
    let actions = catch_unwind(AssertUnwindSafe(|| tool.actions(&input))).map_err(crashed)?;
    let actions = actions.map_err(failed)?;
    approver.check_mention(&actions, intent)?;
    let context = CallContext {
        session: session.turn.frame.affinity.clone().unwrap_or_default(),
        view: session.conversation.view,
        level: session.env.policy.level(),
        usage: session.env.usage.clone(),
        host: Arc::new(approver),
        ..CallContext::detached(id, session.turn.model.info().features)
    };
    let running = AssertUnwindSafe(Arc::clone(tool).run(input, context)).catch_unwind();
    let output = running.await.map_err(crashed)?.map_err(failed)?;
    let touched = touched_paths(actions);
    Ok(ContextOutput { output, touched })
}

fn failed(error: impl std::error::Error) -> ContextError {
    ContextError::Failed(error.to_string())
}

/// The text of a saved prompt or a rules file.
async fn saved_prompt(session: &Session, name: &str) -> Result<FoundMention, ContextError> {
    let (env, key) = (&session.env, name.to_owned());
    let saved = env.read_context(move |context| context.saved_prompt(&key)).await;
    let saved = saved.ok_or_else(|| ContextError::Failed("the lookup crashed".into()))?;
    let text = saved.map_err(failed)?;
    let name = name.to_owned();
    Ok(MentionedContent::Rule { name, text }.into())
}

/// The text of a message, without what hew added about the environment at that time.
fn transcript_text(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|part| match part {
        Part::Text { text, origin, .. } => match origin {
            PartOrigin::Rules | PartOrigin::Environment | PartOrigin::Hook | PartOrigin::Reminder => None,
            PartOrigin::Author
            | PartOrigin::Mention
            | PartOrigin::Attachment
            | PartOrigin::Command
            | PartOrigin::Shell
            | PartOrigin::Summary => Some(text.as_str()),
        },
        Part::Thinking { .. } | Part::ToolCall { .. } | Part::ToolResult { .. } | Part::Media(_) => None,
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

/// The end of another session's transcript.
async fn thread(session: &Session, id: &str) -> Result<FoundMention, ContextError> {
    let store = &session.env.config.store;
    let found = store.find(id).await.map_err(failed)?;
    let loaded = store.load(found).await.map_err(failed)?;
    let mut text = String::new();
    for item in prompt::visible_items(&loaded.items) {
        let Some(message) = item.message() else { continue };
        let content = transcript_text(message);
        if content.trim().is_empty() {
            continue;
        }
        text.push_str(match message.role {
            Role::User => "[user] ",
            Role::Assistant => "[agent] ",
        });
        text.push_str(content.trim());
        text.push('\n');
    }
    if text.len() > THREAD_BYTES {
        let from = text.ceil_char_boundary(text.len() - THREAD_BYTES);
        text = format!("({from} earlier bytes are left out)\n{}", &text[from..]);
    }
    let title = loaded.meta.title.unwrap_or_else(|| found.to_string());
    Ok(MentionedContent::Thread { title, text }.into())
}
