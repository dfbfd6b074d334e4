//! Data about an open session for the web server, from the back end of the terminal front end.

use super::web_error;
use crate::tui_backend::TuiBackend;
use futures::future::{BoxFuture, FutureExt as _};
use model::Part;
use server::http::{
    ChangedFileRow, ChangedHunkRow, CommandRow, ConflictResolution, FoundCode, JobInfo, ModeChoice, ModelRow,
    OperationReport, PanelInfo, PermissionRuleRow, RestoreOperation, RestoreOrder, RestoreReportRow, RestoredFiles,
    RewindParts, RulesFileInfo, ServerInfo, SessionServices, SettingInfo, WebError, WebErrorKind, WebFuture,
};
use session::{Body, Command, SessionId};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::runtime::Handle;
use tui::{
    BackendFuture, ConflictChoice, FileRestoreResult, HunkDecision, ModelBackend as _, PanelRow, PickerItem,
    ProcessBackend as _, ProjectBackend as _, RestoreRequest, ReviewBackend as _, ReviewableFile, Revocation,
    RewindScope, SessionBackend as _, SettingsBackend as _, UserError,
};

/// The services of one session.
pub(crate) struct WebServices {
    backend: TuiBackend,
    session: SessionId,
    runtime: Handle,
    owner: SessionOwner,
}

/// The owner of a session, which closes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SessionOwner {
    /// The web server.
    Server,
    /// The front end of this process.
    FrontEnd,
}

impl WebServices {
    /// The services of the session of a back end, which runs on this runtime.
    pub(crate) fn new(backend: TuiBackend, session: SessionId, runtime: Handle, owner: SessionOwner) -> Self {
        WebServices {
            backend,
            session,
            runtime,
            owner,
        }
    }

    /// Runs work where the session runs: it may start processes.
    fn on_runtime<T: Send + 'static>(&self, work: BackendFuture<T>) -> WebFuture<T> {
        let task = self.runtime.spawn(work);
        async move {
            match task.await {
                Ok(result) => result.map_err(user_error),
                Err(error) => Err(WebError::new(WebErrorKind::Failed, error.to_string())),
            }
        }
        .boxed()
    }

    fn rows<T: Send + 'static, R: Send + 'static>(
        &self,
        work: BackendFuture<Vec<T>>,
        row: fn(T) -> R,
    ) -> WebFuture<Vec<R>> {
        let work = self.on_runtime(work);
        async move { Ok(work.await?.into_iter().map(row).collect()) }.boxed()
    }

    fn report(&self, work: BackendFuture<String>) -> WebFuture<OperationReport> {
        let work = self.on_runtime(work);
        async move { Ok(OperationReport { message: work.await? }) }.boxed()
    }
}

impl SessionServices for WebServices {
    fn files(&self) -> WebFuture<Arc<Vec<String>>> {
        self.on_runtime(self.backend.files())
    }

    fn symbols(&self) -> WebFuture<Arc<Vec<String>>> {
        self.on_runtime(self.backend.symbols())
    }

    fn read_file(&self, path: PathBuf) -> WebFuture<String> {
        let read = self.backend.read_project_file(path);
        async move { read.await.map_err(web_error) }.boxed()
    }

    fn search_code(&self, words: String) -> WebFuture<Vec<FoundCode>> {
        self.rows(self.backend.search_code(words), |found| FoundCode {
            path: found.path,
            lines: found.lines,
            symbol: found.symbol,
            reasons: found.reasons,
            text: found.text,
        })
    }

    fn rules_files(&self) -> WebFuture<Vec<RulesFileInfo>> {
        self.rows(self.backend.rules_files(), |file| RulesFileInfo {
            path: file.path.display().to_string(),
            name: file.name,
            description: file.description,
        })
    }

    fn models(&self) -> WebFuture<Vec<ModelRow>> {
        self.rows(self.backend.models(), |model: PickerItem| ModelRow {
            name: model.name,
            description: model.description,
            unavailable: model.unavailable_reason,
        })
    }

    fn context_window(&self, model: String) -> WebFuture<u64> {
        let resolved = self.on_runtime(self.backend.resolve_model(model));
        async move { Ok(resolved.await?.context_window) }.boxed()
    }

    fn modes(&self) -> WebFuture<Vec<ModeChoice>> {
        self.rows(self.backend.modes(), |mode: PickerItem| ModeChoice {
            name: mode.name,
            description: mode.description,
        })
    }

    fn commands(&self) -> WebFuture<Vec<CommandRow>> {
        let custom = self.rows(self.backend.custom_commands(), |command: PickerItem| CommandRow {
            name: command.name,
            aliases: Vec::new(),
            arguments: String::new(),
            built_in: false,
            description: command.description,
        });
        async move {
            let mut all = custom.await?;
            let is_custom = |name: &str| all.iter().any(|command| command.name == name);
            let built_in = tui::SLASH_COMMANDS.iter().filter(|command| !is_custom(command.name));
            let more: Vec<CommandRow> = built_in
                .map(|command| CommandRow {
                    name: command.name.into(),
                    aliases: command.aliases.iter().map(|alias| (*alias).into()).collect(),
                    arguments: command.arguments.into(),
                    built_in: true,
                    description: command.description.into(),
                })
                .collect();
            all.extend(more);
            Ok(all)
        }
        .boxed()
    }

    fn expand(&self, command: Command) -> WebFuture<Command> {
        let backend = self.backend.clone();
        let expanded = async move {
            let command = expand_built_in(command, &backend).await?;
            backend.expand_prompt(command).await
        };
        self.on_runtime(expanded.boxed())
    }

    fn changes(&self) -> WebFuture<Vec<ChangedFileRow>> {
        self.rows(self.backend.pending_changes(), changed_file)
    }

