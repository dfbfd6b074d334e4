//! Replays of sessions: the result of building their requests again, running their calls again or answering again.

mod live;
mod tool_runs;

pub use live::LiveReplay;
pub use tool_runs::{ToolRun, ToolRuns, run_tools};

use crate::failure::{Failure, Result};
use crate::output::format::{dollars, plural, tokens};
use crate::output::table::{self, ColumnAlign};
use host::environment::ProcessEnv;
use host::replay::{ReplayChange, ReplayOutcome, ReplayedRequest, SessionReplay};
use host::sessions::{find, short_id};
use model::Cost;
use serde_json::{Value, json};
use session::{ItemId, RequestRecord, SessionMeta, Store as _};
use std::path::Path;
use std::sync::Arc;
use store::SqliteStore;
use tempfile::TempDir;

/// A stored session, or one from an exported file.
pub struct ReplaySource {
    /// The database with the session.
    pub store: Arc<SqliteStore>,
    /// The session.
    pub meta: SessionMeta,
    /// Where an exported file was extracted.
    _folder: Option<TempDir>,
}

impl ReplaySource {
    /// Opens the session with this id or prefix, `last`, or a file of `hew sessions export --bundle`.
    pub async fn open(name: &str, project: &Path, env: &ProcessEnv) -> Result<ReplaySource> {
        let file = Path::new(name);
        if file.is_file() {
            let (folder, store) = host::bundle::open(file)?;
            return Ok(ReplaySource {
                meta: host::bundle::session(&store).await?,
                store: Arc::new(store),
                _folder: Some(folder),
            });
        }
        let store = host::sessions::open_store(env)?;
        let id = Some(name).filter(|name| *name != "last" && !name.is_empty());
        Ok(ReplaySource {
            meta: find(&store, id, project).await?,
            store,
            _folder: None,
        })
    }

    /// The item with an id that contains this text.
    pub async fn item(&self, part: &str) -> Result<ItemId> {
        match self.store.items_like(self.meta.id, part).await?.as_slice() {
            [only] => Ok(*only),
            [] => Err(Failure::usage(format!("the session has no item `{part}`"))
                .hint("`hew sessions show` and `hew sessions export --format json` list them")),
            several => {
                Err(Failure::usage(format!("`{part}` matches {} items", several.len())).hint("use more of the id"))
            }
        }
    }

    /// The record of the request of a turn with this number, by default the last one.
    pub async fn request(&self, number: Option<&str>) -> Result<RequestRecord> {
        let records = self.store.request_records(self.meta.id).await?;
        let mut turns: Vec<RequestRecord> = records.into_iter().filter(|record| record.purpose == "turn").collect();
        let count = turns.len();
        let index = match number {
            Some(number) => number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)),
            None => count.checked_sub(1),
        };
        match index.filter(|index| *index < count) {
            Some(index) => Ok(turns.swap_remove(index)),
            None => Err(Failure::usage(format!(
                "session {} has {}",
                short_id(self.meta.id),
                plural(count as u64, "request")
            ))
            .hint("`hew prompt explain` lists them")),
        }
    }
}

/// Whether a request differs from what was sent, or its recorded stream from what it was decoded to.
pub fn has_differences(replayed: &SessionReplay) -> bool {
    replayed
        .requests
        .iter()
        .any(|request| matches!(request.outcome, ReplayOutcome::Differs { .. }) || request.stream == Some(false))
}

/// Sums of tokens and prices.
#[derive(Default)]
struct ReplayTotals {
    tokens: u64,
    cost: Cost,
    changed_tokens: u64,
    changed_cost: Cost,
}

impl ReplayTotals {
    fn of(replayed: &SessionReplay) -> Self {
        let mut totals = ReplayTotals::default();
        for request in &replayed.requests {
            if let Some(recorded) = request.recorded {
                totals.tokens += recorded.tokens;
                totals.cost += recorded.cost.unwrap_or_default();
            }
            if let Some(changed) = &request.changed {
                totals.changed_tokens += changed.estimate.tokens;
                totals.changed_cost += changed.estimate.cost.unwrap_or_default();
            }
        }
        totals
    }
}

