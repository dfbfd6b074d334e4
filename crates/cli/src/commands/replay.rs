//! `hew replay`: builds the requests of a session again, unchanged or with a change, and compares them.

mod live;
mod tool_runs;

use super::load;
use crate::args::{GlobalArgs, ReplayArgs as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::output::format::{dollars, plural, tokens};
use crate::output::table::{self, ColumnAlign};
use crate::{output, project};
use host::replay::{ReplayChange, ReplayOutcome, ReplayedRequest, SessionReplay, StreamSpeed, replay};
use host::sessions::{find, short_id};
use model::Cost;
use prompt::{RulesFile, TemplateFile};
use providers::BodySettings;
use serde_json::{Value, json};
use session::{ItemId, SessionId, Store as _};
use std::path::Path;
use std::sync::Arc;
use store::SqliteStore;
use tool_runs::ToolRun;

pub(super) async fn replay_session(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let here = project::root(global.cwd.as_deref(), env)?;
    let named = args.session.as_deref().unwrap_or("last");
    let (session, number) = named
        .split_once(':')
        .map_or((named, None), |(session, number)| (session, Some(number)));
    let file = Path::new(named);
    let (_folder, store, meta) = match file.is_file() {
        true => {
            let (folder, store) = host::bundle::open(file)?;
            let meta = host::bundle::session(&store).await?;
            (Some(folder), Arc::new(store), meta)
        }
        false => {
            let store = host::sessions::open_store(env)?;
            let id = Some(session).filter(|name| *name != "last" && !name.is_empty());
            let meta = find(&store, id, &here).await?;
            (None, store, meta)
        }
    };
    if args.stream {
        return play(&store, meta.id, number).await;
    }
    let from = match &args.from {
        Some(part) => Some(item(&store, meta.id, part).await?),
        None => None,
    };
    let change = change(args, global, env)?;
    if args.live {
        return live::answer(args, (store, meta), from, change, global, env).await;
    }
    let replayed = replay(&store, meta.id, from, &change).await?;
    let runs = match args.run_tools {
        true => tool_runs::run(&store, &meta, args.yes, global, env).await?,
        false => Vec::new(),
    };
    match args.json {
        true => {
            let mut report = as_json(&replayed);
            if args.run_tools {
                report["tool_runs"] = json!(runs);
            }
            output::print_checked(&output::pretty(&report)?)?;
        }
        false => {
            let runs: String = runs.iter().map(ToolRun::text).collect();
            output::print_checked(&(as_text(&replayed, &change) + &runs))?;
        }
    }
    let has_failed = |request: &ReplayedRequest| {
        matches!(request.outcome, ReplayOutcome::Differs { .. }) || request.stream == Some(false)
    };
    match replayed.requests.iter().any(has_failed) {
        true => Err(Failure::failed("some requests differ from what was sent")
            .hint("this version of hew builds them differently, or a section was changed")),
        false => Ok(ExitStatus::Done),
    }
}

async fn item(store: &SqliteStore, session: SessionId, part: &str) -> Result<ItemId> {
    match store.items_like(session, part).await?.as_slice() {
        [only] => Ok(*only),
        [] => Err(Failure::usage(format!("the session has no item `{part}`"))
            .hint("`hew sessions show` and `hew sessions export --format json` list them")),
        several => Err(Failure::usage(format!("`{part}` matches {} items", several.len())).hint("use more of the id")),
    }
}

fn change(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ReplayChange> {
    let read = |path: &Path| std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error));
    let mut change = ReplayChange {
        without: args.without.clone(),
        ..ReplayChange::default()
    };
    for pair in &args.template {
        let Some((name, file)) = pair.split_once('=') else {
            return Err(Failure::usage(format!("--template takes NAME=FILE, but got `{pair}`")));
        };
        let template = TemplateFile {
            path: file.into(),
            text: read(Path::new(file))?,
        };
        change.templates.push((name.to_owned(), template));
    }
    for path in &args.rule {
        change.rules.push(RulesFile {
            path: path.clone(),
            text: read(path)?,
        });
    }
    if let Some(name) = args.with_model.as_ref().or(global.turn.model.as_ref()) {
        let (_, loaded) = load(global, env, Vec::new())?;
        let models = ModelRegistry::new(&loaded.config, env);
        let info = models.find(name)?;
        change.model = Some(BodySettings::of(&info, &models.immediate_settings(&info)?));
    }
    Ok(change)
}

/// Plays a recorded reply.
async fn play(store: &SqliteStore, session: SessionId, number: Option<&str>) -> Result<ExitStatus> {
    let records = store.request_records(session).await?;
    let turns: Vec<_> = records.iter().filter(|record| record.purpose == "turn").collect();
    let place = match number {
        Some(number) => number.parse::<usize>().ok().and_then(|number| number.checked_sub(1)),
        None => turns.len().checked_sub(1),
    };
    let record = place.and_then(|place| turns.get(place));
    let record = record.ok_or_else(|| {
        Failure::usage(format!(
            "session {} has {}",
            short_id(session),
            plural(turns.len() as u64, "request")
        ))
        .hint("`hew prompt explain` lists them")
    })?;
    let Some((settings, stream)) = host::replay::recorded_stream(store, record).await? else {
        return Err(Failure::usage("this reply was not recorded")
            .hint("set `record = true` in your configuration, or HEW_RECORD=true, before the session"));
    };
    let show = |text: &str| drop(output::print_checked(text));
    host::replay::decode(&settings, stream, StreamSpeed::Original, show).await;
    output::print_checked("\n")?;
    Ok(ExitStatus::Done)
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

fn as_text(replayed: &SessionReplay, change: &ReplayChange) -> String {
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

fn as_json(replayed: &SessionReplay) -> Value {
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
