//! `hew changes`: lists the pending changes of a session and accepts or rejects them.

use crate::args::{ChangesArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::output::change_list::{self, ListTarget};
use crate::output::changes_json::ChangesJson;
use crate::output::color::ColorMode;
use crate::output::format::now;
use crate::{output, project};
use host::sessions::{existing_root, find, open_store, short_id};
use review::PathScope;
use review::changes::{ChangeReview, ReviewRequest, ReviewResult, ScopedChanges};
use std::io::IsTerminal;
use workspace::Workspace;

pub(super) async fn changes(args: &ChangesArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let store = open_store(env)?;
    let here = project::root(global.cwd.as_deref(), env)?;
    let name = args.session.as_deref().filter(|name| *name != "last");
    let meta = find(&store, name, &here).await?;
    let root = match &global.cwd {
        Some(_) => here,
        None => existing_root(&meta.root)?,
    };
    let workspace = Workspace::open(&root).map_err(review::Error::from)?;
    let scope = PathScope::new(&args.file, &workspace, env.cwd.as_deref())?;
    let review = ChangeReview::new(store, meta, workspace, scope);
    match request(args) {
        Some(request) => decide(&review, &request, args.json).await?,
        None => list(&review, args.json, env).await?,
    }
    Ok(ExitStatus::Done)
}

/// The requested decisions; `None` to list the changes.
fn request(args: &ChangesArgs) -> Option<ReviewRequest> {
    if args.accept_all {
        return Some(ReviewRequest::AcceptAll);
    }
    if args.reject_all {
        return Some(ReviewRequest::RejectAll);
    }
    (!args.accept.is_empty() || !args.reject.is_empty()).then(|| ReviewRequest::Selected {
        accept: args.accept.clone(),
        reject: args.reject.clone(),
    })
}

async fn list(review: &ChangeReview, json: bool, env: &ProcessEnv) -> Result<()> {
    let ScopedChanges { pending, elsewhere } = review.pending().await?;
    if json {
        return print_json(&ChangesJson::new(review, &pending, &[], &[]));
    }
    let session = short_id(review.session().id);
    if pending.files.is_empty() {
        let elsewhere = elsewhere.map(|count| format!(" in these paths; {count} elsewhere"));
        output::print_stderr(&format!(
            "no changes to review in session {session}{}\n",
            elsewhere.unwrap_or_default()
        ));
        return Ok(());
    }
    let stdout = std::io::stdout();
    let target = match stdout.is_terminal() {
        true => ListTarget::Terminal,
        false => ListTarget::Other,
    };
    output::print_document(&change_list::render(&pending, ColorMode::of(&stdout, env), target))?;
    output::print_stderr(&format!(
        "{}; to review: hew changes {session} --accept ID… --reject ID…, or --accept-all, --reject-all\n",
        pending.count()
    ));
    Ok(())
}

async fn decide(review: &ChangeReview, request: &ReviewRequest, json: bool) -> Result<()> {
    let ReviewResult {
        accepted,
        rejected,
        remaining: ScopedChanges { pending, elsewhere },
    } = review.decide(request, now()).await?;
    if json {
        return print_json(&ChangesJson::new(review, &pending, &accepted, &rejected));
    }
    let left = match pending.files.is_empty() {
        true => "no changes left to review".to_owned(),
        false => format!("{} left", pending.count()),
    };
    let elsewhere = elsewhere.map(|count| format!(" in these paths; {count} elsewhere"));
    output::print_stderr(&format!(
        "accepted {}, rejected {}; {left}{}\n",
        accepted.len(),
        rejected.len(),
        elsewhere.unwrap_or_default()
    ));
    Ok(())
}

fn print_json(json: &ChangesJson<'_>) -> Result<()> {
    output::print_checked(&output::pretty(json)?)
}
