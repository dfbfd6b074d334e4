//! The interface between the front end and the program that runs sessions. The front end takes one `Arc<dyn Backend>`, which
//! consists of small traits by purpose.
//!
//! Every method returns immediately; slow operations return a [`BackendFuture`]. Methods that a backend does not implement
//! report that the feature is unavailable.

mod types;

pub use types::{
    BackendFuture, ClipboardContent, CodeMatch, ConflictChoice, ErrorRecovery, FileRestoreResult, FileVersions,
    GoalCheck, HunkDecision, JobRow, KeyStorage, OpenedSession, OperationResult, PanelRow, PermissionRow, PickerItem,
    PickerModel, ProviderAccess, ProviderRow, RestoreRequest, ReviewableFile, ReviewableHunk, Revocation, RewindScope,
    RulesFileRow, ServerHealth, ServerRow, SessionInfo, SessionTarget, SettingRow, SignInPrompt, SyntaxToken,
    UsableModel, UserError,
};

use crate::theme::ThemeSpec;
use futures::future::{BoxFuture, FutureExt as _};
use model::Media;
use session::{Change, Command, Item, RequestRecord, SessionId, SessionMeta};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// Everything that the front end needs besides commands and events.
pub trait Backend:
    SessionBackend
    + ProjectBackend
    + ReviewBackend
    + ModelBackend
    + SettingsBackend
    + ProcessBackend
    + PromptBackend
    + DesktopBackend
    + Send
    + Sync
{
}

impl<T> Backend for T where
    T: SessionBackend
        + ProjectBackend
        + ReviewBackend
        + ModelBackend
        + SettingsBackend
        + ProcessBackend
        + PromptBackend
        + DesktopBackend
        + Send
        + Sync
{
}

/// Opens and lists sessions.
pub trait SessionBackend {
    /// Opens a session and makes it the active one, to which the other methods refer.
    fn open(&self, target: SessionTarget) -> BackendFuture<OpenedSession>;

    /// Makes an open session the active one.
    fn activate(&self, session: SessionId) {
        let _ = session;
    }

    /// Closes an open session.
    fn close(&self, session: SessionId) -> BoxFuture<'static, ()>;

    /// The sessions of the project, newest first.
    fn sessions(&self) -> BackendFuture<Vec<SessionMeta>> {
        unavailable("sessions")
    }

    /// The sessions of all projects, newest first.
    fn all_sessions(&self) -> BackendFuture<Vec<SessionMeta>> {
        unavailable("sessions")
    }

    /// The items of a session, without opening it.
    fn session_items(&self, session: SessionId) -> BackendFuture<Vec<Arc<Item>>> {
        let _ = session;
        unavailable("sessions")
    }

    /// The requests of the open session.
    fn request_records(&self) -> BackendFuture<Vec<RequestRecord>> {
        unavailable("records")
    }

    /// Changes a session's title; returns a confirmation.
    fn rename_session(&self, session: SessionId, title: String) -> BackendFuture<String> {
        let _ = (session, title);
        unavailable("titles")
    }

    /// Expands a command with an MCP prompt such as `/server.prompt arguments`; returns other commands unchanged.
    fn expand_prompt(&self, command: Command) -> BackendFuture<Command> {
        async move { Ok(command) }.boxed()
    }
}

/// Reads the project's files.
pub trait ProjectBackend {
    /// Paths of the project's files, relative to its root, for completion.
    fn files(&self) -> BackendFuture<Arc<Vec<String>>> {
        unavailable("files")
    }

    /// Names of the symbols that the project's code defines, for completion.
    fn symbols(&self) -> BackendFuture<Arc<Vec<String>>> {
        unavailable("symbols")
    }

    /// The code that is about these words, best first.
    fn search_code(&self, words: String) -> BackendFuture<Vec<CodeMatch>> {
        let _ = words;
        unavailable("code search")
    }

