//! The JSON types of the HTTP API. The OpenAPI description is generated from them.

mod project_rows;

pub use project_rows::{
    CommandRow, FoundCode, JobInfo, ModeChoice, ModelRow, PanelInfo, PermissionRuleRow, RulesFileInfo, ServerInfo,
    SettingInfo,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An error.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorBody {
    /// The error.
    pub(super) error: ErrorDetail,
}

/// An error message and a hint.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ErrorDetail {
    /// The message.
    pub(super) message: String,
    /// A hint for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// The result of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OperationReport {
    /// A confirmation; empty if none is needed.
    pub message: String,
}

/// The client and the server.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ClientInfo {
    /// The id of the device.
    pub(super) device: String,
    /// Its name.
    pub(super) name: String,
    /// The value for the header `X-Hew-CSRF`, which changes with a cookie require.
    pub(super) csrf: String,
    /// The version of hew.
    pub(super) hew: String,
    /// The project of new sessions.
    pub(super) root: String,
    /// Whether the device may only read one session.
    pub(super) read_only: bool,
    /// The session of a share link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    /// Whether share links can be created.
    pub(super) share_links: bool,
}

/// A request to pair a device.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PairRequest {
    /// The one-time code of a pairing link, or the code of a share link.
    pub(super) code: String,
    /// The name of the device.
    #[serde(default)]
    pub(super) name: String,
    /// How the device identifies itself: with a cookie, or with a token in the header `Authorization`.
    #[serde(default)]
    pub(super) credential: CredentialKind,
}

/// How a device identifies itself.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum CredentialKind {
    /// An HttpOnly cookie that is renewed regularly.
    #[default]
    Cookie,
    /// A token for the header `Authorization: Bearer`.
    Bearer,
}

/// A paired device.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PairResult {
    /// The id of the device.
    pub(super) device: String,
    /// The token, if one was requested. It is not shown again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) token: Option<String>,
    /// The session of a share link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
}

/// A link that pairs a device, or shares a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LinkInfo {
    /// The address.
    pub(super) url: String,
    /// The code in it.
    pub(super) code: String,
    /// When it expires, in milliseconds since 1970.
    pub(super) expires_ms: u64,
    /// The address as a QR code: rows of `0` and `1`.
    pub(super) qr: Vec<String>,
}

/// A request to share a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ShareRequest {
    /// The lifetime of the link in hours, at most 720.
    #[serde(default = "default_share_hours")]
    pub(super) hours: u64,
}

fn default_share_hours() -> u64 {
    24
}

/// A device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DeviceInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// `cookie`, `bearer`, `share` for a browser with a share link, or `link` for such a link.
    pub kind: String,
    /// When it was paired, in milliseconds since 1970.
    pub created_ms: u64,
    /// When it was last used, in milliseconds since 1970.
    pub used_ms: u64,
    /// When it expires, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_ms: Option<u64>,
    /// The session of a share link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// A session in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionRow {
    /// Its id.
    pub(super) id: String,
    /// Its title.
    pub(super) title: Option<String>,
    /// The project's folder.
    pub(super) root: String,
    /// The model last used.
    pub(super) model: String,
    /// When it was created, in milliseconds since 1970.
    pub(super) created_ms: u64,
    /// When its newest item was added, in milliseconds since 1970.
    pub(super) updated_ms: u64,
    /// The number of items.
    pub(super) items: u64,
    /// The cost so far in US dollars.
    pub(super) cost_usd: f64,
    /// Its state.
    pub(super) state: SessionState,
}

/// The state of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum SessionState {
    /// Not open in this server.
    #[default]
    Stored,
    /// Open, without a running turn.
    Idle,
    /// A turn is running.
    Working,
    /// A turn waits for an answer.
    Waiting,
    /// Open in another process, which this server forwards requests to.
    Elsewhere,
}

/// A request for a new session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewSessionBody {
    /// The project's folder: the one in which the server was started, which is the default, one below it, or one with
    /// earlier sessions.
    #[serde(default)]
    pub(super) root: Option<String>,
    /// The first prompt.
    #[serde(default)]
    pub(super) prompt: Option<String>,
    /// The settings.
    #[serde(default)]
    pub(super) settings: Option<SettingsChange>,
}

/// A new title.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TitleBody {
    /// The title.
    pub(super) title: String,
}

