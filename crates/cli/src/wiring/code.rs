//! Language servers as the configuration has them, and what the tools ask them.

use crate::config::{Config, LspServer};
use crate::trust::Trust;
use futures::future::{BoxFuture, FutureExt as _};
use lsp::{At, Finding, Limits, Servers, Spec};
use sandbox::Environment;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toolbox::{CodeServer, Diagnostic, Remedy, Rewrite, Severity, Spot, Symbol, Watch};
use workspace::Workspace;

/// How files are indented, for servers that want to be told.
const TAB: usize = 4;
const NOBODY: &str = "no language server serves this file, or it is still starting";

/// The language servers for a project; none where they are not wanted, or where nobody has said that its code is trusted:
/// a server runs what a project brings.
pub(crate) fn servers(config: &Config, trust: Trust, workspace: &Workspace, env: Environment) -> Option<Servers> {
    if config.lsp.enabled == Some(false) || trust != Trust::Trusted {
        return None;
    }
    let usual = Limits::default();
    let limits = Limits {
        wait: config
            .lsp
            .wait_ms
            .map_or(usual.wait, |wait| Duration::from_millis(wait.into())),
        memory: config
            .lsp
            .memory_mb
            .map_or(usual.memory, |memory| u64::from(memory) << 20),
        ..usual
    };
    Some(Servers::new(workspace.clone(), env, specs(config), limits))
}

/// The servers of the configuration, and those that are known, as it changes them.
pub(crate) fn specs(config: &Config) -> Vec<Spec> {
    let said = &config.lsp.servers;
    let known = lsp::known();
    let added = said
        .iter()
        .filter(|(name, _)| !known.iter().any(|spec| spec.name == **name));
    let added = added.map(|(name, server)| {
        let plain = Spec {
            name: name.clone(),
            command: Vec::new(),
            languages: Default::default(),
            roots: Vec::new(),
            outermost: false,
            required: false,
            env: Default::default(),
            init_options: Default::default(),
            settings: Default::default(),
        };
        (plain, Some(server))
    });
    let known = known.iter().map(|spec| (spec.clone(), said.get(&spec.name)));
    added
        .chain(known)
        .filter(|(_, server)| !server.is_some_and(|server| server.disabled))
        .map(|(spec, server)| server.map_or(spec.clone(), |server| changed(spec, server)))
        .collect()
}

fn changed(mut spec: Spec, said: &LspServer) -> Spec {
    let LspServer {
        disabled: _,
        command,
        languages,
        roots,
        env,
        init_options,
        settings,
    } = said.clone();
    if !command.is_empty() {
        spec.command = command;
    }
    if !languages.is_empty() {
        spec.languages = languages;
    }
    if !roots.is_empty() {
        spec.roots = roots;
        spec.required = false;
    }
    spec.env.extend(env);
    spec.init_options = init_options.unwrap_or(spec.init_options);
    spec.settings = settings.unwrap_or(spec.settings);
    spec
}

/// What the tools ask.
struct Code {
    servers: Servers,
    root: PathBuf,
}

/// What the tools of this project ask.
pub(crate) fn asked(servers: Servers, workspace: &Workspace) -> Arc<dyn CodeServer> {
    let root = workspace.root().to_owned();
    Arc::new(Code { servers, root })
}

impl CodeServer for Code {
    fn definition<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>> {
        async move { Some(spots(self.servers.definition(&at(symbol)?).await?)) }.boxed()
    }

    fn references<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<Vec<Spot>>> {
        async move { Some(spots(self.servers.references(&at(symbol)?).await?)) }.boxed()
    }

    fn diagnostics<'a>(&'a self, path: Option<&'a PathBuf>) -> BoxFuture<'a, Option<Vec<Diagnostic>>> {
        async move {
            // A folder is all that is known of the files in it.
            let file = path.filter(|path| self.servers.serves(path));
            let found = self.servers.diagnostics(file.map(PathBuf::as_path)).await?;
            let within = |finding: &Finding| path.is_none_or(|path| finding.path.starts_with(path));
            Some(
                found
                    .into_iter()
                    .filter(within)
                    .map(|one| diagnostic(one, &self.root))
                    .collect(),
            )
        }
        .boxed()
    }

    fn touched(&self, paths: Vec<PathBuf>) {
        self.servers.touch(paths);
    }

