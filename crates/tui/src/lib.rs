//! Terminal user interface: draws a session and turns keys into commands.
//!
//! Finished entries are printed to the terminal's scrollback, where they can be scrolled, selected and searched;
//! changing content is drawn in a live region below. [`Backend`] provides everything besides commands and events.

mod action;
mod app;
#[cfg(test)]
mod app_tests;
mod approval;
mod backend;
#[doc(hidden)]
pub mod bench;
mod composer;
mod conversation;
mod diff;
mod draw;
pub mod format;
mod fuzzy;
mod input;
mod keys;
mod markdown;
mod plain_output;
mod row;
#[cfg(unix)]
mod run;
mod screen;
mod slash;
mod state;
mod status;
mod terminal;
mod termination;
#[cfg(test)]
mod test_support;
mod theme;
mod view;
mod views;

pub use backend::{
    Backend, BackendFuture, ClipboardContent, CodeMatch, ConflictChoice, DesktopBackend, ErrorRecovery,
    FileRestoreResult, FileVersions, GoalCheck, HunkDecision, JobRow, KeyStorage, ModelBackend, OpenedSession,
    OperationResult, PanelRow, PermissionRow, PickerItem, PickerModel, ProcessBackend, ProjectBackend, PromptBackend,
    ProviderAccess, ProviderRow, RestoreRequest, ReviewBackend, ReviewableFile, ReviewableHunk, Revocation,
    RewindScope, RulesFileRow, ServerHealth, ServerRow, SessionBackend, SessionInfo, SessionTarget, SettingRow,
    SettingsBackend, SignInPrompt, SyntaxToken, UsableModel, UserError, unavailable,
};
pub use keys::{Error as KeyError, KeyAction, KeyBinding, KeyChord, KeyContext, KeyMap, KeyMatch, KeySequence};
pub use plain_output::OutputRenderer;
#[cfg(unix)]
pub use run::{Options, TuiExit, run};
pub use screen::{ColorDepth, ImageProtocol, Reflow};
pub use slash::{BuiltInCommand, COMMANDS as SLASH_COMMANDS, nearest_command, prompt_of_command};
pub use termination::TerminationDeadline;
pub use theme::{Error as ThemeError, NAMES as THEMES, ROLES, Theme, ThemeSpec};
