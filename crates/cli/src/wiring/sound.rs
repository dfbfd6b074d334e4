//! Whether the configuration is sound: everything that any part of the program would complain about later, at once.

use super::{agents, mcp, modes, panels, permissions, profile, tui};
use crate::config::Loaded;
use crate::environment::Environment;
use crate::failure::{Failure, Result};
use crate::keys;
use crate::models::Models;
use std::path::Path;

/// What is wrong with a configuration that can be read, apart from what loading it told already.
pub(crate) fn complaints(loaded: &Loaded, root: &Path, env: &Environment) -> Vec<String> {
    let (config, layers, trust) = (&loaded.config, &loaded.layers, loaded.trust);
    let mut all = tui::chosen(config, env).2;
    let (permissions, problems) = permissions::permissions(layers, trust, root, env);
    all.extend(problems);
    let found = modes::find(root, trust, env);
    all.extend(found.problems.iter().cloned());
    // The files of the mode `edit` come with each run.
    let mode = config.mode.as_deref().filter(|mode| *mode != "edit");
    all.extend(mode.and_then(|mode| wrong("mode", found.choose(mode, &[]))));
    all.extend(wrong("profile", profile(config)));
    let place = mcp::Place {
        config,
        layers,
        root,
        trust,
        env,
        further: &[],
    };
    all.extend(mcp::definitions(place).1);
    if let Ok(workspace) = super::open_workspace(root, &permissions) {
        all.extend(agents::agents(config, env, root, &workspace, None).1);
    }
    all.extend(panels::open(&toolbox::Panels::default(), config.panels.as_deref()));
    all.extend(models(loaded, env));
    all.extend(wrong("", keys::file::check(env)));
    all.dedup();
    all
}

/// Models that nobody knows. The main one is looked for by whoever uses it.
fn models(loaded: &Loaded, env: &Environment) -> Vec<String> {
    let config = &loaded.config;
    let models = Models::new(config, env);
    let named = [
        ("small_model", &config.small_model),
        ("edit_model", &config.edit_model),
        ("summary_model", &config.summary_model),
    ];
    let named = named.iter().filter_map(|(key, name)| Some((*key, name.as_deref()?)));
    let others = named.filter(|(_, name)| *name != "same" && *name != "none");
    others.filter_map(|(key, name)| wrong(key, models.find(name))).collect()
}

fn wrong<T>(key: &str, answer: Result<T>) -> Option<String> {
    let Failure { what, hint, .. } = answer.err()?;
    let key = if key.is_empty() {
        String::new()
    } else {
        format!("{key}: ")
    };
    let hint = hint.map(|hint| format!("; {hint}")).unwrap_or_default();
    Some(format!("{key}{what}{hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn everything_that_is_wrong_is_told_at_once() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".config/hew/config.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = r#"
            mode = "codee"
            profile = "none"
            small_model = "anthropic/claude-hiku"
            panels = ["nothing"]
            [keys]
            sesions = ["ctrl+s"]
            models = ["foo+q"]
            [tui]
            theme = "nope"
            [permissions]
            allow = ["runn(x)"]
            [agents.empty]
            command = ""
            [mcp.nobody]
        "#;
        std::fs::write(&file, text).unwrap();
        let env = Environment::from([("HOME", home.path().to_str().unwrap())]);
        let root = home.path().join("project");
        std::fs::create_dir(&root).unwrap();
        let loaded = config::load(Some(&root), &env, Vec::new()).unwrap();
        let all = complaints(&loaded, &root, &env);
        for part in [
            "sesions",
            "foo+q",
            "nope",
            "runn(x)",
            "codee",
            "`none`",
            "claude-hiku",
            "nothing",
            "agents.empty",
            "mcp.nobody",
        ] {
            assert!(all.iter().any(|told| told.contains(part)), "{part}: {all:#?}");
        }
        std::fs::write(&file, "").unwrap();
        let loaded = config::load(Some(&root), &env, Vec::new()).unwrap();
        assert_eq!(complaints(&loaded, &root, &env), [""; 0]);
    }
}
