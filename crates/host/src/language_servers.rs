//! Language servers from the configuration, and their interface for tools.

use crate::config::{Config, LspServerConfig};
use crate::trust::ProjectTrust;
use futures::future::{BoxFuture, FutureExt as _};
use lsp::{LanguageServerSpec, LanguageServers, LspDiagnostic, LspLimits, SymbolPosition};
use sandbox::{Confinement, ProcessAccess, ProcessEnvironment};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use toolbox::{
    CodeLocation, CodeServer, CodeServerError, Diagnostic, DiagnosticSeverity, DiagnosticsBaseline, FileRewrite,
    NewDiagnostics, QuickFix, SymbolQuery,
};
use workspace::Workspace;

/// The indentation width for formatting.
const TAB_WIDTH: usize = 4;

/// The language servers of a project. Returns `None` if they are disabled, or if the project is not trusted: a server
/// runs code of the project.
pub fn servers(
    config: &Config,
    trust: ProjectTrust,
    workspace: &Workspace,
    env: ProcessEnvironment,
    confinement: Option<Confinement>,
) -> Option<LanguageServers> {
    if !config.lsp.enabled || trust != ProjectTrust::Trusted {
        return None;
    }
    let limits = LspLimits {
        wait: Duration::from_millis(config.lsp.wait_ms.get().into()),
        memory: u64::from(config.lsp.memory_mb.get()) << 20,
        ..LspLimits::default()
    };
    Some(LanguageServers::new(
        workspace.clone(),
        env,
        confinement,
        specs(config),
        limits,
    ))
}

/// The configured servers and the known ones with their configured changes.
pub fn specs(config: &Config) -> Vec<LanguageServerSpec> {
    let configured = &config.lsp.servers;
    let known = lsp::builtin_servers();
    let added = configured
        .iter()
        .filter(|(name, _)| !known.iter().any(|spec| spec.name == **name));
    let added = added.map(|(name, server)| {
        let plain = LanguageServerSpec {
            name: name.clone(),
            command: Vec::new(),
            languages: Default::default(),
            roots: Vec::new(),
            outermost: false,
            required: false,
            env: Default::default(),
            init_options: Default::default(),
            settings: Default::default(),
            access: Default::default(),
        };
        (plain, Some(server))
    });
    let known = known.iter().map(|spec| (spec.clone(), configured.get(&spec.name)));
    added
        .chain(known)
        .filter(|(_, server)| !server.is_some_and(|server| server.disabled))
        .map(|(spec, server)| server.map_or(spec.clone(), |server| with_overrides(spec, server)))
        .collect()
}

fn with_overrides(mut spec: LanguageServerSpec, config: &LspServerConfig) -> LanguageServerSpec {
    let LspServerConfig {
        disabled: _,
        command,
        languages,
        roots,
        env,
        init_options,
        settings,
        sandbox,
        network,
        write,
    } = config.clone();
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
    spec.access = ProcessAccess {
        unconfined: sandbox == Some(false),
        network: network == Some(true),
        write: write.into_iter().map(PathBuf::from).collect(),
    };
    spec
}

/// The interface of language servers for tools.
struct LspCodeServer {
    servers: LanguageServers,
    root: PathBuf,
}

/// The interface of language servers for the tools of a project.
pub fn code_server(servers: LanguageServers, workspace: &Workspace) -> Arc<dyn CodeServer> {
    let root = workspace.root().to_owned();
    Arc::new(LspCodeServer { servers, root })
}

impl CodeServer for LspCodeServer {
    fn definition<'a>(&'a self, symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<Vec<CodeLocation>>> {
        async move { Some(convert_spots(self.servers.definition(&position_of(symbol)?).await?)) }.boxed()
    }

    fn references<'a>(&'a self, symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<Vec<CodeLocation>>> {
        async move { Some(convert_spots(self.servers.references(&position_of(symbol)?).await?)) }.boxed()
    }

    fn diagnostics<'a>(&'a self, path: Option<&'a PathBuf>) -> BoxFuture<'a, Option<Vec<Diagnostic>>> {
        async move {
            // For a directory, only known diagnostics of its files are returned.
            let file = path.filter(|path| self.servers.serves(path));
            let found = self.servers.diagnostics(file.map(PathBuf::as_path)).await?;
            let within = |finding: &LspDiagnostic| path.is_none_or(|path| finding.path.starts_with(path));
            Some(
                found
                    .into_iter()
                    .filter(within)
                    .map(|one| convert_diagnostic(one, &self.root))
                    .collect(),
            )
        }
        .boxed()
    }

    fn opened(&self, paths: Vec<PathBuf>) {
        self.servers.warm_up(paths);
    }

