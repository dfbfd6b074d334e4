//! The key map as data: actions, contexts and keys. Help and the documentation are generated from it.

mod bindings;
mod key;

pub(crate) use bindings::BINDINGS;
pub use bindings::{KeyAction, KeyBinding, KeyContext};
pub use key::KeyChord;

use std::collections::{BTreeMap, HashMap};

/// The result of looking up a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyMatch {
    /// An action.
    Action(KeyAction),
    /// The first key of a sequence.
    Prefix,
    /// No binding.
    Unbound,
}

/// Why configured keys are invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An invalid key.
    #[error("invalid key `{0}`; use the form `ctrl+p`, `alt+enter`, `f2` or `ctrl+x s`")]
    Key(String),
    /// An unknown action.
    #[error("unknown action `{name}`{}", nearest.as_deref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// The configured name.
        name: String,
        /// The most similar name.
        nearest: Option<String>,
    },
    /// A key bound to two actions in the same context.
    #[error("`{key}` is bound to both `{one}` and `{two}`")]
    Twice {
        /// The key.
        key: String,
        /// One action.
        one: &'static str,
        /// The other action.
        two: &'static str,
    },
}

/// A sequence of one or two keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeySequence {
    first: KeyChord,
    second: Option<KeyChord>,
}

impl KeySequence {
    /// Parses `ctrl+p` or `ctrl+x s`.
    pub fn parse(text: &str) -> Result<KeySequence, Error> {
        let wrong = || Error::Key(text.to_owned());
        let mut words = text.split_whitespace();
        let first = words.next().and_then(KeyChord::parse).ok_or_else(wrong)?;
        let second = match words.next() {
            Some(word) => Some(KeyChord::parse(word).ok_or_else(wrong)?),
            None => None,
        };
        match words.next() {
            Some(_) => Err(wrong()),
            None => Ok(KeySequence { first, second }),
        }
    }
}

impl std::fmt::Display for KeySequence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.first)?;
        self.second.map_or(Ok(()), |second| write!(f, " {second}"))
    }
}

/// The key map.
#[derive(Debug, Clone)]
pub struct KeyMap {
    actions: HashMap<(KeyContext, KeySequence), KeyAction>,
    sequences: BTreeMap<KeyAction, Vec<KeySequence>>,
}

impl Default for KeyMap {
    fn default() -> Self {
        let strokes = BINDINGS
            .iter()
            .map(|binding| {
                (
                    binding.action,
                    binding
                        .keys
                        .iter()
                        .filter_map(|key| KeySequence::parse(key).ok())
                        .collect(),
                )
            })
            .collect();
        let mut map = KeyMap {
            actions: HashMap::new(),
            sequences: strokes,
        };
        map.index();
        map
    }
}

impl KeyMap {
    /// The built-in keys with configured overrides: action names and all their keys. A configured key is removed from
    /// the action that had it in the same context; an empty list unbinds an action. Invalid entries are skipped and
    /// returned by action name.
    pub fn with_overrides(overrides: &BTreeMap<String, Vec<String>>) -> (KeyMap, Vec<(String, Error)>) {
        let mut map = KeyMap::default();
        let mut given: HashMap<(KeyContext, KeySequence), KeyAction> = HashMap::new();
        let mut wrong = Vec::new();
        for (name, keys) in overrides {
            let Some(binding) = KeyBinding::by_name(name) else {
                wrong.push((name.clone(), unknown_action(name)));
                continue;
            };
            let mut strokes = Vec::new();
            for key in keys {
                let stroke = KeySequence::parse(key).and_then(|stroke| bind(&mut given, binding, stroke));
                match stroke {
                    Ok(stroke) => strokes.push(stroke),
                    Err(error) => wrong.push((name.clone(), error)),
                }
            }
            // An action with only invalid keys keeps its built-in ones.
            if !strokes.is_empty() || keys.is_empty() {
                map.sequences.insert(binding.action, strokes);
            }
        }
        for ((context, stroke), winner) in given {
            for (action, strokes) in &mut map.sequences {
                if *action != winner && action.binding().context == context {
                    strokes.retain(|other| *other != stroke);
                }
            }
        }
        map.index();
        (map, wrong)
    }

    /// The action of a single key in this context, or globally.
    pub fn action(&self, context: KeyContext, key: impl Into<KeyChord>) -> Option<KeyAction> {
        self.find(
            context,
            KeySequence {
                first: key.into(),
                second: None,
            },
        )
    }

