//! `hew rewind`: moves a session back to an earlier item, with or without the files.

use super::history::{PlanState, RestoreReport, access, conflict_policy, open_history};
use crate::args::{GlobalArgs, RewindArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::Result;
use crate::output;
use crate::output::color::columns;
use crate::output::format::{ago, line, now};
use crate::output::table::{self, ColumnAlign};
use backends::prompt_text;
use host::sessions::{resume_command, short_id};
use review::{RewindFiles, RewindPlan, SessionAccess, SessionHistory, prompts};
use serde::Serialize;
use session::{Body, ChangeCount, Item, ItemId};
use std::sync::Arc;

pub(super) async fn rewind(args: &RewindArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (session, item) = match args.to.as_deref().map(|to| to.split_once('/').unwrap_or((to, ""))) {
        Some((session, item)) => (Some(session).filter(|name| !name.is_empty()), item),
        None => (None, ""),
    };
    if item.is_empty() {
        list(
            &open_history(session, SessionAccess::Read, global, env).await?,
            args.going.json,
        )?;
        return Ok(ExitStatus::Done);
    }
    let history = open_history(session, access(&args.going), global, env).await?;
    let to = history.find_item(item).await?;
    rewind_to(history, to, args).await
}

async fn rewind_to(mut history: SessionHistory, to: ItemId, args: &RewindArgs) -> Result<ExitStatus> {
    let going = &args.going;
    let id = history.id();
    let report = RestoreReport {
        session: id,
        action: "rewind",
        items: &[to],
        json: going.json,
    };
    let files = match args.no_files {
        true => RewindFiles::Keep,
        false => RewindFiles::Restore(conflict_policy(going)),
    };
    let plan = RewindPlan::new(&history, to, files).await?;
    if going.dry_run {
        report.print(&plan.restore, PlanState::Planned)?;
        return Ok(ExitStatus::Done);
    }
    if let Err(error) = plan.check() {
        report.print_conflicts(&plan.restore)?;
        return Err(error.into());
    }
    let from = plan.from();
    let restored = plan.apply(&mut history, now()).await?;
    report.print(&restored, PlanState::Applied)?;
    if !going.json {
        let files = match args.no_files {
            true => "files are unchanged".into(),
            false => restored.summary(),
        };
        output::print_stderr(&format!(
            "rewound to {}; {files}\nto continue: {}; to return: hew rewind {}/{}\n",
            describe_head(history.items()),
            resume_command(id),
            short_id(id),
            short_item_id(from)
        ));
    }
    Ok(ExitStatus::Done)
}

/// A prompt in the output of `hew rewind SESSION --json`.
#[derive(Serialize)]
struct PromptRow {
    number: usize,
    item: String,
    at_ms: u64,
    text: String,
    changed: usize,
}

/// Lists the prompts of a session, with the number of files changed after each.
fn list(history: &SessionHistory, json: bool) -> Result<()> {
    let items = history.items();
    let starts: Vec<usize> = (0..items.len())
        .filter(|at| matches!(items[*at].body, Body::Prompt { .. }))
        .collect();
    let rows = prompts(items).zip(1..).map(|(item, number)| {
        let start = starts[number - 1];
        let end = starts.get(number).copied().unwrap_or(items.len());
        let count = ChangeCount::of(items[start..end].iter().flat_map(|item| item.changes()));
        PromptRow {
            number,
            item: item.id.to_string(),
            at_ms: item.at.0,
            text: prompt_text(item),
            changed: count.files,
        }
    });
    let rows: Vec<PromptRow> = rows.collect();
    if json {
        return output::print_checked(&output::pretty(&rows)?);
    }
    let width = columns().saturating_sub(40).max(30);
    let cells: Vec<Vec<String>> = prompts(items)
        .zip(&rows)
        .map(|(item, row)| {
            vec![
                row.number.to_string(),
                short_item_id(item.id),
                ago(item.at, now()),
                row.changed.to_string(),
                line(row.text.trim(), width),
            ]
        })
        .collect();
    let heads = [
        ("#", ColumnAlign::Right),
        ("ITEM", ColumnAlign::Left),
        ("WHEN", ColumnAlign::Left),
        ("CHANGED", ColumnAlign::Right),
        ("PROMPT", ColumnAlign::Left),
    ];
    output::print_checked(&table::render(&heads, &cells))?;
    output::print_stderr(&format!(
        "to rewind: hew rewind {0}/ITEM, or {0}/NUMBER\n",
        short_id(history.id())
    ));
    Ok(())
}

/// The end of an id, which identifies an item within its session.
fn short_item_id(id: ItemId) -> String {
    let text = id.0.as_simple().to_string();
    text[text.len() - 8..].to_owned()
}

fn describe_head(items: &[Arc<Item>]) -> String {
    match items.last().map(|item| prompt_text(item)) {
        Some(text) if !text.trim().is_empty() => format!("“{}”", line(text.trim(), 60)),
        Some(_) | None => "this item".into(),
    }
}
