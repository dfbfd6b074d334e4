//! Reports new diagnostics after an edit, by the language server.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::Block;
use policy::Action;
use tool::{CallContext, CallInput, DynTool, Error, Output, ToolSet};

use crate::middleware::{Middleware, WrappedTool, wrap};
use crate::support::code_server::{CodeServer, Diagnostic, NewDiagnostics};
use crate::support::text::count;

/// Maximum number of problems listed; the rest is counted.
const MAX_PROBLEMS: usize = 12;
/// Above this number of files, diagnostics are not compared.
const MAX_FILES: usize = 20;

/// Adds diagnostics of the language server to a tool that reads or changes files.
pub(crate) struct WithDiagnostics(pub(crate) Arc<dyn CodeServer>);

impl WithDiagnostics {
    /// Wraps the tool if it reads or changes files.
    pub(crate) fn wrap(tool: Arc<dyn DynTool>, server: &Arc<dyn CodeServer>) -> Arc<dyn DynTool> {
        match tool.facts().sets.contains(&ToolSet::FileAccess) {
            true => wrap(tool, WithDiagnostics(server.clone())),
            false => tool,
        }
    }
}

impl Middleware for WithDiagnostics {
    fn run(
        wrapped: Arc<WrappedTool<Self>>,
        input: CallInput,
        context: CallContext,
    ) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let server = &wrapped.middleware.0;
            let actions = wrapped.tool.actions(&input).unwrap_or_default();
            let changed: Vec<PathBuf> = actions.iter().filter_map(written).collect();
            if changed.is_empty() || changed.len() > MAX_FILES {
                server.opened(actions.iter().filter_map(read).take(MAX_FILES).collect());
                let outcome = Arc::clone(&wrapped.tool).run(input, context).await;
                let changed = outcome.iter().flat_map(|output| &output.changes);
                server.changed(changed.map(|change| change.path.clone()).collect());
                return outcome;
            }
            let watch = server.baseline(changed).await;
            let mut output = Arc::clone(&wrapped.tool).run(input, context).await?;
            if !output.changes.is_empty() {
                let NewDiagnostics { found, unresponsive } = watch.new_diagnostics().await;
                if !found.is_empty() {
                    output.content.push(Block::text(render_new_diagnostics(found)));
                }
                let silent = unresponsive.iter().map(|(name, waited)| {
                    let waited = waited.as_millis();
                    format!(
                        "\n[the language server {name} did not respond within {waited} ms; its diagnostics are missing]"
                    )
                });
                output.content.extend(silent.map(Block::text));
            }
            Ok(output)
        }
        .boxed()
    }
}

fn written(action: &Action) -> Option<PathBuf> {
    match action {
        Action::Write { path, .. } => Some(path.clone()),
        _ => None,
    }
}

fn read(action: &Action) -> Option<PathBuf> {
    match action {
        Action::Read { path, .. } => Some(path.clone()),
        _ => None,
    }
}

fn render_new_diagnostics(mut found: Vec<Diagnostic>) -> String {
    found.sort();
    found.dedup();
    let shown: String = found.iter().take(MAX_PROBLEMS).map(Diagnostic::render).collect();
    let more = match found.len() - found.len().min(MAX_PROBLEMS) {
        0 => String::new(),
        more => format!("and {more} more; diagnostics lists all\n"),
    };
    format!(
        "\n[new since this edit, by the language server: {}]\n{shown}{more}",
        count(found.len(), "problem")
    )
}
