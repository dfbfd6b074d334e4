//! `hew sessions`: lists, shows, exports and deletes sessions.

use super::run::{find, short};
use super::{ask, export};
use crate::args::{Global, Sessions, SessionsList};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output::markdown::{self, Detail};
use crate::output::paint::columns;
use crate::output::table::{self, Align};
use crate::output::words::{ago, line, moment, money, now, plural, tame, tokens};
use crate::{output, places, project, wiring};
use serde::Serialize;
use session::{Meta, Store};
use std::io::IsTerminal;
use store::Sqlite;

pub(super) async fn sessions(
    about_list: &SessionsList,
    command: Option<&Sessions>,
    global: &Global,
    env: &Environment,
) -> Result<Exit> {
    if !about_list.is_silent() && !matches!(command, None | Some(Sessions::List(_))) {
        return Err(
            Failure::usage("--all, --limit and --json before the command are for `list` only")
                .hint("`hew sessions --help` lists the commands"),
        );
    }
    let store = wiring::open_store(env)?;
    match command {
        None => list(&store, about_list, global, env).await?,
        Some(Sessions::List(args)) => list(&store, &args.or(about_list), global, env).await?,
        Some(Sessions::Show { id, full }) => {
            let loaded = load(&store, id.as_deref(), global, env).await?;
            let detail = if *full { Detail::Full } else { Detail::Short };
            let subtasks = store.children(loaded.meta.id).await?;
            let text = markdown::render(&loaded, &subtasks, detail, &|_| None);
            output::deliver(&if std::io::stdout().is_terminal() {
                tame(&text)
            } else {
                text
            })?;
        }
        Some(Sessions::Export { id, format, output }) => {
            let loaded = load(&store, id.as_deref(), global, env).await?;
            let records = store.records(loaded.meta.id).await?;
            let subtasks = store.children(loaded.meta.id).await?;
            export::export(&store, &loaded, &subtasks, &records, *format, output.as_deref()).await?;
        }
        Some(Sessions::Delete { ids, yes }) => delete(&store, ids, *yes, env).await?,
    }
    Ok(Exit::Done)
}

async fn load(store: &Sqlite, id: Option<&str>, global: &Global, env: &Environment) -> Result<session::Loaded> {
    let id = match id {
        Some(prefix) => store.find(prefix).await?,
        None => find(store, None, &project::root(global.cwd.as_deref(), env)?).await?.id,
    };
    Ok(store.load(id).await?)
}

/// A session in the JSON of `hew sessions list --json`.
#[derive(Serialize)]
struct Row<'a> {
    id: String,
    /// The session of which it is a subtask; the figures of that one include its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<String>,
    title: Option<&'a str>,
    project: String,
    model: &'a str,
    created: String,
    updated: String,
    items: u64,
    requests: u64,
    input_tokens: u64,
    output_tokens: u64,
    cost_usd: f64,
}

impl<'a> Row<'a> {
    fn of(meta: &'a Meta) -> Self {
        Row {
            id: meta.id.to_string(),
            parent: meta.parent.as_ref().map(|parent| parent.session.to_string()),
            title: meta.title.as_deref(),
            project: meta.root.display().to_string(),
            model: &meta.model,
            created: moment(meta.created),
            updated: moment(meta.updated),
            items: meta.items,
            requests: meta.totals.requests,
            input_tokens: meta.totals.usage.prompt(),
            output_tokens: meta.totals.usage.output,
            cost_usd: meta.totals.cost.usd(),
        }
    }
}

async fn list(store: &Sqlite, args: &SessionsList, global: &Global, env: &Environment) -> Result<()> {
    let root = match args.all {
        true => None,
        false => Some(project::root(global.cwd.as_deref(), env)?),
    };
    let all = store.list(root.clone()).await?;
    let first: Vec<&Meta> = all.iter().filter(|meta| is_first(meta, &all)).collect();
    let mut shown = Vec::new();
    for meta in first.iter().take(args.most()) {
        family(meta, &all, 0, &mut shown);
    }
    if args.json {
        let rows: Vec<Row<'_>> = shown.iter().map(|(_, meta)| Row::of(meta)).collect();
        return output::deliver(&output::pretty(&rows)?);
    }
    if shown.is_empty() {
        let place = root.map_or("yet".into(), |root| format!("in {}", places::tidy(&root, env)));
        output::complain(&format!("no sessions {place}\n"));
        return Ok(());
    }
    output::deliver(&render(&shown, args.all, env))?;
    if args.most() < first.len() {
        output::complain(&format!(
            "{} more; -n {} shows them\n",
            first.len() - args.most(),
            first.len()
        ));
    }
    Ok(())
}

/// Whether a session is no subtask of one that is listed too.
fn is_first(meta: &Meta, all: &[Meta]) -> bool {
    match &meta.parent {
        Some(parent) => all.iter().all(|other| other.id != parent.session),
        None => true,
    }
}

/// A session and, below it, its subtasks, the oldest first.
fn family<'a>(meta: &'a Meta, all: &'a [Meta], depth: usize, shown: &mut Vec<(usize, &'a Meta)>) {
    shown.push((depth, meta));
    let is_child = |other: &&Meta| other.parent.as_ref().is_some_and(|parent| parent.session == meta.id);
    // Newest first is how they come.
    for child in all.iter().rev().filter(is_child) {
        if shown.iter().all(|(_, known)| known.id != child.id) {
            family(child, all, depth + 1, shown);
        }
    }
}

fn render(shown: &[(usize, &Meta)], with_project: bool, env: &Environment) -> String {
    let time = now();
    let wide = columns().saturating_sub(60).max(30);
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|(depth, meta)| {
            let mut row = vec![
                short(meta.id),
                ago(meta.updated, time),
                tokens(meta.totals.usage.prompt() + meta.totals.usage.output),
                money(meta.totals.cost),
            ];
            if with_project {
                row.push(line(&places::tidy(&meta.root, env), 40));
            }
            let title = line(meta.title.as_deref().unwrap_or("(untitled)"), wide);
            row.push(match depth {
                0 => title,
                depth => format!("{}└ {title}", "  ".repeat(depth - 1)),
            });
            row
        })
        .collect();
    let mut columns = vec![
        ("ID", Align::Left),
        ("UPDATED", Align::Left),
        ("TOKENS", Align::Right),
        ("COST", Align::Right),
    ];
    if with_project {
        columns.push(("PROJECT", Align::Left));
    }
    columns.push(("TITLE", Align::Left));
    table::render(&columns, &rows)
}

async fn delete(store: &Sqlite, ids: &[String], yes: bool, env: &Environment) -> Result<()> {
    let mut found = Vec::new();
    for id in ids {
        found.push(store.load(store.find(id).await?).await?.meta);
    }
    for meta in found {
        let title = meta.title.as_deref().unwrap_or("untitled");
        let name = format!("{} ({})", short(meta.id), line(title, 60));
        if !yes {
            if !std::io::stdin().is_terminal() {
                return Err(
                    Failure::usage(format!("deleting {name} needs a yes")).hint("add --yes where nobody can be asked")
                );
            }
            if !ask::confirm(&format!("delete {name} with {}?", plural(meta.items, "item"))) {
                continue;
            }
        }
        store.delete(meta.id).await?;
        wiring::spill::forget(env, meta.id);
        output::complain(&format!("deleted {name}\n"));
    }
    Ok(())
}
