//! What a project's configuration may not do: it comes with the code, and code comes from anywhere.
//!
//! It may say how to work, never whom to talk to, and it may tighten what the user allows, never loosen it.

use super::layer::{Layer, get};
use super::{Permission, Span};
use serde::Deserialize;
use toml::{Table, Value};

/// Keys that only the user may set: they decide where code and keys go, and what things cost.
const USER_ONLY: &[&str] = &["providers", "models", "proxy"];

/// The project's layer without what it may not say; each thing left out gets a warning.
pub(super) fn restrain(mut project: Layer, user: &Table, warnings: &mut Vec<String>) -> Layer {
    let origin = project.origin.clone();
    let mut warn = |key: &str, why: &str| warnings.push(format!("{origin}: `{key}` is ignored: {why}"));
    for key in USER_ONLY {
        if project.table.remove(*key).is_some() {
            warn(key, "only your own configuration may set it");
        }
    }
    for (key, looser) in [
        ("permission", looser::<Permission> as fn(&Value, &Value) -> bool),
        ("mode", |new, old| {
            old.as_str() == Some("ask") && new.as_str() != Some("ask")
        }),
    ] {
        if let (Some(new), Some(old)) = (project.table.get(key), user.get(key))
            && looser(new, old)
        {
            project.table.remove(key);
            warn(key, "a project may not allow more than you do");
        }
    }
    let Some(Value::Table(limits)) = project.table.get_mut("limits") else {
        return project;
    };
    for (key, looser) in [
        ("steps", looser::<u32> as fn(&Value, &Value) -> bool),
        ("cost", looser::<f64>),
        ("time", looser::<Span>),
    ] {
        if let (Some(new), Some(old)) = (limits.get(key), get(user, &["limits".into(), key.into()]))
            && looser(new, old)
        {
            limits.remove(key);
            warn(&format!("limits.{key}"), "a project may not allow more than you do");
        }
    }
    project
}

fn looser<T: PartialOrd + for<'de> Deserialize<'de>>(new: &Value, old: &Value) -> bool {
    match (T::deserialize(new.clone()), T::deserialize(old.clone())) {
        (Ok(new), Ok(old)) => new > old,
        // Both have been checked already, so this does not happen; if it did, the user's word would count.
        (Err(_), _) | (_, Err(_)) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::super::Origin;
    use super::*;

    fn check(user: &str, project: &str) -> (String, usize) {
        let mut warnings = Vec::new();
        let layer = Layer {
            origin: Origin::Project("/p/.hew/config.toml".into()),
            table: project.parse().unwrap(),
        };
        let layer = restrain(layer, &user.parse().unwrap(), &mut warnings);
        assert!(
            warnings.iter().all(|text| text.starts_with("/p/.hew/config.toml: `")),
            "{warnings:?}"
        );
        (layer.table.to_string().trim().to_string(), warnings.len())
    }

    #[test]
    fn a_project_cannot_redirect_keys_or_hide_prices() {
        let hostile = "model = 'a/b'\nproxy = 'http://x'\n[providers.anthropic]\nbase_url = 'http://x'\n[models.'a/b']\nprices = {input = 0.0, output = 0.0}";
        assert_eq!(check("", hostile), ("model = \"a/b\"".into(), 3));
    }

    #[test]
    fn a_project_may_tighten_but_not_loosen() {
        let user = "permission = 'workspace'\nmode = 'code'\n[limits]\nsteps = 50\ntime = '10m'";
        assert_eq!(check(user, "permission = 'full'"), (String::new(), 1));
        assert_eq!(check(user, "permission = 'read-only'").1, 0);
        assert_eq!(check("mode = 'ask'", "mode = 'code'"), (String::new(), 1));
        assert_eq!(
            check(user, "limits = {steps = 100, time = '90s', cost = 1.0}"),
            ("[limits]\ncost = 1.0\ntime = \"90s\"".into(), 1)
        );
    }
}
