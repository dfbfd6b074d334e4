//! `hew compact`: summarizes a long session.

use super::{warn, with_set};
use crate::args::{CompactArgs, GlobalArgs};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::{output, project};
use agent::{Approvals, Previews};
use host::sessions::{find, open_store};
use host::{ClientServices, ModelOrigin, SessionProject, SessionRef, SessionRequest};
use session::{Body, Command, Event};

pub(super) async fn compact(args: CompactArgs, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let here = project::root(global.cwd.as_deref(), env)?;
    let store = open_store(env)?;
    let id = args.session.as_deref().filter(|id| *id != "last");
    let session = SessionRef::Existing(Box::new(find(&store, id, &here).await?));
    let flags = with_set(Vec::new(), global)?;
    let project = SessionProject::load(session, None, ModelOrigin::Configured, flags, env)?;
    warn(&project.loaded.warnings);
    let mut session = host::open(SessionRequest {
        project,
        env,
        store,
        approvals: Approvals::Deny,
        previews: Previews::Skip,
        output_schema: None,
        files: &[],
        model_origin: ModelOrigin::Requested,
        client: ClientServices::default(),
        prompt_change: Default::default(),
    })
    .await?;
    let instructions = Some(args.instructions.join(" ")).filter(|words| !words.is_empty());
    // If the session has already ended, its events give the reason.
    drop(session.commands.send(Command::Compact { instructions }).await);
    drop(session.commands.send(Command::Close).await);
    while let Some(event) = session.events.recv().await {
        match event {
            Event::Notice { text, .. } => output::print_stderr(&format!("{text}\n")),
            Event::ItemFinished { item } => {
                if let Body::Summary { message, .. } = &item.body {
                    output::print_checked(&format!("{}\n", message.text()))?;
                }
            }
            _ => {}
        }
    }
    let ended = session.resources.wait().await;
    warn(&session.resources.close().await);
    ended.map_err(|_| Failure::usage("the session failed; its log is complete"))?;
    Ok(ExitStatus::Done)
}
