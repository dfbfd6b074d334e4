//! `hew rewind`: goes back to an earlier message of a session, with or without the files.

use super::past::{Access, Clash, Past, Plan, changes, clash, keep_current, print, prompts, sentence, sum};
use super::run::{resume_command, short};
use crate::args::{Global, Rewind};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::output;
use crate::output::paint::columns;
use crate::output::table::{self, Align};
use crate::output::words::{ago, line, now};
use model::Message;
use serde::Serialize;
use session::{Body, Change, Item, ItemId, Restoring, Store, Tally, Version};
use std::sync::Arc;

pub(super) async fn rewind(args: &Rewind, global: &Global, env: &Environment) -> Result<Exit> {
    let (session, item) = match args.to.as_deref().map(|to| to.split_once('/').unwrap_or((to, ""))) {
        Some((session, item)) => (Some(session).filter(|name| !name.is_empty()), item),
        None => (None, ""),
    };
    if item.is_empty() {
        let past = Past::open(session, Access::Read, global, env).await?;
        list(&past, args.going.json)?;
        return Ok(Exit::Done);
    }
    let access = match args.going.dry_run {
        true => Access::Read,
        false => Access::Write,
    };
    let past = Past::open(session, access, global, env).await?;
    let to = past.item(item).await?;
    go(past, to, args).await
}

async fn go(mut past: Past, to: ItemId, args: &Rewind) -> Result<Exit> {
    let going = &args.going;
    let Some(head) = past.items.last().map(|item| item.id).filter(|head| *head != to) else {
        return Err(Failure::failed("the session is there already"));
    };
    let target = past.path_to(to).await?;
    let moves = past.moves_to(&target);
    let clash = match args.no_files {
        // Nothing is touched, so nothing can stand in the way.
        true => Clash::Overwrite,
        false => clash(going),
    };
    let (mut plan, kept) = past.plan(moves, clash).await?;
    let id = past.meta.id;
    if going.dry_run {
        print(id, "rewind", &[to], &plan, false, going.json)?;
        return Ok(Exit::Done);
    }
    if args.no_files {
        past.store.rewind(id, to).await?;
        past.items = target;
        leave(&mut past, &plan).await?;
        plan = Plan::default();
    } else {
        if let Err(failure) = plan.check(clash) {
            print(id, "rewind", &[to], &plan.only_conflicts(), false, going.json)?;
            return Err(failure);
        }
        past.carry_out(&mut plan, &kept)?;
        past.store.rewind(id, to).await?;
        past.items = target;
    }
    print(id, "rewind", &[to], &plan, true, going.json)?;
    if !going.json {
        let files = match args.no_files {
            true => "the files stay as they are".into(),
            false => sum(&plan),
        };
        output::complain(&format!(
            "back at {}; {files}\nto go on: {}; to return: hew rewind {}/{}\n",
            shown(&past.items),
            resume_command(id),
            short(id),
            name(head)
        ));
    }
    Ok(Exit::Done)
}

/// Tells the conversation how the files differ from what it knows.
async fn leave(past: &mut Past, plan: &Plan) -> Result<()> {
    if plan.steps.is_empty() {
        return Ok(());
    }
    let begin =
        "The conversation went back to this point and the files did not; compared with what was said here, someone has";
    let back = Plan {
        steps: plan
            .steps
            .iter()
            .map(|step| workspace::checkpoint::Step {
                path: step.path.clone(),
                from: step.to.clone(),
                to: step.from.clone(),
            })
            .collect(),
        ..Plan::default()
    };
    let message = Arc::new(Message::user(sentence(begin, &back)));
    let kept = left(past, plan);
    past.append(Body::Restored {
        message,
        how: Restoring::Left,
        of: Vec::new(),
        changes: kept,
    })
    .await
}

/// The changes from what a plan would have made of files to what they are, which is kept.
fn left(past: &Past, plan: &Plan) -> Vec<Change> {
    let depot = past.depot();
    let changes = plan.changes().into_iter().map(|change| Change {
        before: change.after,
        after: change.before.map(|now| Version {
            kept: keep_current(&depot, &past.root.join(&change.path), &now),
            ..now
        }),
        path: change.path,
    });
    changes.collect()
}

/// A prompt in the JSON of `hew rewind SESSION --json`.
#[derive(Serialize)]
struct Row {
    number: usize,
    item: String,
    at_ms: u64,
    text: String,
    changed: usize,
}

/// Lists the prompts of a session, with what each led to.
fn list(past: &Past, json: bool) -> Result<()> {
    let starts: Vec<usize> = (0..past.items.len())
        .filter(|at| matches!(past.items[*at].body, Body::Prompt { .. }))
        .collect();
    let rows = prompts(&past.items).zip(1..).map(|(item, number)| {
        let from = starts[number - 1];
        let until = starts.get(number).copied().unwrap_or(past.items.len());
        let tally = Tally::of(past.items[from..until].iter().flat_map(|item| changes(item)));
        Row {
            number,
            item: item.id.to_string(),
            at_ms: item.at.0,
            text: item
                .message()
                .map(|message| session::spoken(message))
                .unwrap_or_default(),
            changed: tally.files,
        }
    });
    let rows: Vec<Row> = rows.collect();
    if json {
        return output::deliver(&output::pretty(&rows)?);
    }
    let wide = columns().saturating_sub(40).max(30);
    let cells: Vec<Vec<String>> = prompts(&past.items)
        .zip(&rows)
        .map(|(item, row)| {
            vec![
                row.number.to_string(),
                name(item.id),
                ago(item.at, now()),
                row.changed.to_string(),
                line(row.text.trim(), wide),
            ]
        })
        .collect();
    let heads = [
        ("#", Align::Right),
        ("ITEM", Align::Left),
        ("WHEN", Align::Left),
        ("CHANGED", Align::Right),
        ("PROMPT", Align::Left),
    ];
    output::deliver(&table::render(&heads, &cells))?;
    output::complain(&format!(
        "to go back to one: hew rewind {}/ITEM, or with its number\n",
        short(past.meta.id)
    ));
    Ok(())
}

/// The end of an id, which tells items of a session apart.
fn name(id: ItemId) -> String {
    let text = id.0.as_simple().to_string();
    text[text.len() - 8..].to_owned()
}

fn shown(items: &[Arc<Item>]) -> String {
    match items.last().and_then(|item| item.message()) {
        Some(message) if !session::spoken(message).trim().is_empty() => {
            format!("“{}”", line(session::spoken(message).trim(), 60))
        }
        Some(_) | None => "that point".into(),
    }
}