    /// The current contents of a file.
    fn read_file(&self, path: PathBuf) -> BackendFuture<String> {
        let _ = path;
        unavailable("files")
    }

    /// The contents of changed text files before and after the change.
    fn file_versions(&self, changes: Vec<Change>) -> BackendFuture<Vec<FileVersions>> {
        let _ = changes;
        unavailable("changes")
    }

    /// Reads an image file.
    fn read_image(&self, path: String) -> BackendFuture<Media> {
        let _ = path;
        unavailable("images")
    }

    /// The checked-out Git branch.
    fn git_branch(&self) -> BackendFuture<Option<String>> {
        unavailable("git")
    }

    /// Highlights source text. `language` is the name after a code fence or a file name. Spans are ordered and do not overlap;
    /// bytes without a span are plain. Returns `None` if the language is unknown.
    fn highlight(&self, language: &str, text: &str) -> Option<Vec<(Range<usize>, SyntaxToken)>> {
        let _ = (language, text);
        None
    }
}

/// Reviews and reverts the session's changes to files.
pub trait ReviewBackend {
    /// The session's changes that were not reviewed.
    fn pending_changes(&self) -> BackendFuture<Vec<ReviewableFile>> {
        unavailable("changes")
    }

    /// Accepts or reverts hunks by their ids.
    fn review_changes(&self, decisions: Vec<(String, HunkDecision)>) -> BackendFuture<OperationResult> {
        let _ = decisions;
        unavailable("changes")
    }

    /// Restores files of the open session.
    fn restore(&self, request: RestoreRequest, choice: ConflictChoice) -> BackendFuture<FileRestoreResult> {
        let _ = (request, choice);
        unavailable("undo")
    }
}

/// Lists models and providers, and stores API keys.
pub trait ModelBackend {
    /// The available models.
    fn models(&self) -> BackendFuture<Vec<PickerItem>> {
        unavailable("models")
    }

    /// The model with this name or alias. Fails if the model is not usable.
    fn resolve_model(&self, model: String) -> BackendFuture<UsableModel> {
        let _ = model;
        unavailable("models")
    }

    /// Model providers, usable ones first.
    fn providers(&self) -> BackendFuture<Vec<ProviderRow>> {
        unavailable("providers")
    }

    /// Where a key can be stored, the preferred storage first, with descriptions.
    fn key_storages(&self) -> Vec<(KeyStorage, String)> {
        Vec::new()
    }

    /// Stores a provider's key; returns a confirmation.
    fn save_key(&self, provider: String, key: String, storage: KeyStorage) -> BackendFuture<String> {
        let _ = (provider, key, storage);
        unavailable("keys")
    }

    /// Starts signing in to a provider with a code that the user enters on a page.
    fn sign_in(&self, provider: String) -> BackendFuture<SignInPrompt> {
        let _ = provider;
        unavailable("sign-in")
    }

    /// Sends a test request to a model; returns a summary of the reply.
    fn test_model(&self, model: String) -> BackendFuture<String> {
        let _ = model;
        unavailable("tests")
    }
}

/// Reads and changes settings, modes, permission rules, themes and custom commands.
pub trait SettingsBackend {
    /// All settings.
    fn settings(&self) -> BackendFuture<Vec<SettingRow>> {
        unavailable("settings")
    }

    /// Changes a setting in the user's configuration; an empty value removes it. Returns a confirmation.
    fn change_setting(&self, key: String, value: String) -> BackendFuture<String> {
        let _ = (key, value);
        unavailable("settings")
    }

    /// The available modes.
    fn modes(&self) -> BackendFuture<Vec<PickerItem>> {
        unavailable("modes")
    }

    /// The rules files that new sessions read, and those that can be created.
    fn rules_files(&self) -> BackendFuture<Vec<RulesFileRow>> {
        unavailable("rules files")
    }