/// A reference to a session.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SessionRefBody {
    /// The id of the session.
    pub(super) id: String,
}

/// A prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct PromptBody {
    /// The text.
    #[serde(default)]
    pub(super) text: String,
    /// Images and PDF files.
    #[serde(default)]
    pub(super) attachments: Vec<AttachmentBody>,
    /// What happens if a turn is running.
    #[serde(default)]
    pub(super) delivery: PromptDelivery,
}

/// What happens to a prompt while a turn is running.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum PromptDelivery {
    /// It is added to the running turn.
    #[default]
    Steer,
    /// It waits until the turn ends.
    Queue,
    /// The turn is interrupted, and a new one starts.
    Interrupt,
}

/// An image or a PDF file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachmentBody {
    /// Such as `image/png`.
    pub(super) mime: String,
    /// The file name.
    #[serde(default)]
    pub(super) name: Option<String>,
    /// The content in base64.
    pub(super) data: String,
}

/// The answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AnswerBody {
    /// The id of the question.
    pub(super) question: String,
    /// The answer.
    pub(super) answer: AnswerKind,
}

/// An answer.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub(super) enum AnswerKind {
    /// Allows the action.
    Approve {
        /// How long.
        #[serde(default)]
        scope: ApprovalScope,
        /// One of the offered rules; without it, exactly the action.
        #[serde(default)]
        rule: Option<String>,
    },
    /// Allows a command that the sandbox blocked to run again in the sandbox, with network access.
    ApproveNetwork,
    /// Allows the call with other input.
    Modify {
        /// The whole input.
        input: Value,
    },
    /// Denies the action.
    Reject {
        /// The reason, for the model.
        #[serde(default)]
        reason: Option<String>,
    },
    /// Answers a question of the model.
    Text {
        /// The answer.
        text: String,
    },
}

/// How long a permission lasts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ApprovalScope {
    /// For this call.
    #[default]
    Once,
    /// For this session.
    Session,
    /// For this project, permanently.
    Always,
}

/// The settings of an open session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SessionSettings {
    /// The model, as provider/id.
    pub model: String,
    /// Its context window in tokens; 0 if unknown.
    pub context_window: u64,
    /// The mode.
    pub mode: String,
    /// `read-only`, `workspace` or `full`.
    pub permission: String,
    /// The reasoning effort; empty if none is set.
    pub effort: String,
    /// Whether changes to files and commands are approved by the user: `ask`, or `allow` for the configured approval.
    pub edit_approval: EditApproval,
    /// A description of the sandbox.
    pub sandbox: String,
    /// The project's folder for display.
    pub display_path: String,
    /// The rules files in the system prompt.
    pub rules: Vec<String>,
}

/// New settings; those that are absent stay.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SettingsChange {
    /// The model.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// The mode.
    #[serde(default)]
    pub(super) mode: Option<String>,
    /// The permission level: at most the configured one.
    #[serde(default)]
    pub(super) permission: Option<String>,
    /// The reasoning effort, or `default`.
    #[serde(default)]
    pub(super) effort: Option<String>,
    /// Whether changes to files and commands are approved by the user: `ask`, or `allow` for the configured approval.
    #[serde(default)]
    pub(super) edit_approval: Option<EditApproval>,
}

/// Whether changes are approved by the user.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EditApproval {
    /// Each change to a file and each command.
    Ask,
    /// As configured.
    #[default]
    Allow,
}

/// Instructions for a summary.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CompactBody {
    /// Extra instructions.
    #[serde(default)]
    pub(super) instructions: Option<String>,
}

/// A request to copy a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ForkBody {
    /// The last item to copy; all if absent.
    #[serde(default)]
    pub(super) upto: Option<String>,
}

/// What a rewind changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewindParts {
    /// The conversation and the files.
    #[default]
    Both,
    /// The conversation.
    Conversation,
    /// The files.
    Files,
}

/// What happens to files that were changed outside the session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictResolution {
    /// Nothing is restored, and they are reported.
    #[default]
    Report,
    /// They stay unchanged.
    Keep,
    /// They are overwritten.
    Overwrite,
}

/// A request to rewind to before a prompt.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RewindBody {
    /// The item of the prompt.
    pub(super) prompt: String,
    /// What is rewound.
    #[serde(default)]
    pub(super) parts: RewindParts,
    /// What happens to files that were changed outside the session.
    #[serde(default)]
    pub(super) conflicts: ConflictResolution,
}

