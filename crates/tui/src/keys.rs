//! The key map as data: what can be done, where, and with which keys. Help and the book are made from it.

mod key;
mod table;

pub use key::Key;
pub(crate) use table::BINDINGS;
pub use table::{Binding, Context, Deed};

use std::collections::{BTreeMap, HashMap};

/// What pressing a key led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// Something is to be done.
    Deed(Deed),
    /// The key begins a pair; the next one decides.
    Waiting,
    /// The key has no meaning here.
    Nothing,
}

/// Why keys of the configuration cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A key that cannot be read.
    #[error("`{0}` is not a key; write it as `ctrl+p`, `alt+enter`, `f2` or `ctrl+x s`")]
    Key(String),
    /// An action that does not exist.
    #[error("there is no action `{name}`{}", nearest.as_deref().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default())]
    Unknown {
        /// What was written.
        name: String,
        /// What may have been meant.
        nearest: Option<String>,
    },
    /// A key that has two meanings in the same place.
    #[error("`{key}` is given to both `{one}` and `{two}`")]
    Twice {
        /// The key.
        key: String,
        /// One action.
        one: &'static str,
        /// The other.
        two: &'static str,
    },
}

/// One or two keys in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stroke {
    first: Key,
    second: Option<Key>,
}

impl Stroke {
    /// Reads `ctrl+p` or `ctrl+x s`.
    pub fn parse(text: &str) -> Result<Stroke, Error> {
        let wrong = || Error::Key(text.to_owned());
        let mut words = text.split_whitespace();
        let first = words.next().and_then(Key::parse).ok_or_else(wrong)?;
        let second = match words.next() {
            Some(word) => Some(Key::parse(word).ok_or_else(wrong)?),
            None => None,
        };
        match words.next() {
            Some(_) => Err(wrong()),
            None => Ok(Stroke { first, second }),
        }
    }
}

impl std::fmt::Display for Stroke {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.first)?;
        self.second.map_or(Ok(()), |second| write!(f, " {second}"))
    }
}

/// Which keys do what.
#[derive(Debug, Clone)]
pub struct Keys {
    deeds: HashMap<(Context, Stroke), Deed>,
    strokes: BTreeMap<Deed, Vec<Stroke>>,
}

impl Default for Keys {
    fn default() -> Self {
        let strokes = BINDINGS
            .iter()
            .map(|binding| {
                (
                    binding.deed,
                    binding.keys.iter().filter_map(|key| Stroke::parse(key).ok()).collect(),
                )
            })
            .collect();
        let mut map = Keys {
            deeds: HashMap::new(),
            strokes,
        };
        map.index();
        map
    }
}

impl Keys {
    /// The built-in keys with those of the configuration over them: an action's name and all of its keys. A key that is given
    /// to one action is taken from the one that had it in the same place; an empty list leaves an action without keys. What
    /// is wrong is left out and told, by the action's name.
    pub fn with(overrides: &BTreeMap<String, Vec<String>>) -> (Keys, Vec<(String, Error)>) {
        let mut map = Keys::default();
        let mut given: HashMap<(Context, Stroke), Deed> = HashMap::new();
        let mut wrong = Vec::new();
        for (name, keys) in overrides {
            let Some(binding) = Binding::named(name) else {
                wrong.push((name.clone(), unknown(name)));
                continue;
            };
            let mut strokes = Vec::new();
            for key in keys {
                let stroke = Stroke::parse(key).and_then(|stroke| give(&mut given, binding, stroke));
                match stroke {
                    Ok(stroke) => strokes.push(stroke),
                    Err(error) => wrong.push((name.clone(), error)),
                }
            }
            // An action whose keys are all wrong keeps those that it had.
            if !strokes.is_empty() || keys.is_empty() {
                map.strokes.insert(binding.deed, strokes);
            }
        }
        for ((context, stroke), winner) in given {
            for (deed, strokes) in &mut map.strokes {
                if *deed != winner && deed.binding().context == context {
                    strokes.retain(|other| *other != stroke);
                }
            }
        }
        map.index();
        (map, wrong)
    }

