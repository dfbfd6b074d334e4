//! Fuzzy search through many names, in steps so that no key waits for it.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::sync::Arc;

/// How many names are looked at in one step.
const STEP: usize = 20_000;
/// The longest query that is heeded, in characters.
const LONGEST: usize = 256;

/// A search through a list of names, best first. A longer query only looks at what the shorter one found.
pub(crate) struct Fuzzy {
    names: Arc<Vec<String>>,
    query: String,
    pattern: Pattern,
    matcher: Matcher,
    /// What is still to be looked at, newest task last; `None` where it is all names from a number on.
    source: Option<Vec<u32>>,
    next: usize,
    hits: Vec<Hit>,
}

/// A name that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Hit {
    index: u32,
    score: u32,
}

impl Fuzzy {
    /// A search through names in which `/` separates parts.
    pub(crate) fn paths(names: Arc<Vec<String>>) -> Fuzzy {
        Fuzzy::with(names, Config::DEFAULT.match_paths())
    }

    /// A search through names.
    pub(crate) fn names(names: Arc<Vec<String>>) -> Fuzzy {
        Fuzzy::with(names, Config::DEFAULT)
    }

    fn with(names: Arc<Vec<String>>, config: Config) -> Fuzzy {
        let mut fuzzy = Fuzzy {
            names,
            query: String::new(),
            pattern: Pattern::default(),
            matcher: Matcher::new(config),
            source: None,
            next: 0,
            hits: Vec::new(),
        };
        fuzzy.seek("");
        fuzzy
    }

    /// Looks for this from now on.
    pub(crate) fn seek(&mut self, query: &str) {
        let query: String = query.chars().take(LONGEST).collect();
        let narrows = query.starts_with(&self.query) && !self.is_working() && !self.query.is_empty();
        self.source = narrows.then(|| self.hits.iter().map(|hit| hit.index).collect());
        self.pattern = Pattern::new(&query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        self.query = query;
        self.next = 0;
        self.hits.clear();
        self.step();
    }

    /// What is looked for.
    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    /// Whether names are left to look at.
    pub(crate) fn is_working(&self) -> bool {
        !self.query.is_empty() && self.next < self.to_look_at()
    }

    /// Looks at some more names.
    pub(crate) fn step(&mut self) {
        if self.query.is_empty() {
            return;
        }
        let end = (self.next + STEP).min(self.to_look_at());
        let mut buffer = Vec::new();
        for position in self.next..end {
            let index = match &self.source {
                Some(source) => source[position],
                None => position as u32,
            };
            let name = &self.names[index as usize];
            let score = self.pattern.score(Utf32Str::new(name, &mut buffer), &mut self.matcher);
            if let Some(score) = score {
                let score = score + bonus(name, &self.query);
                self.hits.push(Hit { index, score });
            }
        }
        self.next = end;
        self.hits.sort_unstable_by_key(|hit| {
            (
                std::cmp::Reverse(hit.score),
                self.names[hit.index as usize].len(),
                hit.index,
            )
        });
    }

    /// How many names fit so far.
    pub(crate) fn count(&self) -> usize {
        if self.query.is_empty() {
            self.names.len()
        } else {
            self.hits.len()
        }
    }

    /// The numbers of the names that fit, best first; without a query all, in their order.
    pub(crate) fn found(&self) -> impl Iterator<Item = usize> + '_ {
        let all = if self.query.is_empty() {
            0..self.names.len()
        } else {
            0..0
        };
        all.chain(self.hits.iter().map(|hit| hit.index as usize))
    }

    /// Which characters of a name the query fits, to be marked.
    pub(crate) fn marks(&mut self, name: &str) -> Vec<usize> {
        let (mut buffer, mut marks) = (Vec::new(), Vec::new());
        if !self.query.is_empty() {
            self.pattern
                .indices(Utf32Str::new(name, &mut buffer), &mut self.matcher, &mut marks);
        }
        marks.sort_unstable();
        marks.dedup();
        marks.into_iter().map(|mark| mark as usize).collect()
    }

    fn to_look_at(&self) -> usize {
        self.source.as_ref().map_or(self.names.len(), Vec::len)
    }
}

/// People mostly type the name of a file: one that is it comes first, then those that begin with it.
fn bonus(name: &str, query: &str) -> u32 {
    let last = name.trim_end_matches('/').rsplit('/').next().unwrap_or(name);
    let stem = last.split('.').next().unwrap_or(last);
    let same = |part: &str| part.len() == query.len() && part.eq_ignore_ascii_case(query);
    let begins = last.len() > query.len()
        && last.is_char_boundary(query.len())
        && last[..query.len()].eq_ignore_ascii_case(query);
    match () {
        () if same(last) => 200,
        () if same(stem) => 100,
        () if begins => 40,
        () => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(names: &[&str], query: &str) -> Vec<String> {
        let names: Arc<Vec<String>> = Arc::new(names.iter().map(|name| (*name).to_owned()).collect());
        let mut fuzzy = Fuzzy::paths(Arc::clone(&names));
        fuzzy.seek(query);
        fuzzy.found().map(|index| names[index].clone()).collect()
    }

    #[test]
    fn the_file_of_that_name_comes_before_those_that_only_fit() {
        let names = [
            "src/domain/inner.rs",
            "src/main.rs",
            "maintenance.md",
            "docs/m/a/i/n.txt",
            "other",
        ];
        let found = search(&names, "main");
        assert_eq!(
            found,
            [
                "src/main.rs",
                "maintenance.md",
                "docs/m/a/i/n.txt",
                "src/domain/inner.rs"
            ]
        );
    }

    #[test]
    fn without_a_query_everything_stands_in_its_order() {
        assert_eq!(search(&["b", "a"], ""), ["b", "a"]);
    }

    #[test]
    fn typing_on_finds_what_typing_at_once_finds() {
        let names: Arc<Vec<String>> = Arc::new((0..60_000).map(|n| format!("src/part{}/file{n}.rs", n % 97)).collect());
        let mut fuzzy = Fuzzy::paths(Arc::clone(&names));
        let mut typed = Vec::new();
        for end in 1..="file4711".len() {
            fuzzy.seek(&"file4711"[..end]);
            while fuzzy.is_working() {
                fuzzy.step();
            }
            typed = fuzzy.found().collect();
        }
        let mut at_once = Fuzzy::paths(names);
        at_once.seek("file4711");
        assert!(at_once.is_working(), "a step looks at some of the names only");
        while at_once.is_working() {
            at_once.step();
        }
        assert_eq!(typed, at_once.found().collect::<Vec<_>>());
        assert_eq!(typed[0], 4711);
    }

    #[test]
    fn marks_say_which_letters_fit() {
        let mut fuzzy = Fuzzy::names(Arc::new(vec!["resume".into()]));
        fuzzy.seek("rsm");
        assert_eq!(fuzzy.marks("resume"), [0, 2, 4]);
    }
}
