//! Tells what an edit broke: a language server looks at the files before and after, and only what is new is told.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::Block;
use policy::Action;
use serde_json::Value;
use tool::{Context, DynTool, Error, Output};

use crate::around::{Around, Wrap, around};
use crate::code_server::{CodeServer, Diagnostic};
use crate::diagnostics;
use crate::text::count;

/// So many new problems are told; the rest is counted.
const MOST: usize = 12;
/// Changes to more files at once are not looked at one by one.
const MOST_FILES: usize = 20;

/// Who watches a tool that reads or changes files.
pub(crate) struct Checked(pub(crate) Arc<dyn CodeServer>);

/// The tools that read or change files, commands among them.
const WATCHED: [&str; 6] = [
    "apply_patch",
    "edit_file",
    "insert",
    "read_file",
    "terminal",
    "write_file",
];

impl Checked {
    /// The tool, watched if it is one that reads or changes files itself.
    pub(crate) fn around(tool: Arc<dyn DynTool>, server: &Arc<dyn CodeServer>) -> Arc<dyn DynTool> {
        match WATCHED.contains(&tool.spec().name.as_str()) {
            true => around(tool, Checked(server.clone())),
            false => tool,
        }
    }
}

impl Wrap for Checked {
    fn run(around: Arc<Around<Self>>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let server = &around.wrap.0;
            let actions = around.tool.actions(&input).unwrap_or_default();
            let changed: Vec<PathBuf> = actions.iter().filter_map(written).collect();
            if changed.is_empty() || changed.len() > MOST_FILES {
                server.touched(actions.iter().filter_map(read).take(MOST_FILES).collect());
                let outcome = Arc::clone(&around.tool).run(input, context).await;
                let changed = outcome.iter().flat_map(|output| &output.changes);
                server.changed(changed.map(|change| change.path.clone()).collect());
                return outcome;
            }
            let watch = server.before(changed).await;
            let mut output = Arc::clone(&around.tool).run(input, context).await?;
            if !output.changes.is_empty() {
                let news = watch.news().await;
                if !news.is_empty() {
                    output.content.push(Block::Text { text: told(news) });
                }
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

fn told(mut news: Vec<Diagnostic>) -> String {
    news.sort();
    news.dedup();
    let shown: String = news.iter().take(MOST).map(diagnostics::line).collect();
    let more = match news.len() - news.len().min(MOST) {
        0 => String::new(),
        more => format!("and {more} more; diagnostics lists all\n"),
    };
    format!(
        "\n[new since this edit, by the language server: {}]\n{shown}{more}",
        count(news.len(), "problem")
    )
}
