//! The names by which a model selects a mode.

use policy::Mode;
use tool::fold_name;

/// The names of a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeName {
    /// The name in commands and configuration.
    pub name: String,
    /// The display name; may be empty.
    pub title: String,
}

impl From<&Mode> for ModeName {
    fn from(mode: &Mode) -> Self {
        ModeName {
            name: mode.name.clone(),
            title: mode.title.clone(),
        }
    }
}

/// The mode with this name, in any spelling, or with this display name: `code`, `💻 Code` and `Code mode` are one mode.
pub(crate) fn find_mode<'a>(modes: &'a [ModeName], name: &str) -> Option<&'a str> {
    let folded = fold_name(name);
    let named = |name: &str| {
        let same = modes.iter().find(|mode| fold_name(&mode.name) == name);
        same.or_else(|| modes.iter().find(|mode| fold_name(&mode.title) == name))
    };
    let exact = modes.iter().find(|mode| mode.name == name);
    let without_suffix = || named(folded.strip_suffix("mode").filter(|name| !name.is_empty())?);
    let found = match folded.is_empty() {
        true => exact,
        false => exact.or_else(|| named(&folded)).or_else(without_suffix),
    };
    found.map(|mode| mode.name.as_str())
}

/// The names in a list, for the model.
pub(crate) fn list_modes(modes: &[ModeName]) -> String {
    let names: Vec<&str> = modes.iter().map(|mode| mode.name.as_str()).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_found_by_its_name_in_any_spelling_or_its_display_name() {
        let modes = [("code", "💻 Code"), ("docs-writer", "Documentation Writer"), ("文", "")];
        let modes = modes.map(|(name, title)| ModeName {
            name: name.into(),
            title: title.into(),
        });
        for (name, expected) in [
            ("code", Some("code")),
            ("Code", Some("code")),
            ("💻 Code", Some("code")),
            ("Code mode", Some("code")),
            ("docs_writer", Some("docs-writer")),
            ("documentation writer", Some("docs-writer")),
            ("文", Some("文")),
            ("mode", None),
            ("💻", None),
            ("writer", None),
        ] {
            assert_eq!(find_mode(&modes, name), expected, "{name}");
        }
    }
}
