//! `hew sessions`: lists, shows, exports and deletes sessions.

use super::export;
use crate::args::{GlobalArgs, SessionsCommand, SessionsListArgs, SessionsSearchArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output::color::columns;
use crate::output::format::{ago, dollars, line, now, plural, rfc3339, tokens};
use crate::output::table::{self, ColumnAlign};
use crate::{output, paths, project};
use analysis::search_sessions;
use backends::session_markdown::{self, MarkdownDetail};
use headless::terminal_answers;
use host::redaction::Redactor;
use host::sessions::{find, short_id};
use serde::Serialize;
use session::{SessionMeta, Store};
use std::io::IsTerminal;
use std::path::Path;
use store::SqliteStore;

pub(super) async fn sessions(
    about_list: &SessionsListArgs,
    command: Option<&SessionsCommand>,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    if !about_list.is_silent() && !matches!(command, None | Some(SessionsCommand::List(_))) {
        return Err(
            Failure::usage("--all, --limit and --json before the command are for `list` only")
                .hint("`hew sessions --help` lists the commands"),
        );
    }
    let store = host::sessions::open_store(env)?;
    match command {
        None => list(&store, about_list, global, env).await?,
        Some(SessionsCommand::List(args)) => list(&store, &args.or(about_list), global, env).await?,
        Some(SessionsCommand::Show { id, full }) => {
            let loaded = load(&store, id.as_deref(), global, env).await?;
            let detail = if *full {
                MarkdownDetail::Full
            } else {
                MarkdownDetail::Short
            };
            let subtasks = store.children(loaded.meta.id).await?;
            let text = session_markdown::render(&loaded, &subtasks, detail, &|_| None);
            output::print_checked(&text)?;
        }
        Some(SessionsCommand::Export {
            id,
            output,
            bundle: true,
            ..
        }) => {
            let loaded = load(&store, id.as_deref(), global, env).await?;
            bundle(&store, &loaded.meta, output.as_deref(), global, env).await?;
        }
        Some(SessionsCommand::Export {
            id,
            format,
            output,
            bundle: false,
        }) => {
            let loaded = load(&store, id.as_deref(), global, env).await?;
            let records = store.request_records(loaded.meta.id).await?;
            let subtasks = store.children(loaded.meta.id).await?;
            export::export(&store, &loaded, &subtasks, &records, *format, output.as_deref()).await?;
        }
        Some(SessionsCommand::Search(args)) => search(&store, args, global, env).await?,
        Some(SessionsCommand::Delete { ids, yes }) => delete(&store, ids, *yes, env).await?,
    }
    Ok(ExitStatus::Done)
}

/// Finds conversations.
async fn search(store: &SqliteStore, args: &SessionsSearchArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let project = match args.all {
        true => None,
        false => Some(project::root(global.cwd.as_deref(), env)?),
    };
    let found = search_sessions(store, project, &args.words.join(" "), args.limit).await?;
    if args.json {
        return output::print_checked(&output::pretty(&found)?);
    }
    if found.is_empty() {
        output::print_stderr("no results\n");
        return Ok(());
    }
    let time = now();
    output::print_checked(&found.iter().map(|found| found.text(time)).collect::<String>())
}

/// Writes a file that others can replay.
async fn bundle(
    store: &SqliteStore,
    meta: &SessionMeta,
    file: Option<&Path>,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<()> {
    let named = format!("{}.hewbundle", short_id(meta.id));
    let file = file.unwrap_or(Path::new(&named));
    let (_, loaded) = super::load(global, env, Vec::new())?;
    let redactor = Redactor::of_config(&loaded.config, env);
    let (requests, identical) = host::bundle::export(store, meta.id, &redactor, file).await?;
    output::print_stderr(&format!(
        "wrote {} with {}, {identical} of them verified; to replay it: hew replay {0}\n",
        file.display(),
        plural(requests as u64, "request"),
    ));
    Ok(())
}

async fn load(
    store: &SqliteStore,
    id: Option<&str>,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<session::LoadedSession> {
    let id = match id {
        Some(prefix) => store.find(prefix).await?,
        None => find(store, None, &project::root(global.cwd.as_deref(), env)?).await?.id,
    };
    Ok(store.load(id).await?)
}

/// A session in the JSON of `hew sessions list --json`.
#[derive(Serialize)]
struct SessionJson<'a> {
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

impl<'a> SessionJson<'a> {
    fn of(meta: &'a SessionMeta) -> Self {
        SessionJson {
            id: meta.id.to_string(),
            parent: meta.parent.as_ref().map(|parent| parent.session.to_string()),
            title: meta.title.as_deref(),
            project: meta.root.display().to_string(),
            model: &meta.model,
            created: rfc3339(meta.created),
            updated: rfc3339(meta.updated),
            items: meta.items,
            requests: meta.totals.requests,
            input_tokens: meta.totals.usage.prompt_tokens(),
            output_tokens: meta.totals.usage.output,
            cost_usd: meta.totals.cost.usd(),
        }
    }
}

async fn list(store: &SqliteStore, args: &SessionsListArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<()> {
    let root = match args.all {
        true => None,
        false => Some(project::root(global.cwd.as_deref(), env)?),
    };
    let all = store.list(root.clone()).await?;
    let first: Vec<&SessionMeta> = all.iter().filter(|meta| is_first(meta, &all)).collect();
    let mut shown = Vec::new();
    for meta in first.iter().take(args.most()) {
        family(meta, &all, 0, &mut shown);
    }
    if args.json {
        let rows: Vec<SessionJson<'_>> = shown.iter().map(|(_, meta)| SessionJson::of(meta)).collect();
        return output::print_checked(&output::pretty(&rows)?);
    }
    if shown.is_empty() {
        let place = root.map_or("yet".into(), |root| format!("in {}", paths::display_path(&root, env)));
        output::print_stderr(&format!("no sessions {place}\n"));
        return Ok(());
    }
    output::print_checked(&render(&shown, args.all, env))?;
    if args.most() < first.len() {
        output::print_stderr(&format!(
            "{} more; -n {} shows them\n",
            first.len() - args.most(),
            first.len()
        ));
    }
    Ok(())
}

/// Whether a session is not a subtask of another listed session.
fn is_first(meta: &SessionMeta, all: &[SessionMeta]) -> bool {
    match &meta.parent {
        Some(parent) => all.iter().all(|other| other.id != parent.session),
        None => true,
    }
}

/// A session and, below it, its subtasks, the oldest first.
fn family<'a>(meta: &'a SessionMeta, all: &'a [SessionMeta], depth: usize, shown: &mut Vec<(usize, &'a SessionMeta)>) {
    shown.push((depth, meta));
    let is_child = |other: &&SessionMeta| other.parent.as_ref().is_some_and(|parent| parent.session == meta.id);
    // They are sorted from newest to oldest.
    for child in all.iter().rev().filter(is_child) {
        if shown.iter().all(|(_, known)| known.id != child.id) {
            family(child, all, depth + 1, shown);
        }
    }
}

fn render(shown: &[(usize, &SessionMeta)], with_project: bool, env: &ProcessEnv) -> String {
    let time = now();
    let wide = columns().saturating_sub(60).max(30);
    let rows: Vec<Vec<String>> = shown
        .iter()
        .map(|(depth, meta)| {
            let mut row = vec![
                short_id(meta.id),
                ago(meta.updated, time),
                tokens(meta.totals.usage.prompt_tokens() + meta.totals.usage.output),
                dollars(meta.totals.cost),
            ];
            if with_project {
                row.push(line(&paths::display_path(&meta.root, env), 40));
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
        ("ID", ColumnAlign::Left),
        ("UPDATED", ColumnAlign::Left),
        ("TOKENS", ColumnAlign::Right),
        ("COST", ColumnAlign::Right),
    ];
    if with_project {
        columns.push(("PROJECT", ColumnAlign::Left));
    }
    columns.push(("TITLE", ColumnAlign::Left));
    table::render(&columns, &rows)
}

async fn delete(store: &SqliteStore, ids: &[String], yes: bool, env: &ProcessEnv) -> Result<()> {
    let mut found = Vec::new();
    for id in ids {
        found.push(store.load(store.find(id).await?).await?.meta);
    }
    for meta in found {
        let title = meta.title.as_deref().unwrap_or("untitled");
        let name = format!("{} ({})", short_id(meta.id), line(title, 60));
        if !yes {
            if !std::io::stdin().is_terminal() {
                return Err(Failure::usage(format!("deleting {name} needs confirmation"))
                    .hint("add --yes to skip the confirmation"));
            }
            if !terminal_answers::confirm(&format!("delete {name} with {}?", plural(meta.items, "item"))) {
                continue;
            }
        }
        store.delete(meta.id).await?;
        host::long_results::remove(env, meta.id);
        output::print_stderr(&format!("deleted {name}\n"));
    }
    Ok(())
}
