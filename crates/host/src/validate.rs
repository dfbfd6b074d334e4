//! Validates the configuration beyond the types of its values.

use crate::config::LoadedConfig;
use crate::environment::ProcessEnv;
use crate::failure::{Failure, Result};
use crate::keys;
use crate::models::ModelRegistry;
use crate::open_session::active_profile;
use crate::project_context::{load_modes, open_workspace};
use crate::{acp_agents, mcp_servers, panels, permissions};
use std::path::Path;

/// All problems of a loaded configuration, except the warnings of loading it.
pub fn problems(loaded: &LoadedConfig, root: &Path, env: &ProcessEnv) -> Vec<String> {
    let (config, layers, trust) = (&loaded.config, &loaded.layers, loaded.trust);
    let (permissions, mut all) = permissions::load(layers, trust, root, env);
    let found = load_modes(root, trust, env);
    all.extend(found.problems.iter().cloned());
    // The mode `edit` gets its files with each run.
    if config.mode != "edit" {
        all.extend(problem("mode", found.choose(&config.mode, &[]).map_err(Failure::from)));
    }
    all.extend(problem("profile", active_profile(config)));
    let place = mcp_servers::McpContext {
        config,
        layers,
        root,
        trust,
        env,
        extra: &[],
        confinement: None,
    };
    all.extend(mcp_servers::definitions(place).1);
    if let Ok(workspace) = open_workspace(root, &permissions) {
        all.extend(acp_agents::load(config, env, root, &workspace, None).1);
    }
    all.extend(panels::open_initial(
        &toolbox::OpenPanels::default(),
        config.panels.as_deref(),
    ));
    all.extend(models(loaded, env));
    all.extend(problem("", keys::file::check(env)));
    all.dedup();
    all
}

/// Problems with the names of models. The main model is checked when it is used.
fn models(loaded: &LoadedConfig, env: &ProcessEnv) -> Vec<String> {
    let config = &loaded.config;
    let models = ModelRegistry::new(config, env);
    let named = [
        ("small_model", &config.small_model),
        ("edit_model", &config.edit_model),
        ("summary_model", &config.summary_model),
    ];
    let named = named.iter().filter_map(|(key, name)| Some((*key, name.as_deref()?)));
    let others = named.filter(|(_, name)| *name != "same" && *name != "none");
    others
        .filter_map(|(key, name)| problem(key, models.find(name)))
        .collect()
}

fn problem<T>(key: &str, answer: Result<T>) -> Option<String> {
    let failure = answer.err()?;
    let prefix = if key.is_empty() {
        String::new()
    } else {
        format!("{key}: ")
    };
    Some(format!("{prefix}{}", failure.with_hint()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;

    #[test]
    fn all_problems_are_reported_together() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join(".config/hew/config.toml");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        let text = r#"
            mode = "codee"
            profile = "none"
            small_model = "anthropic/claude-hiku"
            panels = ["nothing"]
            [permissions]
            allow = ["runn(x)"]
            [agents.empty]
            command = ""
            [mcp.empty]
        "#;
        std::fs::write(&file, text).unwrap();
        let env = ProcessEnv::from([("HOME", home.path().to_str().unwrap())]);
        let root = home.path().join("project");
        std::fs::create_dir(&root).unwrap();
        let loaded = config::load(Some(&root), &env, Vec::new()).unwrap();
        let all = problems(&loaded, &root, &env);
        for part in [
            "runn(x)",
            "codee",
            "`none`",
            "claude-hiku",
            "nothing",
            "agents.empty",
            "mcp.empty",
        ] {
            assert!(all.iter().any(|problem| problem.contains(part)), "{part}: {all:#?}");
        }
        std::fs::write(&file, "").unwrap();
        let loaded = config::load(Some(&root), &env, Vec::new()).unwrap();
        assert_eq!(problems(&loaded, &root, &env), [""; 0]);
    }
}