    /// Permission rules and saved answers.
    fn permission_rules(&self) -> BackendFuture<Vec<PermissionRow>> {
        unavailable("permissions")
    }

    /// Removes a permission rule or a saved answer; returns a confirmation.
    fn revoke_rule(&self, rule: String) -> BackendFuture<String> {
        let _ = rule;
        unavailable("permissions")
    }

    /// User-defined themes.
    fn user_themes(&self) -> BTreeMap<String, ThemeSpec> {
        BTreeMap::new()
    }

    /// User-defined slash commands and MCP prompts.
    fn custom_commands(&self) -> BackendFuture<Vec<PickerItem>> {
        unavailable("commands")
    }
}

/// Runs shell commands, and shows background jobs and servers.
pub trait ProcessBackend {
    /// Runs a shell command of the user; returns its output.
    fn run_shell(&self, line: String) -> BackendFuture<String> {
        let _ = line;
        unavailable("a shell")
    }

    /// Runs a command that checks a goal.
    fn run_check(&self, line: String) -> BackendFuture<GoalCheck> {
        let _ = line;
        unavailable("a shell")
    }

    /// Runs a command of hew with these arguments; returns its output.
    fn run_hew(&self, arguments: Vec<String>) -> BackendFuture<String> {
        let _ = arguments;
        unavailable("commands")
    }

    /// The panels, open ones first.
    fn panels(&self) -> BackendFuture<Vec<PanelRow>> {
        unavailable("panels")
    }

    /// Opens or closes a panel; returns a confirmation.
    fn toggle_panel(&self, panel: PanelRow) -> BackendFuture<String> {
        let _ = panel;
        unavailable("panels")
    }

    /// Background jobs.
    fn jobs(&self) -> BackendFuture<Vec<JobRow>> {
        unavailable("jobs")
    }

    /// The number of running background jobs.
    fn running_jobs(&self) -> usize {
        0
    }

    /// Moves the running command to the background. Returns whether there was one.
    fn move_to_background(&self) -> bool {
        false
    }

    /// Stops a background job; returns a confirmation.
    fn stop_job(&self, id: u32) -> BackendFuture<String> {
        let _ = id;
        unavailable("jobs")
    }

    /// MCP and language servers.
    fn servers(&self) -> BackendFuture<Vec<ServerRow>> {
        unavailable("servers")
    }
}

/// Stores the prompt history and the draft.
pub trait PromptBackend {
    /// Earlier prompts of the project, oldest first.
    fn prompt_history(&self) -> BackendFuture<Vec<String>> {
        unavailable("history")
    }

    /// Adds a prompt to the history.
    fn save_prompt(&self, prompt: String) {
        let _ = prompt;
    }

    /// The draft of the last run.
    fn load_draft(&self) -> BackendFuture<Option<String>> {
        unavailable("drafts")
    }

    /// Saves the draft; an empty text removes it.
    fn save_draft(&self, text: String) {
        let _ = text;
    }
}

/// Accesses the user's desktop.
pub trait DesktopBackend {
    /// Opens the user's editor; returns the edited text. The front end has released the terminal.
    fn open_editor(&self, text: String) -> BackendFuture<String> {
        let _ = text;
        unavailable("an editor")
    }

    /// Opens a file in the user's editor. The front end has released the terminal.
    fn edit_file(&self, path: PathBuf) -> BackendFuture<()> {
        let _ = path;
        unavailable("an editor")
    }

    /// Reads the clipboard.
    fn clipboard(&self) -> BackendFuture<ClipboardContent> {
        unavailable("the clipboard")
    }

    /// Shows a desktop notification.
    fn notify(&self, title: &str, text: &str) {
        let _ = (title, text);
    }
}

/// Returns an error that a feature is unavailable.
pub fn unavailable<T: Send + 'static>(feature: &str) -> BackendFuture<T> {
    let error = UserError::new(format!("{feature}: not available"));
    async move { Err(error) }.boxed()
}
