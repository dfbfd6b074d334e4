//! `hew lsp`: the language servers of this folder, and a file's diagnostics.

use super::load;
use crate::args::{GlobalArgs, LspArgs as Args};
use crate::environment::ProcessEnv;
use crate::exit::ExitStatus;
use crate::failure::{Failure, Result};
use crate::output;
use crate::trust::ProjectTrust;
use host::{confinement, language_servers};
use lsp::{LanguageServerSpec, LspSeverity};
use workspace::Workspace;

pub(super) async fn lsp(args: &Args, global: &GlobalArgs, env: &ProcessEnv) -> Result<ExitStatus> {
    let (root, loaded) = load(global, env, Vec::new())?;
    let seen = confinement::environment(&loaded.config, env);
    let Some(file) = &args.file else {
        let specs = language_servers::specs(&loaded.config);
        let found = specs
            .iter()
            .filter(|spec| spec.command.first().is_some_and(|name| seen.has_program(name)));
        let mut text: String = found.map(line).collect();
        if text.is_empty() {
            text = format!(
                "none of the {} language servers that hew knows is installed\n",
                specs.len()
            );
        }
        if !loaded.config.lsp.enabled {
            text.push_str("no server is started: lsp.enabled is false\n");
        } else if loaded.trust != ProjectTrust::Trusted {
            text.push_str("no server is started: this folder is not trusted; `hew trust` trusts it\n");
        }
        output::print_checked(&text)?;
        return Ok(ExitStatus::Done);
    };
    let workspace = Workspace::open(&root).map_err(|error| Failure::usage(error.to_string()))?;
    let confined = confinement::of_project(&loaded, &root, env)?;
    let servers =
        language_servers::servers(&loaded.config, loaded.trust, &workspace, seen, confined).ok_or_else(|| {
            let failure = Failure::usage("no language server is started here");
            failure.hint("the folder has to be trusted (`hew trust`), and lsp.enabled must not be false")
        })?;
    let location = workspace
        .locate(file)
        .map_err(|error| Failure::usage(error.to_string()))?;
    if !servers.serves(location.path()) {
        let shown = location.shown();
        return Err(Failure::usage(format!(
            "no language server on this machine serves {shown}"
        )));
    }
    let found = servers.diagnostics(Some(location.path())).await;
    let status = servers.status().pop();
    let (name, state) = status.map_or_else(Default::default, |status| (status.name, status.state));
    servers.stop().await;
    let Some(found) = found else {
        return Err(Failure::failed(format!("{name} has no diagnostics yet: {state}")));
    };
    let lines = found.iter().map(|one| {
        let word = match one.severity {
            LspSeverity::Error => "error",
            LspSeverity::Warning => "warning",
            LspSeverity::Note => "note",
        };
        format!(
            "{}:{}:{} {word}: {}\n",
            location.shown(),
            one.line,
            one.column,
            one.message
        )
    });
    let count = found.len();
    output::print_checked(&format!("{}{name}: {count} found\n", lines.collect::<String>()))?;
    Ok(ExitStatus::Done)
}

/// `clangd  c, cc, h: clangd --log=error`.
fn line(spec: &LanguageServerSpec) -> String {
    let endings: Vec<&str> = spec.languages.keys().map(String::as_str).collect();
    format!("{}  .{}: {}\n", spec.name, endings.join(" ."), spec.command.join(" "))
}
