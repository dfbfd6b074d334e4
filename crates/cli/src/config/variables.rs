//! The environment variables that set configuration keys.

use super::layer::Layer;
use super::{Origin, check, layer};
use crate::environment::Environment;
use crate::failure::Result;

/// The variables and the keys that they set.
pub(crate) const VARIABLES: &[(&str, &str)] = &[
    ("HEW_MODEL", "model"),
    ("HEW_SMALL_MODEL", "small_model"),
    ("HEW_EDIT_MODEL", "edit_model"),
    ("HEW_SUMMARY_MODEL", "summary_model"),
    ("HEW_COMPACT", "compact"),
    ("HEW_MAX_CONTEXT", "max_context"),
    ("HEW_IMAGE_MODEL", "image_model"),
    ("HEW_LANGUAGE", "language"),
    ("HEW_MODE", "mode"),
    ("HEW_PERMISSION", "permission"),
    ("HEW_TOOL_PROTOCOL", "tool_protocol"),
    ("HEW_EFFORT", "effort"),
    ("HEW_TEMPERATURE", "temperature"),
    ("HEW_MAX_OUTPUT", "max_output"),
    ("HEW_TITLE", "title"),
    ("HEW_PROXY", "proxy"),
    ("HEW_MAX_STEPS", "limits.steps"),
    ("HEW_MAX_COST", "limits.cost"),
    ("HEW_MAX_TIME", "limits.time"),
    ("HEW_AUTONOMY", "autonomy.enabled"),
];

/// A layer for each variable that is set.
pub(super) fn layers(env: &Environment) -> Result<Vec<Layer>> {
    VARIABLES
        .iter()
        .filter_map(|(name, key)| env.get(name).map(|value| (*name, *key, value)))
        .map(|(name, key, value)| check::value_for(&layer::key_path(key)?, value, Origin::Variable(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_checked_like_files() {
        let env = Environment::from([("HEW_MODEL", "a/b"), ("HEW_MAX_STEPS", "3"), ("HEW_OTHER", "x")]);
        let origins: Vec<String> = layers(&env)
            .unwrap()
            .iter()
            .map(|layer| layer.origin.to_string())
            .collect();
        assert_eq!(origins, ["$HEW_MODEL", "$HEW_MAX_STEPS"]);
        let wrong = layers(&Environment::from([("HEW_PERMISSION", "ful")])).unwrap_err();
        assert_eq!(wrong.what, "$HEW_PERMISSION: permission: `ful` is not a choice");
    }
}