    /// What a single key does in this place, or everywhere.
    pub fn deed(&self, context: Context, key: impl Into<Key>) -> Option<Deed> {
        self.find(
            context,
            Stroke {
                first: key.into(),
                second: None,
            },
        )
    }

    /// What a key does in this place or everywhere, where it may be the first or the second of a pair: `pending` is the key
    /// before it that waits.
    pub fn press(&self, context: Context, key: impl Into<Key>, pending: &mut Option<Key>) -> Press {
        let key = key.into();
        if let Some(first) = pending.take() {
            let stroke = Stroke {
                first,
                second: Some(key),
            };
            return self.find(context, stroke).map_or(Press::Nothing, Press::Deed);
        }
        if let Some(deed) = self.deed(context, key) {
            return Press::Deed(deed);
        }
        let begins = |(place, stroke): &(Context, Stroke)| {
            stroke.first == key && stroke.second.is_some() && (*place == context || *place == Context::Everywhere)
        };
        if self.deeds.keys().any(begins) {
            *pending = Some(key);
            return Press::Waiting;
        }
        Press::Nothing
    }

    /// The keys of an action, the usual one first.
    pub fn keys(&self, deed: Deed) -> Vec<String> {
        self.strokes
            .get(&deed)
            .into_iter()
            .flatten()
            .map(Stroke::to_string)
            .collect()
    }

    /// The usual key of an action, for a hint; empty where it has none.
    pub fn hint(&self, deed: Deed) -> String {
        let first = self.strokes.get(&deed).and_then(|strokes| strokes.first());
        first.map(Stroke::to_string).unwrap_or_default()
    }

    fn find(&self, context: Context, stroke: Stroke) -> Option<Deed> {
        let here = self.deeds.get(&(context, stroke));
        here.or_else(|| self.deeds.get(&(Context::Everywhere, stroke))).copied()
    }

    fn index(&mut self) {
        self.deeds = self
            .strokes
            .iter()
            .flat_map(|(deed, strokes)| strokes.iter().map(|stroke| ((deed.binding().context, *stroke), *deed)))
            .collect();
    }
}

/// Gives a key to an action, unless another of the configuration has it in the same place.
fn give(given: &mut HashMap<(Context, Stroke), Deed>, binding: &Binding, stroke: Stroke) -> Result<Stroke, Error> {
    match given.get(&(binding.context, stroke)) {
        Some(other) if *other != binding.deed => Err(Error::Twice {
            key: stroke.to_string(),
            one: other.binding().name,
            two: binding.name,
        }),
        Some(_) | None => {
            given.insert((binding.context, stroke), binding.deed);
            Ok(stroke)
        }
    }
}

/// The table of all keys for the book, in Markdown.
pub fn markdown() -> String {
    let map = Keys::default();
    let mut text = String::new();
    for context in Context::ALL {
        text.push_str(&format!(
            "### {}\n\n| keys | action | |\n|---|---|---|\n",
            context.title()
        ));
        for binding in BINDINGS.iter().filter(|binding| binding.context == context) {
            let keys: Vec<String> = map.keys(binding.deed).iter().map(|key| format!("`{key}`")).collect();
            text.push_str(&format!(
                "| {} | `{}` | {} |\n",
                keys.join(", "),
                binding.name,
                binding.says
            ));
        }
        text.push('\n');
    }
    text
}

