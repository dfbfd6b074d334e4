//! What decides whether a deed happens: rules, answers, hidden and protected files, from the configuration and the project.

use super::roots;
use super::source::{self, Refusal, Source};
use crate::config::{Approval, Hook, Layer, Origin, Permissions as Said};
use crate::environment::Environment;
use crate::places;
use crate::trust::Trust;
use policy::{IGNORE_FILES, Ignore, Permissions, Places, Protected, Settings};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workspace::Workspace;

/// A longer ignore file is not read.
const MOST_BYTES: u64 = 1024 * 1024;

/// What decides in a project, and what is wrong with what people wrote about it.
pub(crate) fn permissions(
    layers: &[Layer],
    trust: Trust,
    root: &Path,
    env: &Environment,
) -> (Permissions, Vec<String>) {
    let mut told = Vec::new();
    let mut rules = Vec::new();
    let mut approval = Settings::default();
    for layer in layers {
        let origin = match (&layer.origin, trust) {
            (Origin::Project(_), Trust::Trusted) => policy::Origin::TrustedProject,
            (Origin::Project(_), Trust::Declined | Trust::Unknown) => policy::Origin::UntrustedProject,
            (Origin::BuiltIn | Origin::User(_) | Origin::Variable(_) | Origin::Flag(_), _) => policy::Origin::User,
        };
        // Each layer has been checked already.
        let said = layer
            .table
            .get("permissions")
            .and_then(|value| Said::deserialize(value.clone()).ok());
        if let Some(said) = said {
            let (layer, problems) = policy::Layer::load(origin, &(&said).into());
            told.extend(problems.iter().map(ToString::to_string));
            rules.push(layer);
        }
        let said = layer
            .table
            .get("approval")
            .and_then(|value| Approval::deserialize(value.clone()).ok());
        if let Some(said) = said {
            approval = match origin {
                policy::Origin::UntrustedProject => approval.tightened((&said).into()),
                policy::Origin::User | policy::Origin::TrustedProject => approval.overlaid((&said).into()),
            };
        }
    }
    let (more, problems) = roots::find(root, layers, env);
    told.extend(problems);
    let (ignore, problems) = ignore([root].into_iter().chain(more.iter().map(PathBuf::as_path)));
    told.extend(problems);
    let (protected, problems) = Protected::new(&lists::<String>(layers, "protected"));
    told.extend(problems.iter().map(ToString::to_string));
    let permissions = Permissions {
        rules: Arc::new(rules),
        places: Arc::new(Places {
            more,
            ..folders(root, env)
        }),
        ignore: Arc::new(ignore),
        protected: Arc::new(protected),
        approval,
        ..Permissions::default()
    };
    (permissions, told)
}

/// The programs that are run around what happens, of all layers.
pub(crate) fn hooks(layers: &[Layer]) -> Vec<Hook> {
    lists(layers, "hooks")
}

/// What a list holds in all layers together.
pub(super) fn lists<T: for<'de> Deserialize<'de>>(layers: &[Layer], key: &str) -> Vec<T> {
    let said = layers.iter().filter_map(|layer| layer.table.get(key));
    said.filter_map(|value| Vec::<T>::deserialize(value.clone()).ok())
        .flatten()
        .collect()
}

/// The folders that paths are judged by.
pub(crate) fn folders(root: &Path, env: &Environment) -> Places {
    let canonical = |path: PathBuf| path.canonicalize().unwrap_or(path);
    let mut temporary: Vec<PathBuf> = ["/tmp", "/var/tmp"].into_iter().map(PathBuf::from).collect();
    temporary.extend(env.get("TMPDIR").map(PathBuf::from).filter(|path| path.is_absolute()));
    Places {
        root: root.into(),
        home: places::home(env).map(canonical),
        temporary: temporary.into_iter().map(canonical).collect(),
        ..Places::default()
    }
}

/// What the ignore files of all folders of a project hide, in each of them.
fn ignore<'a>(roots: impl Iterator<Item = &'a Path>) -> (Ignore, Vec<String>) {
    let mut told = Vec::new();
    let mut texts = Vec::new();
    for root in roots {
        // Without the folder there are no files in it.
        let Ok(workspace) = &Workspace::open(root) else {
            continue;
        };
        let top = &source::top(workspace);
        for name in IGNORE_FILES {
            match (Source::Project { workspace, top }).read(&root.join(name), MOST_BYTES + 1) {
                Ok(bytes) if bytes.len() as u64 > MOST_BYTES => {
                    told.push(format!("{name} is larger than 1 MiB and is not used"));
                }
                Ok(bytes) => texts.push((name, String::from_utf8_lossy(&bytes).into_owned())),
                Err(Refusal::Unreadable(error)) => told.push(format!("cannot read {name}: {error}")),
                Err(Refusal::Elsewhere) => told.push(format!("{name} leads out of the project and is not used")),
                Err(Refusal::Missing) => {}
            }
        }
    }
    let (ignore, problems) = Ignore::new(texts.iter().map(|(name, text)| (*name, text.as_str())));
    told.extend(problems.iter().map(ToString::to_string));
    (ignore, told)
}