    fn changed(&self, paths: Vec<PathBuf>) {
        if paths.is_empty() {
            return;
        }
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.root.join(path)).collect();
        let servers = self.servers.clone();
        tokio::spawn(async move { servers.changed_outside(&paths).await });
    }

    fn before(&self, paths: Vec<PathBuf>) -> BoxFuture<'_, Box<dyn Watch>> {
        async move {
            let watch: Box<dyn Watch> = Box::new(Watching {
                before: self.servers.before(paths).await,
                servers: self.servers.clone(),
                root: self.root.clone(),
            });
            watch
        }
        .boxed()
    }

    fn hover<'a>(&'a self, symbol: &'a Symbol) -> BoxFuture<'a, Option<String>> {
        async move { self.servers.hover(&at(symbol)?).await }.boxed()
    }

    fn rename<'a>(&'a self, symbol: &'a Symbol, name: &'a str) -> BoxFuture<'a, Result<Vec<Rewrite>, String>> {
        async move {
            let at = at(symbol).ok_or_else(|| format!("{} is not in the code of this project", symbol.name))?;
            let renamed = self
                .servers
                .rename(&at, name)
                .await
                .map_err(|error| error.to_string())?;
            rewrites(renamed)
        }
        .boxed()
    }

    fn remedies<'a>(&'a self, path: &'a PathBuf, line: usize) -> BoxFuture<'a, Result<Vec<Remedy>, String>> {
        async move {
            let offers = self
                .servers
                .actions(path, line)
                .await
                .map_err(|error| error.to_string())?;
            let remedy = |(title, list)| {
                Ok(Remedy {
                    title,
                    rewrites: rewrites(Some(list))?,
                })
            };
            offers.ok_or(NOBODY)?.into_iter().map(remedy).collect()
        }
        .boxed()
    }

    fn format<'a>(&'a self, path: &'a PathBuf) -> BoxFuture<'a, Result<Vec<Rewrite>, String>> {
        async move {
            rewrites(
                self.servers
                    .format(path, TAB, true)
                    .await
                    .map_err(|error| error.to_string())?,
            )
        }
        .boxed()
    }
}

/// What was known before a change.
struct Watching {
    servers: Servers,
    before: lsp::Before,
    root: PathBuf,
}

impl Watch for Watching {
    fn news(self: Box<Self>) -> BoxFuture<'static, Vec<Diagnostic>> {
        async move {
            let new = self.servers.new_since(self.before).await;
            new.into_iter().map(|one| diagnostic(one, &self.root)).collect()
        }
        .boxed()
    }
}

/// A symbol where it stands, by its own name alone.
fn at(symbol: &Symbol) -> Option<At> {
    let ends = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$';
    let name = symbol.name.trim_end_matches(ends).rsplit(ends).next()?;
    Some(At {
        path: symbol.path.clone()?,
        name: name.to_owned(),
        line: symbol.line,
    })
}

fn spots(found: Vec<lsp::Spot>) -> Vec<Spot> {
    let spot = |lsp::Spot { path, line }| Spot { path, line };
    found.into_iter().map(spot).collect()
}

fn rewrites(found: Option<Vec<lsp::Rewrite>>) -> Result<Vec<Rewrite>, String> {
    let rewrite = |lsp::Rewrite { path, before, after }| Rewrite { path, before, after };
    Ok(found.ok_or(NOBODY)?.into_iter().map(rewrite).collect())
}

fn diagnostic(finding: Finding, root: &Path) -> Diagnostic {
    Diagnostic {
        severity: match finding.severity {
            lsp::Severity::Error => Severity::Error,
            lsp::Severity::Warning => Severity::Warning,
            lsp::Severity::Note => Severity::Note,
        },
        path: finding
            .path
            .strip_prefix(root)
            .unwrap_or(&finding.path)
            .display()
            .to_string(),
        line: finding.line,
        column: finding.column,
        code: finding.code,
        message: finding.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Config {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn the_configuration_adds_changes_and_leaves_out_servers() {
        let config = config(
            "[lsp.servers.mine]\ncommand = ['my-server']\nlanguages = { foo = 'foo' }\n\
             [lsp.servers.clangd]\ncommand = ['clangd-19']\nenv = { A = '1' }\n[lsp.servers.pylsp]\ndisabled = true\n",
        );
        let specs = specs(&config);
        assert_eq!(specs[0].name, "mine", "what a person adds comes first");
        let named = |name: &str| specs.iter().find(|spec| spec.name == name);
        let clangd = named("clangd").unwrap();
        assert_eq!(
            (clangd.command.as_slice(), clangd.env["A"].as_str()),
            (&["clangd-19".to_owned()][..], "1")
        );
        assert_eq!(clangd.languages["c"], "c", "what is not said stays");
        assert!(named("pylsp").is_none() && named("pyright").is_some());
    }

    #[test]
    fn a_symbol_is_asked_for_by_its_own_name() {
        for (name, own) in [
            ("Parser::next", "next"),
            ("a.b()", "b"),
            ("plain", "plain"),
            ("$x", "$x"),
        ] {
            let symbol = Symbol {
                name: name.into(),
                path: Some("/p/a".into()),
                line: None,
            };
            assert_eq!(at(&symbol).unwrap().name, own);
        }
    }
}