    /// Looks up a key in this context or globally; `pending` is the first key of an unfinished sequence.
    pub fn lookup(&self, context: KeyContext, key: impl Into<KeyChord>, pending: &mut Option<KeyChord>) -> KeyMatch {
        let key = key.into();
        if let Some(first) = pending.take() {
            let stroke = KeySequence {
                first,
                second: Some(key),
            };
            return self.find(context, stroke).map_or(KeyMatch::Unbound, KeyMatch::Action);
        }
        if let Some(action) = self.action(context, key) {
            return KeyMatch::Action(action);
        }
        let begins = |(place, stroke): &(KeyContext, KeySequence)| {
            stroke.first == key && stroke.second.is_some() && (*place == context || *place == KeyContext::Everywhere)
        };
        if self.actions.keys().any(begins) {
            *pending = Some(key);
            return KeyMatch::Prefix;
        }
        KeyMatch::Unbound
    }

    /// The keys of an action, the primary one first.
    pub fn keys(&self, action: KeyAction) -> Vec<String> {
        self.sequences
            .get(&action)
            .into_iter()
            .flatten()
            .map(KeySequence::to_string)
            .collect()
    }

    /// The primary key of an action; empty if it has none.
    pub fn hint(&self, action: KeyAction) -> String {
        let first = self.sequences.get(&action).and_then(|strokes| strokes.first());
        first.map(KeySequence::to_string).unwrap_or_default()
    }

    fn find(&self, context: KeyContext, stroke: KeySequence) -> Option<KeyAction> {
        let here = self.actions.get(&(context, stroke));
        here.or_else(|| self.actions.get(&(KeyContext::Everywhere, stroke)))
            .copied()
    }

    fn index(&mut self) {
        self.actions = self
            .sequences
            .iter()
            .flat_map(|(action, strokes)| {
                strokes
                    .iter()
                    .map(|stroke| ((action.binding().context, *stroke), *action))
            })
            .collect();
    }
}

/// Binds a key to an action, unless another configured action has it in the same context.
fn bind(
    given: &mut HashMap<(KeyContext, KeySequence), KeyAction>,
    binding: &KeyBinding,
    stroke: KeySequence,
) -> Result<KeySequence, Error> {
    match given.get(&(binding.context, stroke)) {
        Some(other) if *other != binding.action => Err(Error::Twice {
            key: stroke.to_string(),
            one: other.binding().name,
            two: binding.name,
        }),
        Some(_) | None => {
            given.insert((binding.context, stroke), binding.action);
            Ok(stroke)
        }
    }
}

