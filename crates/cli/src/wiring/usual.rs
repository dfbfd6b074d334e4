//! What holds where nobody says anything, for whoever looks at the configuration: taken from what uses it.

use super::{autonomy, delegation, mcp, room};
use crate::config::{Autonomy, Checkpoints, Delegation, Leaf, Loaded, Origin};
use toml::Value;

/// Every value in force with where it comes from, by key, those that nobody set included.
pub(crate) fn leaves(loaded: &Loaded) -> Vec<Leaf> {
    let mut leaves = loaded.leaves();
    for (key, value) in usual() {
        let is_set = leaves.iter().any(|leaf| leaf.key == key);
        if !is_set {
            leaves.push(Leaf {
                key: key.into(),
                value,
                origin: Origin::BuiltIn,
            });
        }
    }
    leaves.sort_by(|one, two| one.key.cmp(&two.key));
    leaves
}

fn usual() -> Vec<(&'static str, Value)> {
    let autonomy = autonomy(&Autonomy::default());
    let delegation = delegation(&Delegation::default());
    let room = room(&Checkpoints::default());
    let whole = |number: u64| i64::try_from(number).map_or(Value::Integer(i64::MAX), Value::Integer);
    let mut all = vec![
        ("compact", Value::Boolean(true)),
        ("tools.mcp_listed", whole(mcp::LISTED as u64)),
        ("delegation.depth", whole(delegation.depth.into())),
        ("delegation.parallel", whole(delegation.parallel as u64)),
        ("autonomy.enabled", Value::Boolean(autonomy.allowed)),
        ("autonomy.retries", whole(autonomy.retries.into())),
        ("autonomy.todos", Value::Boolean(autonomy.todos)),
        ("sandbox.network", Value::Boolean(false)),
        ("checkpoints.commands", Value::Boolean(true)),
        ("checkpoints.quota", Value::String(size(room.quota))),
        ("checkpoints.max_file", Value::String(size(room.max_file))),
        ("tui.vim", Value::Boolean(false)),
    ];
    all.extend(
        autonomy
            .messages
            .map(|count| ("autonomy.messages", whole(count.into()))),
    );
    all
}

/// A size as it is written in the configuration.
fn size(bytes: u64) -> String {
    let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    let fits = units
        .iter()
        .find(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit));
    fits.map_or(bytes.to_string(), |(name, unit)| format!("{}{name}", bytes / unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::environment::Environment;

    #[test]
    fn what_nobody_set_is_shown_as_what_holds() {
        let home = tempfile::tempdir().unwrap();
        let env = Environment::from([("HOME", home.path().to_str().unwrap()), ("HEW_COMPACT", "false")]);
        let loaded = config::load(None, &env, Vec::new()).unwrap();
        let leaves = leaves(&loaded);
        let find = |key: &str| {
            let leaf = leaves.iter().find(|leaf| leaf.key == key).unwrap();
            (leaf.value.to_string(), leaf.origin.to_string())
        };
        assert_eq!(find("compact"), ("false".into(), "$HEW_COMPACT".into()));
        assert_eq!(find("delegation.depth"), ("2".into(), "built in".into()));
        assert_eq!(find("checkpoints.quota"), ("\"1GiB\"".into(), "built in".into()));
        assert_eq!(find("mode"), ("\"code\"".into(), "built in".into()));
    }

    #[test]
    fn each_is_a_key_that_takes_its_value() {
        for (key, value) in usual() {
            let text = value.to_string();
            config::value_for(&config::key_path(key).unwrap(), &text, Origin::BuiltIn).unwrap();
        }
    }
}