/// A table of the requests, with the estimates for a change.
pub fn text(replayed: &SessionReplay, change: &ReplayChange) -> String {
    let mut columns = vec![
        ("REQUEST", ColumnAlign::Left),
        ("RESULT", ColumnAlign::Left),
        ("TOKENS", ColumnAlign::Right),
        ("PRICE", ColumnAlign::Right),
    ];
    if !change.is_empty() {
        columns.extend([
            ("CHANGED", ColumnAlign::Right),
            ("PRICE", ColumnAlign::Right),
            ("FROM", ColumnAlign::Left),
        ]);
    }
    let price = |cost: Option<Cost>| cost.map(dollars).unwrap_or_default();
    let mut cells = Vec::new();
    for (number, request) in replayed.requests.iter().enumerate() {
        let mut row = vec![
            format!("{} {}", number + 1, request.record.purpose),
            outcome_text(&request.outcome),
            request.recorded.map(|it| tokens(it.tokens)).unwrap_or_default(),
            price(request.recorded.and_then(|it| it.cost)),
        ];
        if let Some(changed) = &request.changed {
            row.push(tokens(changed.estimate.tokens));
            row.push(price(changed.estimate.cost));
            row.push(match (&changed.section, changed.byte) {
                (Some(section), Some(byte)) => format!("{section} (byte {byte})"),
                (Some(section), None) => section.clone(),
                (None, _) => "unchanged".into(),
            });
        } else if !change.is_empty() {
            row.extend([String::new(), String::new(), String::new()]);
        }
        cells.push(row);
    }
    let totals = ReplayTotals::of(replayed);
    let mut last = vec![
        "all".to_owned(),
        String::new(),
        tokens(totals.tokens),
        dollars(totals.cost),
    ];
    if !change.is_empty() {
        last.extend([
            tokens(totals.changed_tokens),
            dollars(totals.changed_cost),
            String::new(),
        ]);
    }
    cells.push(last);
    let mut text = table::render(&columns, &cells);
    let count = |is: fn(&ReplayOutcome) -> bool| replayed.requests.iter().filter(|it| is(&it.outcome)).count();
    text.push_str(&format!(
        "{} identical, {} different, {} not verified; {} changed files, {}\n",
        count(|it| matches!(it, ReplayOutcome::Identical)),
        count(|it| matches!(it, ReplayOutcome::Differs { .. })),
        count(|it| matches!(it, ReplayOutcome::Unverified { .. })),
        plural(replayed.steps as u64, "step"),
        match replayed.conflicts.is_empty() {
            true => "all from the versions that the previous step left".to_owned(),
            false => format!("{} from other versions", replayed.conflicts.len()),
        }
    ));
    text
}

fn outcome_text(outcome: &ReplayOutcome) -> String {
    match outcome {
        ReplayOutcome::Identical => "identical".into(),
        ReplayOutcome::Differs {
            section,
            byte: Some(byte),
        } => format!("differs in {section} from byte {byte}"),
        ReplayOutcome::Differs { section, byte: None } => format!("differs in {section}"),
        ReplayOutcome::Unverified { reason } => reason.clone(),
    }
}

/// The requests and their sums.
pub fn json(replayed: &SessionReplay) -> Value {
    let requests: Vec<Value> = replayed.requests.iter().map(request_json).collect();
    let totals = ReplayTotals::of(replayed);
    let conflicts: Vec<Value> = replayed
        .conflicts
        .iter()
        .map(|(item, path)| json!({"item": item.to_string(), "path": path}))
        .collect();
    json!({
        "requests": requests,
        "steps": replayed.steps,
        "conflicts": conflicts,
        "total": {
            "tokens": totals.tokens,
            "cost_usd": totals.cost.usd(),
            "changed_tokens": totals.changed_tokens,
            "changed_cost_usd": totals.changed_cost.usd(),
        },
    })
}

fn request_json(request: &ReplayedRequest) -> Value {
    let (result, section, byte) = match &request.outcome {
        ReplayOutcome::Identical => ("identical", None, None),
        ReplayOutcome::Differs { section, byte } => ("differs", Some(section.clone()), *byte),
        ReplayOutcome::Unverified { .. } => ("unverified", None, None),
    };
    let changed = request.changed.as_ref().map(|changed| {
        json!({
            "tokens": changed.estimate.tokens,
            "cost_usd": changed.estimate.cost.map(Cost::usd),
            "section": changed.section,
            "byte": changed.byte,
        })
    });
    json!({
        "session": request.session.to_string(),
        "request": request.record.id.to_string(),
        "purpose": request.record.purpose,
        "model": request.record.model,
        "result": result,
        "section": section,
        "byte": byte,
        "tokens": request.recorded.map(|it| it.tokens),
        "cost_usd": request.recorded.and_then(|it| it.cost).map(Cost::usd),
        "changed": changed,
        "stream_identical": request.stream,
    })
}