fn unknown_action(name: &str) -> Error {
    let shared = |other: &str| other.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    let nearest = BINDINGS.iter().max_by_key(|binding| shared(binding.name));
    Error::Unknown {
        name: name.to_owned(),
        nearest: nearest
            .filter(|binding| shared(binding.name) >= 3)
            .map(|binding| binding.name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Markdown table of all keys for the documentation.
    fn markdown() -> String {
        let map = KeyMap::default();
        let mut text = String::new();
        for context in KeyContext::ALL {
            text.push_str(&format!(
                "### {}\n\n| keys | action | |\n|---|---|---|\n",
                context.title()
            ));
            for binding in BINDINGS.iter().filter(|binding| binding.context == context) {
                let keys: Vec<String> = map.keys(binding.action).iter().map(|key| format!("`{key}`")).collect();
                text.push_str(&format!(
                    "| {} | `{}` | {} |\n",
                    keys.join(", "),
                    binding.name,
                    binding.description
                ));
            }
            text.push('\n');
        }
        text
    }

    fn press(map: &KeyMap, context: KeyContext, keys: &str) -> KeyMatch {
        let (mut last, mut pending) = (KeyMatch::Unbound, None);
        for word in keys.split_whitespace() {
            last = map.lookup(context, KeyChord::parse(word).unwrap(), &mut pending);
        }
        last
    }

    #[test]
    fn every_built_in_key_is_valid_and_unique_in_its_context() {
        let mut seen = HashMap::new();
        for binding in BINDINGS {
            for key in binding.keys {
                let stroke = KeySequence::parse(key).unwrap();
                assert_eq!(stroke.to_string(), *key, "keys are written as they are shown");
                let before = seen.insert((binding.context, stroke), binding.name);
                assert_eq!(before, None, "{key} in {:?}", binding.context);
            }
        }
    }

    #[test]
    fn the_documentation_lists_every_key() {
        assert!(
            include_str!("../../../docs/tui.md").contains(&markdown()),
            "docs/tui.md needs this:\n{}",
            markdown()
        );
    }

    #[test]
    fn every_action_has_one_row_and_a_unique_name() {
        let mut names: Vec<&str> = BINDINGS.iter().map(|binding| binding.name).collect();
        let mut actions: Vec<KeyAction> = BINDINGS.iter().map(|binding| binding.action).collect();
        let rows = BINDINGS.len();
        names.sort_unstable();
        names.dedup();
        actions.sort_unstable();
        actions.dedup();
        assert_eq!((names.len(), actions.len()), (rows, rows));
    }

    #[test]
    fn a_context_binding_precedes_a_global_one_and_sequences_wait_for_the_second_key() {
        let map = KeyMap::default();
        assert_eq!(
            press(&map, KeyContext::Composer, "enter"),
            KeyMatch::Action(KeyAction::Send)
        );
        assert_eq!(
            press(&map, KeyContext::List, "enter"),
            KeyMatch::Action(KeyAction::Choose)
        );
        assert_eq!(press(&map, KeyContext::Composer, "ctrl+x"), KeyMatch::Prefix);
        assert_eq!(
            press(&map, KeyContext::Composer, "ctrl+x s"),
            KeyMatch::Action(KeyAction::Sessions)
        );
        assert_eq!(
            press(&map, KeyContext::Composer, "ctrl+x s s"),
            KeyMatch::Unbound,
            "the pair is over"
        );
        assert_eq!(press(&map, KeyContext::Composer, "ctrl+x ctrl+b"), KeyMatch::Unbound);
    }

    #[test]
    fn a_configured_key_is_removed_from_the_action_that_had_it() {
        let own = BTreeMap::from([
            ("undo".to_owned(), vec!["ctrl+w".to_owned()]),
            ("leave".to_owned(), Vec::new()),
        ]);
        let (map, wrong) = KeyMap::with_overrides(&own);
        assert_eq!(wrong, []);
        assert_eq!(
            press(&map, KeyContext::Composer, "ctrl+w"),
            KeyMatch::Action(KeyAction::Undo)
        );
        assert_eq!(map.hint(KeyAction::DeleteWordBack), "alt+backspace");
        assert_eq!(map.keys(KeyAction::Leave), Vec::<String>::new());
    }

    #[test]
    fn key_errors_name_the_problem() {
        let of = |name: &str, keys: &[&str]| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            let (_, wrong) = KeyMap::with_overrides(&BTreeMap::from([(name.to_owned(), keys)]));
            let [(action, error)] = &wrong[..] else {
                panic!("{wrong:?}");
            };
            assert_eq!(action, name);
            error.to_string()
        };
        assert_eq!(
            of("sesions", &["f2"]),
            "unknown action `sesions`; did you mean `sessions`?"
        );
        assert_eq!(
            of("undo", &["hyper+q"]),
            "invalid key `hyper+q`; use the form `ctrl+p`, `alt+enter`, `f2` or `ctrl+x s`"
        );
        let twice = BTreeMap::from([("undo".into(), vec!["f5".into()]), ("redo".into(), vec!["f5".into()])]);
        let (_, wrong) = KeyMap::with_overrides(&twice);
        assert_eq!(wrong[0].1.to_string(), "`f5` is bound to both `redo` and `undo`");
    }

    #[test]
    fn invalid_keys_do_not_affect_valid_ones() {
        let own = BTreeMap::from([
            ("frobnicate".to_owned(), vec!["f2".to_owned()]),
            ("redraw".to_owned(), vec!["hyper+q".to_owned()]),
            ("sessions".to_owned(), vec!["f99x".to_owned(), "f2".to_owned()]),
        ]);
        let (map, wrong) = KeyMap::with_overrides(&own);
        let actions: Vec<&str> = wrong.iter().map(|(action, _)| action.as_str()).collect();
        assert_eq!(actions, ["frobnicate", "redraw", "sessions"]);
        assert_eq!(map.keys(KeyAction::Sessions), ["f2"]);
        assert_eq!(map.keys(KeyAction::Redraw), ["ctrl+l"]);
    }
}
