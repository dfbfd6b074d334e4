//! The environment variables that set configuration keys.

use super::key::visit;
use super::layer::ConfigLayer;
use super::{Config, ConfigOrigin, check};
use crate::environment::ProcessEnv;
use crate::failure::Result;

/// A layer for each variable that is set.
pub(super) fn layers(env: &ProcessEnv) -> Result<Vec<ConfigLayer>> {
    let mut layers = Vec::new();
    visit(Config::KEYS, &mut |path, key| {
        let variable = key.env.and_then(|name| Some((name, env.get(name)?)));
        layers.extend(variable.map(|(name, value)| check::value_for(path, value, ConfigOrigin::Variable(name))));
    });
    layers.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_checked_like_files() {
        let env = ProcessEnv::from([("HEW_MODEL", "a/b"), ("HEW_MAX_STEPS", "3"), ("HEW_OTHER", "x")]);
        let origins: Vec<String> = layers(&env)
            .unwrap()
            .iter()
            .map(|layer| layer.origin.to_string())
            .collect();
        assert_eq!(origins, ["$HEW_MODEL", "$HEW_MAX_STEPS"]);
        let invalid = layers(&ProcessEnv::from([("HEW_PERMISSION", "ful")])).unwrap_err();
        assert_eq!(invalid.message, "$HEW_PERMISSION: permission: `ful` is not a choice");
    }
}