fn unknown(name: &str) -> Error {
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

    fn press(map: &Keys, context: Context, keys: &str) -> Press {
        let (mut last, mut pending) = (Press::Nothing, None);
        for word in keys.split_whitespace() {
            last = map.press(context, Key::parse(word).unwrap(), &mut pending);
        }
        last
    }

    #[test]
    fn every_built_in_key_can_be_read_and_has_one_meaning_in_its_place() {
        let mut seen = HashMap::new();
        for binding in BINDINGS {
            for key in binding.keys {
                let stroke = Stroke::parse(key).unwrap();
                assert_eq!(stroke.to_string(), *key, "keys are written as they are shown");
                let before = seen.insert((binding.context, stroke), binding.name);
                assert_eq!(before, None, "{key} in {:?}", binding.context);
            }
        }
    }

    #[test]
    fn the_book_lists_every_key() {
        assert!(
            include_str!("../../../docs/tui.md").contains(&markdown()),
            "docs/tui.md needs this:\n{}",
            markdown()
        );
    }

    #[test]
    fn every_action_has_one_row_and_a_name_of_its_own() {
        let mut names: Vec<&str> = BINDINGS.iter().map(|binding| binding.name).collect();
        let mut deeds: Vec<Deed> = BINDINGS.iter().map(|binding| binding.deed).collect();
        let rows = BINDINGS.len();
        names.sort_unstable();
        names.dedup();
        deeds.sort_unstable();
        deeds.dedup();
        assert_eq!((names.len(), deeds.len()), (rows, rows));
    }

    #[test]
    fn a_key_counts_in_its_place_before_everywhere_and_pairs_wait_for_their_second() {
        let map = Keys::default();
        assert_eq!(press(&map, Context::Composer, "enter"), Press::Deed(Deed::Send));
        assert_eq!(press(&map, Context::List, "enter"), Press::Deed(Deed::Choose));
        assert_eq!(press(&map, Context::Composer, "ctrl+x"), Press::Waiting);
        assert_eq!(press(&map, Context::Composer, "ctrl+x s"), Press::Deed(Deed::Sessions));
        assert_eq!(
            press(&map, Context::Composer, "ctrl+x s s"),
            Press::Nothing,
            "the pair is over"
        );
        assert_eq!(press(&map, Context::Composer, "ctrl+x ctrl+b"), Press::Nothing);
    }

    #[test]
    fn a_key_of_the_configuration_is_taken_from_the_action_that_had_it() {
        let own = BTreeMap::from([
            ("undo".to_owned(), vec!["ctrl+w".to_owned()]),
            ("leave".to_owned(), Vec::new()),
        ]);
        let (map, wrong) = Keys::with(&own);
        assert_eq!(wrong, []);
        assert_eq!(press(&map, Context::Composer, "ctrl+w"), Press::Deed(Deed::Undo));
        assert_eq!(map.hint(Deed::DeleteWordBack), "alt+backspace");
        assert_eq!(map.keys(Deed::Leave), Vec::<String>::new());
    }

    #[test]
    fn mistakes_in_the_configuration_are_named() {
        let of = |name: &str, keys: &[&str]| {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            let (_, wrong) = Keys::with(&BTreeMap::from([(name.to_owned(), keys)]));
            let [(action, error)] = &wrong[..] else {
                panic!("{wrong:?}");
            };
            assert_eq!(action, name);
            error.to_string()
        };
        assert_eq!(
            of("sesions", &["f2"]),
            "there is no action `sesions`; did you mean `sessions`?"
        );
        assert_eq!(
            of("undo", &["hyper+q"]),
            "`hyper+q` is not a key; write it as `ctrl+p`, `alt+enter`, `f2` or `ctrl+x s`"
        );
        let twice = BTreeMap::from([("undo".into(), vec!["f5".into()]), ("redo".into(), vec!["f5".into()])]);
        let (_, wrong) = Keys::with(&twice);
        assert_eq!(wrong[0].1.to_string(), "`f5` is given to both `redo` and `undo`");
    }

    #[test]
    fn a_mistake_takes_nothing_from_what_is_right() {
        let own = BTreeMap::from([
            ("frobnicate".to_owned(), vec!["f2".to_owned()]),
            ("redraw".to_owned(), vec!["hyper+q".to_owned()]),
            ("sessions".to_owned(), vec!["f99x".to_owned(), "f2".to_owned()]),
        ]);
        let (map, wrong) = Keys::with(&own);
        let actions: Vec<&str> = wrong.iter().map(|(action, _)| action.as_str()).collect();
        assert_eq!(actions, ["frobnicate", "redraw", "sessions"]);
        assert_eq!(map.keys(Deed::Sessions), ["f2"]);
        assert_eq!(map.keys(Deed::Redraw), ["ctrl+l"]);
    }
}