/// A request to undo or redo file changes.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UndoBody {
    /// What happens to files that were changed outside the session.
    #[serde(default)]
    pub(super) conflicts: ConflictResolution,
}

/// Which files to restore.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RestoreOrder {
    /// The operation.
    pub operation: RestoreOperation,
    /// What happens to files that were changed outside the session.
    pub conflicts: ConflictResolution,
}

/// An operation that restores files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RestoreOperation {
    /// Undo the last turn.
    Undo,
    /// Redo what was undone.
    Redo,
    /// Rewind to before a prompt.
    Rewind {
        /// The item of the prompt.
        prompt: session::ItemId,
        /// What is rewound.
        parts: RewindParts,
    },
}

/// The result of restoring files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RestoreReportRow {
    /// A confirmation.
    pub message: String,
    /// Files that were changed outside the session. If there are any, nothing was restored.
    pub conflicts: Vec<String>,
    /// The item that the conversation was rewound to. A rewind to before the first prompt has none: the conversation continues in
    /// a new session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// A changed file with unreviewed hunks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedFileRow {
    /// The path.
    pub path: String,
    /// `created`, `modified` or `deleted`.
    pub status: String,
    /// Why there is no diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_diff_reason: Option<String>,
    /// The hunks.
    pub hunks: Vec<ChangedHunkRow>,
}

/// An unreviewed hunk.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangedHunkRow {
    /// Its id.
    pub id: String,
    /// The first line in the current file.
    pub line: usize,
    /// The lines before.
    pub before: String,
    /// The lines now.
    pub after: String,
    /// Whether it includes edits of the user.
    pub has_user_edits: bool,
    /// Whether it can be rejected.
    pub rejectable: bool,
}

/// Decisions about hunks.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewBody {
    /// The hunks to accept.
    #[serde(default)]
    pub(super) accept: Vec<String>,
    /// The hunks to reject.
    #[serde(default)]
    pub(super) reject: Vec<String>,
}

/// The texts of a changed file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FileTextsRow {
    /// The path.
    pub path: String,
    /// The text before.
    pub before: Option<String>,
    /// The text after.
    pub after: Option<String>,
}

/// A file of the project.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FileBody {
    /// The path.
    pub(super) path: String,
    /// The text.
    pub(super) text: String,
}

/// A session that a search found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SearchHit {
    /// The session.
    pub session: String,
    /// Its title.
    pub title: Option<String>,
    /// The item with the text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub item: Option<String>,
    /// The text around the match.
    pub excerpt: String,
    /// When the session was last changed, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A rule to remove.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RevokeBody {
    /// The rule.
    pub(super) rule: String,
}

/// Text to highlight.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HighlightBody {
    /// The name of the language, or a file name.
    pub(super) language: String,
    /// The text.
    pub(super) text: String,
}

/// A highlighted part of a text: start and end in UTF-16 units, and the kind of token.
pub type TokenSpan = (usize, usize, &'static str);

/// A request in the ledger.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LedgerRow {
    /// The id of the request.
    pub(super) id: String,
    /// The item that it resulted in.
    pub(super) item: Option<String>,
    /// `turn`, `title`, `summary` or another purpose.
    pub(super) purpose: String,
    /// The model.
    pub(super) model: String,
    /// When it was sent, in milliseconds since 1970.
    pub(super) at_ms: u64,
    /// How long it took.
    pub(super) total_ms: u64,
    /// Prompt tokens at the full price.
    pub(super) input: u64,
    /// Prompt tokens that were read from the cache.
    pub(super) cache_read: u64,
    /// Prompt tokens that were written to the cache.
    pub(super) cache_write: u64,
    /// Reply tokens.
    pub(super) output: u64,
    /// The price in US dollars, if known.
    pub(super) cost_usd: Option<f64>,
    /// How it ended.
    pub(super) outcome: String,
    /// The sections of the prompt.
    pub(super) sections: Vec<LedgerSectionRow>,
}

/// A section of a prompt.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LedgerSectionRow {
    /// Its name.
    pub(super) name: String,
    /// Its tokens.
    pub(super) tokens: u64,
    /// Of these, tokens that were expected in the cache.
    pub(super) cached: u64,
}
