//! `hew compact`: makes room in a session that has grown long.

use super::{load_for, run};
use crate::args::{Compact, Global};
use crate::environment::Environment;
use crate::exit::Exit;
use crate::failure::{Failure, Result};
use crate::wiring::{self, Choice, Start, Which};
use crate::{output, project};
use agent::{Approvals, Handle, Previews};
use session::{Body, Command, Event};

pub(super) async fn compact(args: Compact, global: &Global, env: &Environment) -> Result<Exit> {
    let here = project::root(global.cwd.as_deref(), env)?;
    let store = wiring::open_store(env)?;
    let id = args.session.as_deref().filter(|id| *id != "last");
    let meta = run::find(&store, id, &here).await?;
    let root = wiring::session_root(&meta.root)?;
    let mut loaded = load_for(root.clone(), global, env, Vec::new())?;
    loaded.config.model = Some(meta.model);
    let started = wiring::start(Start {
        config: &loaded.config,
        env,
        root: &root,
        store,
        which: Which::Existing(meta.id),
        approvals: Approvals::Deny,
        previews: Previews::Skip,
        output_schema: None,
        layers: &loaded.layers,
        trust: loaded.trust,
        files: &[],
        model: Choice::Asked,
        client: wiring::acp::Client::default(),
    })
    .await?;
    let Handle {
        commands,
        mut events,
        task,
    } = started.handle;
    let instructions = Some(args.instructions.join(" ")).filter(|words| !words.is_empty());
    // A session that is gone already says why in its events.
    drop(commands.send(Command::Compact { instructions }).await);
    drop(commands.send(Command::Close).await);
    while let Some(event) = events.recv().await {
        match event {
            Event::Notice { text, .. } => output::complain(&format!("{text}\n")),
            Event::ItemFinished { item } => {
                if let Body::Summary { message, .. } = &item.body {
                    output::deliver(&format!("{}\n", message.text()))?;
                }
            }
            _ => {}
        }
    }
    task.await
        .map_err(|_| Failure::usage("the session broke down; its log is whole"))?;
    drop(started.lease);
    Ok(Exit::Done)
}