    fn changed(&self, paths: Vec<PathBuf>) {
        if paths.is_empty() {
            return;
        }
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.root.join(path)).collect();
        let servers = self.servers.clone();
        tokio::spawn(async move { servers.notify_external_changes(&paths).await });
    }

    fn baseline(&self, paths: Vec<PathBuf>) -> BoxFuture<'_, Box<dyn DiagnosticsBaseline>> {
        async move {
            let watch: Box<dyn DiagnosticsBaseline> = Box::new(LspDiagnosticsWatch {
                before: self.servers.baseline(paths).await,
                servers: self.servers.clone(),
                root: self.root.clone(),
            });
            watch
        }
        .boxed()
    }

    fn hover<'a>(&'a self, symbol: &'a SymbolQuery) -> BoxFuture<'a, Option<String>> {
        async move { self.servers.hover(&position_of(symbol)?).await }.boxed()
    }

    fn rename<'a>(
        &'a self,
        symbol: &'a SymbolQuery,
        name: &'a str,
    ) -> BoxFuture<'a, Result<Vec<FileRewrite>, CodeServerError>> {
        async move {
            let at = position_of(symbol).ok_or_else(|| CodeServerError::UnknownSymbol(symbol.name.clone()))?;
            let renamed = self.servers.rename(&at, name).await.map_err(server_failure)?;
            convert_rewrites(renamed)
        }
        .boxed()
    }

    fn quick_fixes<'a>(
        &'a self,
        path: &'a PathBuf,
        line: usize,
    ) -> BoxFuture<'a, Result<Vec<QuickFix>, CodeServerError>> {
        async move {
            let offers = self.servers.code_actions(path, line).await.map_err(server_failure)?;
            let remedy = |(title, list)| {
                Ok(QuickFix {
                    title,
                    rewrites: convert_rewrites(Some(list))?,
                })
            };
            offers
                .ok_or(CodeServerError::NoServer)?
                .into_iter()
                .map(remedy)
                .collect()
        }
        .boxed()
    }

    fn format<'a>(&'a self, path: &'a PathBuf) -> BoxFuture<'a, Result<Vec<FileRewrite>, CodeServerError>> {
        async move {
            convert_rewrites(
                self.servers
                    .format(path, TAB_WIDTH, true)
                    .await
                    .map_err(server_failure)?,
            )
        }
        .boxed()
    }
}

/// The diagnostics before a change.
struct LspDiagnosticsWatch {
    servers: LanguageServers,
    before: lsp::DiagnosticBaseline,
    root: PathBuf,
}

impl DiagnosticsBaseline for LspDiagnosticsWatch {
    fn new_diagnostics(self: Box<Self>) -> BoxFuture<'static, NewDiagnostics> {
        async move {
            let new = self.servers.new_diagnostics_since(self.before).await;
            let wait = self.servers.limits().wait;
            let unresponsive = self.servers.take_unresponsive().into_iter();
            NewDiagnostics {
                found: new.into_iter().map(|one| convert_diagnostic(one, &self.root)).collect(),
                unresponsive: unresponsive.map(|name| (name, wait)).collect(),
            }
        }
        .boxed()
    }
}

/// The position of a symbol, by its unqualified name.
fn position_of(symbol: &SymbolQuery) -> Option<SymbolPosition> {
    let ends = |letter: char| !letter.is_alphanumeric() && letter != '_' && letter != '$';
    let name = symbol.name.trim_end_matches(ends).rsplit(ends).next()?;
    Some(SymbolPosition {
        path: symbol.path.clone()?,
        name: name.to_owned(),
        line: symbol.line,
    })
}

fn convert_spots(found: Vec<lsp::LspLocation>) -> Vec<CodeLocation> {
    let location = |lsp::LspLocation { path, line }| CodeLocation { path, line };
    found.into_iter().map(location).collect()
}

fn server_failure(error: lsp::Error) -> CodeServerError {
    CodeServerError::Failed(error.to_string())
}

fn convert_rewrites(found: Option<Vec<lsp::LspRewrite>>) -> Result<Vec<FileRewrite>, CodeServerError> {
    let rewrite = |lsp::LspRewrite { path, before, after }| FileRewrite { path, before, after };
    Ok(found
        .ok_or(CodeServerError::NoServer)?
        .into_iter()
        .map(rewrite)
        .collect())
}

fn convert_diagnostic(finding: LspDiagnostic, root: &Path) -> Diagnostic {
    Diagnostic {
        severity: match finding.severity {
            lsp::LspSeverity::Error => DiagnosticSeverity::Error,
            lsp::LspSeverity::Warning => DiagnosticSeverity::Warning,
            lsp::LspSeverity::Note => DiagnosticSeverity::Note,
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
    fn the_configuration_adds_changes_and_disables_servers() {
        let config = config(
            "[lsp.servers.mine]\ncommand = ['my-server']\nlanguages = { foo = 'foo' }\n\
             [lsp.servers.clangd]\ncommand = ['clangd-19']\nenv = { A = '1' }\n[lsp.servers.pylsp]\ndisabled = true\n",
        );
        let specs = specs(&config);
        assert_eq!(specs[0].name, "mine", "added servers come first");
        let named = |name: &str| specs.iter().find(|spec| spec.name == name);
        let clangd = named("clangd").unwrap();
        assert_eq!(
            (clangd.command.as_slice(), clangd.env["A"].as_str()),
            (&["clangd-19".to_owned()][..], "1")
        );
        assert_eq!(clangd.languages["c"], "c", "other values are unchanged");
        assert!(named("pylsp").is_none() && named("pyright").is_some());
    }

    #[test]
    fn a_symbol_is_looked_up_by_its_unqualified_name() {
        for (name, own) in [
            ("Parser::next", "next"),
            ("a.b()", "b"),
            ("plain", "plain"),
            ("$x", "$x"),
        ] {
            let symbol = SymbolQuery {
                name: name.into(),
                path: Some("/p/a".into()),
                line: None,
            };
            assert_eq!(position_of(&symbol).unwrap().name, own);
        }
    }
}
