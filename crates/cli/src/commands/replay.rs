//! `hew replay`: builds the requests of a session again, unchanged or with a change, and compares them.

use super::{load, run, session_flags, warn};
use crate::args::{GlobalArgs, ReplayArgs as Args, TurnArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::models::ModelRegistry;
use crate::{output, paths, project};
use analysis::replay::{self, LiveReplay, ReplaySource, ToolRun};
use host::replay::{ReplayChange, StreamSpeed};
use host::sessions::short_id;
use host::system_prompt::PromptChange;
use prompt::{RulesFile, TemplateFile};
use providers::BodySettings;
use serde_json::json;
use session::ItemId;
use std::path::Path;
use std::sync::Arc;

pub(super) async fn replay_session(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let here = project::root(global.cwd.as_deref(), env)?;
    let named = args.session.as_deref().unwrap_or("last");
    let (session, number) = match named.split_once(':') {
        Some((session, number)) if !Path::new(named).is_file() => (session, Some(number)),
        Some(_) | None => (named, None),
    };
    let source = ReplaySource::open(session, &here, env).await?;
    if args.stream {
        return play(&source, number).await;
    }
    let from = match &args.from {
        Some(part) => Some(source.item(part).await?),
        None => None,
    };
    let change = change(args, global, env)?;
    if args.live {
        return answer_again(args, &source, from, change, global, env).await;
    }
    let replayed = host::replay::replay(&source.store, source.meta.id, from, &change).await?;
    let mut runs = Vec::new();
    if args.run_tools {
        let flags = session_flags(&TurnArgs::default(), global)?;
        let tools = replay::run_tools(&source.store, &source.meta, args.yes, &flags, env).await?;
        warn(&tools.warnings);
        runs = tools.runs;
    }
    output::print_checked(&match args.json {
        true => {
            let mut report = replay::json(&replayed);
            if args.run_tools {
                report["tool_runs"] = json!(runs);
            }
            output::pretty(&report)?
        }
        false => replay::text(&replayed, &change) + &runs.iter().map(ToolRun::text).collect::<String>(),
    })?;
    match replay::has_differences(&replayed) {
        true => Err(Failure::failed("some requests differ from what was sent")
            .hint("this version of hew builds them differently, or a section was changed")),
        false => Ok(ExitStatus::Done),
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
        change.model = Some(BodySettings::of(&info, &models.body_settings(&info)?));
    }
    Ok(change)
}

/// Plays a recorded reply.
async fn play(source: &ReplaySource, number: Option<&str>) -> Result<ExitStatus> {
    let record = source.request(number).await?;
    let Some((settings, stream)) = host::replay::recorded_stream(&source.store, &record).await? else {
        return Err(Failure::usage("this reply was not recorded")
            .hint("set `record = true` in your configuration, or HEW_RECORD=true, before the session"));
    };
    let show = |text: &str| drop(output::print_checked(text));
    host::replay::decode(&settings, stream, StreamSpeed::Original, show).await;
    output::print_checked("\n")?;
    Ok(ExitStatus::Done)
}

/// The model answers again from `from` on, in a copy of the project.
async fn answer_again(
    args: &Args,
    source: &ReplaySource,
    from: Option<ItemId>,
    change: ReplayChange,
    global: &GlobalArgs,
    env: &ProcessEnv,
) -> Result<ExitStatus> {
    let live = LiveReplay::prepare(source, from, env).await?;
    output::print_stderr(&format!(
        "session {} in {}\n",
        short_id(live.copy.id),
        paths::display_path(&live.folder, env)
    ));
    let mut global = global.clone();
    if !change.without.is_empty() {
        let mut disabled = load(&global, env, Vec::new())?.1.config.tools.disabled;
        disabled.extend(change.without.iter().cloned());
        global.set.push(format!("tools.disabled={disabled:?}"));
    }
    global.cwd = None;
    let turn = TurnArgs {
        json: args.json,
        model: args.with_model.clone().or_else(|| global.turn.model.clone()),
        ..global.turn.clone()
    };
    let change = PromptChange {
        templates: change.templates,
        rules: change.rules,
    };
    let (copy, command) = (live.copy.clone(), live.command.clone());
    let exit = run::resume_changed(copy, Arc::clone(&source.store), command, turn, change, &global, env).await?;
    output::print_stderr(&live.comparison(source).await?);
    Ok(exit)
}
