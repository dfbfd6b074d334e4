//! Facts about configuration keys, declared at their fields.

use toml::{Table, Value};

/// A configuration key.
#[derive(Debug, Clone, Copy)]
pub struct ConfigKey {
    /// Its name in its table.
    pub name: &'static str,
    /// The environment variable that sets it.
    pub env: Option<&'static str>,
    /// Whether the configuration of an untrusted project may set it.
    pub project: ProjectAccess,
    /// Computes the built-in value.
    pub default: Option<fn() -> Option<Value>>,
    /// The keys of a table with fixed keys.
    pub table: &'static [ConfigKey],
}

/// Whether the configuration of an untrusted project may set a key. A project is code from anywhere: it may describe
/// how to work and may restrict what the user allows, but it may not choose where code and keys are sent or allow more
/// than the user.
#[derive(Debug, Clone, Copy)]
pub enum ProjectAccess {
    /// It may not, and neither may a trusted project: only the user decides.
    Never,
    /// It may not.
    Deny,
    /// It may.
    Allow,
    /// It may, unless the function returns that its value allows more than the user's value.
    Tighten(fn(&Value, &Value) -> bool),
    /// It may set a number that is not greater than the user's, or than this one if the user sets none.
    AtMost(u32),
    /// It may name a model of a provider that the user's configuration uses.
    OwnProvider,
    /// It may add entries to a list; the user's entries stay.
    Extend,
    /// It may set a table, from which the function removes what allows more than the user's table. The function returns the
    /// names of the removed keys.
    Filter(fn(&mut Table, Option<&Table>) -> Vec<String>),
}

impl ConfigKey {
    /// A key without further facts.
    pub const fn new(name: &'static str) -> Self {
        ConfigKey {
            name,
            env: None,
            project: ProjectAccess::Deny,
            default: None,
            table: &[],
        }
    }

    /// Whether an untrusted project may set neither this key nor a key in its table.
    pub(super) fn is_user_only(&self) -> bool {
        match self.table {
            [] => matches!(self.project, ProjectAccess::Deny | ProjectAccess::Never),
            keys => keys.iter().all(ConfigKey::is_user_only),
        }
    }
}

/// Calls a function with each key that has a value of its own, and its path.
pub(super) fn visit(keys: &'static [ConfigKey], visitor: &mut impl FnMut(&[String], &'static ConfigKey)) {
    fn walk(
        keys: &'static [ConfigKey],
        path: &mut Vec<String>,
        visitor: &mut impl FnMut(&[String], &'static ConfigKey),
    ) {
        for key in keys {
            path.push(key.name.into());
            match key.table {
                [] => visitor(path, key),
                inner => walk(inner, path, visitor),
            }
            path.pop();
        }
    }
    walk(keys, &mut Vec::new(), visitor);
}

/// The built-in values.
pub(super) fn defaults(keys: &'static [ConfigKey]) -> Table {
    let mut table = Table::new();
    visit(keys, &mut |path, key| {
        if let Some(value) = key.default.and_then(|default| default()) {
            super::layer::insert(&mut table, path, value);
        }
    });
    table
}

/// Defines a table of the configuration with fixed keys. The doc comment of a field becomes its description in the
/// JSON schema. Facts about the key follow the type in brackets, then its default value.
macro_rules! config_table {
    (
        $(#[$meta:meta])*
        pub struct $table:ident {
            $(
                $(#[$field_meta:meta])*
                $field:ident: $type:ty $([$($fact:ident: $value:expr),+])? $(= $default:expr)?,
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $table {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl $table {
            /// The keys of this table.
            pub const KEYS: &'static [$crate::config::ConfigKey] = &[$($crate::config::ConfigKey {
                $($($fact: $value,)+)?
                $(default: Some(|| toml::Value::try_from($default).ok()),)?
                ..$crate::config::ConfigKey::new(stringify!($field))
            },)*];
        }

        impl Default for $table {
            fn default() -> Self {
                Self { $($field: config_table!(@default $($default)?),)* }
            }
        }
    };
    (@default) => { Default::default() };
    (@default $default:expr) => { $default };
}

pub(super) use config_table;