    fn review(&self, accept: Vec<String>, reject: Vec<String>) -> WebFuture<(String, Option<Body>)> {
        let accepted = accept.into_iter().map(|id| (id, HunkDecision::Accept));
        let rejected = reject.into_iter().map(|id| (id, HunkDecision::Reject));
        let work = self.on_runtime(self.backend.review_changes(accepted.chain(rejected).collect()));
        async move {
            let result = work.await?;
            Ok((result.message, result.log_entry))
        }
        .boxed()
    }

    fn restore(&self, order: RestoreOrder) -> WebFuture<RestoredFiles> {
        let choice = match order.conflicts {
            ConflictResolution::Report => ConflictChoice::Ask,
            ConflictResolution::Keep => ConflictChoice::Keep,
            ConflictResolution::Overwrite => ConflictChoice::Overwrite,
        };
        let request = match order.operation {
            RestoreOperation::Undo => RestoreRequest::Undo,
            RestoreOperation::Redo => RestoreRequest::Redo,
            RestoreOperation::Rewind { prompt, parts } => RestoreRequest::Rewind {
                prompt,
                text: String::new(),
                scope: match parts {
                    RewindParts::Both => RewindScope::Both,
                    RewindParts::Conversation => RewindScope::Conversation,
                    RewindParts::Files => RewindScope::Files,
                },
            },
        };
        let work = self.on_runtime(self.backend.restore(request, choice));
        async move {
            match work.await? {
                FileRestoreResult::Conflicts(conflicts) => Ok(RestoredFiles::Conflicts(RestoreReportRow {
                    message: "nothing was restored: files were changed outside the session".into(),
                    conflicts,
                    head: None,
                })),
                FileRestoreResult::Done {
                    message,
                    head,
                    log_entry,
                } => Ok(RestoredFiles::Done {
                    message,
                    head,
                    log_entry,
                }),
            }
        }
        .boxed()
    }

    fn jobs(&self) -> WebFuture<Vec<JobInfo>> {
        self.rows(self.backend.jobs(), |job| JobInfo {
            id: job.id,
            command: job.command,
            state: job.state,
            running: job.running,
            output: job.output,
        })
    }

    fn stop_job(&self, id: u32) -> WebFuture<OperationReport> {
        self.report(self.backend.stop_job(id))
    }

    fn move_to_background(&self) -> bool {
        self.backend.move_to_background()
    }

    fn panels(&self) -> WebFuture<Vec<PanelInfo>> {
        self.rows(self.backend.panels(), |panel: PanelRow| PanelInfo {
            name: panel.name,
            open: panel.is_open,
        })
    }

    fn set_panel(&self, panel: PanelInfo) -> WebFuture<OperationReport> {
        // The back end toggles: it expects the current state.
        self.report(self.backend.toggle_panel(PanelRow {
            name: panel.name,
            is_open: !panel.open,
        }))
    }

    fn servers(&self) -> WebFuture<Vec<ServerInfo>> {
        self.rows(self.backend.servers(), |server| ServerInfo {
            kind: server.kind,
            name: server.name,
            state: server.state,
            details: server.details,
        })
    }

    fn permissions(&self) -> WebFuture<Vec<PermissionRuleRow>> {
        self.rows(self.backend.permission_rules(), |row| PermissionRuleRow {
            effect: row.effect,
            rule: row.rule,
            origin: row.origin,
            revocation: match row.revocation {
                Revocation::None => "none",
                Revocation::Stored => "stored",
                Revocation::Session => "session",
            }
            .into(),
        })
    }

    fn revoke(&self, rule: String) -> WebFuture<OperationReport> {
        self.report(self.backend.revoke_rule(rule))
    }

    fn settings(&self) -> WebFuture<Vec<SettingInfo>> {
        self.rows(self.backend.settings(), |setting| SettingInfo {
            key: setting.key,
            value: setting.value,
            origin: setting.origin,
            description: setting.description,
        })
    }

    fn doctor(&self) -> WebFuture<OperationReport> {
        self.report(self.backend.run_hew(vec!["doctor".into()]))
    }

    fn close(&self) -> BoxFuture<'static, ()> {
        match self.owner {
            SessionOwner::FrontEnd => async {}.boxed(),
            SessionOwner::Server => {
                let task = self.runtime.spawn(self.backend.close(self.session));
                async move { drop(task.await) }.boxed()
            }
        }
    }
}

fn changed_file(file: ReviewableFile) -> ChangedFileRow {
    let hunks = file.hunks.into_iter().map(|hunk| ChangedHunkRow {
        id: hunk.id,
        line: hunk.line,
        before: hunk.before,
        after: hunk.after,
        has_user_edits: hunk.has_user_edits,
        rejectable: hunk.rejectable,
    });
    ChangedFileRow {
        path: file.path.display().to_string(),
        status: file.status,
        no_diff_reason: file.no_diff_reason,
        hunks: hunks.collect(),
    }
}

fn user_error(error: UserError) -> WebError {
    WebError {
        message: error.message,
        hint: error.hint,
        kind: WebErrorKind::Invalid,
    }
}

/// Expands a built-in command that is a prompt, such as `/init`. Custom commands with the same name precede it.
async fn expand_built_in(command: Command, backend: &TuiBackend) -> Result<Command, UserError> {
    let Command::Prompt { mut message, delivery } = command else {
        return Ok(command);
    };
    if let Some(Part::Text { text, .. }) = message.parts.first_mut()
        && let Some(line) = text.strip_prefix('/')
    {
        let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if let Some(prompt) = tui::prompt_of_command(name, arguments.trim())
            && !backend
                .custom_commands()
                .await?
                .iter()
                .any(|custom| custom.name == name)
        {
            *text = prompt;
        }
    }
    Ok(Command::Prompt { message, delivery })
}
