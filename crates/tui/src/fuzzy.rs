//! Incremental fuzzy search that never delays a key.

use nucleo_matcher::pattern::{AtomKind, CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use std::sync::Arc;

/// Names examined per step.
const NAMES_PER_STEP: usize = 20_000;
/// Maximum query length in characters.
const MAX_QUERY: usize = 256;

/// The order of names that match equally well.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TieOrder {
    ShortestFirst,
    AsListed,
}

/// A search through names, best match first. A longer query only examines the matches of the shorter one.
pub(crate) struct FuzzySearch {
    names: Arc<Vec<String>>,
    query: String,
    pattern: Pattern,
    matcher: Matcher,
    tie_order: TieOrder,
    /// Indices to examine; `None` for all names.
    candidates: Option<Vec<u32>>,
    next: usize,
    matches: Vec<FuzzyMatch>,
}

/// A matching name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FuzzyMatch {
    index: u32,
    score: u32,
}

impl FuzzySearch {
    /// Searches paths.
    pub(crate) fn paths(names: Arc<Vec<String>>) -> FuzzySearch {
        FuzzySearch::with(names, Config::DEFAULT.match_paths(), TieOrder::ShortestFirst)
    }

    /// Searches names of symbols.
    pub(crate) fn symbols(names: Arc<Vec<String>>) -> FuzzySearch {
        FuzzySearch::with(names, Config::DEFAULT, TieOrder::ShortestFirst)
    }

    /// Searches an ordered list.
    pub(crate) fn names(names: Arc<Vec<String>>) -> FuzzySearch {
        FuzzySearch::with(names, Config::DEFAULT, TieOrder::AsListed)
    }

    fn with(names: Arc<Vec<String>>, config: Config, tie_order: TieOrder) -> FuzzySearch {
        let mut fuzzy = FuzzySearch {
            names,
            query: String::new(),
            pattern: Pattern::default(),
            matcher: Matcher::new(config),
            tie_order,
            candidates: None,
            next: 0,
            matches: Vec::new(),
        };
        fuzzy.set_query("");
        fuzzy
    }

    /// Sets the query.
    pub(crate) fn set_query(&mut self, query: &str) {
        let query: String = query.chars().take(MAX_QUERY).collect();
        let narrows = query.starts_with(&self.query) && !self.is_working() && !self.query.is_empty();
        self.candidates = narrows.then(|| self.matches.iter().map(|hit| hit.index).collect());
        self.pattern = Pattern::new(&query, CaseMatching::Smart, Normalization::Smart, AtomKind::Fuzzy);
        self.query = query;
        self.next = 0;
        self.matches.clear();
        self.step();
    }

    pub(crate) fn query(&self) -> &str {
        &self.query
    }

    /// Whether names remain to be examined.
    pub(crate) fn is_working(&self) -> bool {
        !self.query.is_empty() && self.next < self.candidate_count()
    }

    /// Examines some more names.
    pub(crate) fn step(&mut self) {
        if self.query.is_empty() {
            return;
        }
        let end = (self.next + NAMES_PER_STEP).min(self.candidate_count());
        let mut buffer = Vec::new();
        for position in self.next..end {
            let index = match &self.candidates {
                Some(source) => source[position],
                None => position as u32,
            };
            let name = &self.names[index as usize];
            let score = self.pattern.score(Utf32Str::new(name, &mut buffer), &mut self.matcher);
            if let Some(score) = score {
                let score = score + bonus(name, &self.query);
                self.matches.push(FuzzyMatch { index, score });
            }
        }
        self.next = end;
        self.matches.sort_unstable_by_key(|hit| {
            let length = match self.tie_order {
                TieOrder::ShortestFirst => self.names[hit.index as usize].len(),
                TieOrder::AsListed => 0,
            };
            (std::cmp::Reverse(hit.score), length, hit.index)
        });
    }

    /// The number of matches so far.
    pub(crate) fn count(&self) -> usize {
        if self.query.is_empty() {
            self.names.len()
        } else {
            self.matches.len()
        }
    }

    /// Indices of the matches, best first; all in order if the query is empty.
    pub(crate) fn matches(&self) -> impl Iterator<Item = usize> + '_ {
        let all = if self.query.is_empty() {
            0..self.names.len()
        } else {
            0..0
        };
        all.chain(self.matches.iter().map(|hit| hit.index as usize))
    }

    /// The matched characters of a name.
    pub(crate) fn matched_chars(&mut self, name: &str) -> Vec<usize> {
        let (mut buffer, mut marks) = (Vec::new(), Vec::new());
        if !self.query.is_empty() {
            self.pattern
                .indices(Utf32Str::new(name, &mut buffer), &mut self.matcher, &mut marks);
        }
        marks.sort_unstable();
        marks.dedup();
        marks.into_iter().map(|mark| mark as usize).collect()
    }

    fn candidate_count(&self) -> usize {
        self.candidates.as_ref().map_or(self.names.len(), Vec::len)
    }
}

/// Users mostly type file names: an exact name ranks first, then names that begin with the query.
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
        let mut fuzzy = FuzzySearch::paths(Arc::clone(&names));
        fuzzy.set_query(query);
        fuzzy.matches().map(|index| names[index].clone()).collect()
    }

    #[test]
    fn an_exact_file_name_ranks_before_partial_matches() {
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
    fn without_a_query_names_keep_their_order() {
        assert_eq!(search(&["b", "a"], ""), ["b", "a"]);
    }

    #[test]
    fn incremental_typing_finds_the_same_names() {
        let names: Arc<Vec<String>> = Arc::new((0..60_000).map(|n| format!("src/part{}/file{n}.rs", n % 97)).collect());
        let mut fuzzy = FuzzySearch::paths(Arc::clone(&names));
        let mut typed = Vec::new();
        for end in 1..="file4711".len() {
            fuzzy.set_query(&"file4711"[..end]);
            while fuzzy.is_working() {
                fuzzy.step();
            }
            typed = fuzzy.matches().collect();
        }
        let mut at_once = FuzzySearch::paths(names);
        at_once.set_query("file4711");
        assert!(at_once.is_working(), "a step looks at some of the names only");
        while at_once.is_working() {
            at_once.step();
        }
        assert_eq!(typed, at_once.matches().collect::<Vec<_>>());
        assert_eq!(typed[0], 4711);
    }

    #[test]
    fn matched_letters_are_reported() {
        let mut fuzzy = FuzzySearch::names(Arc::new(vec!["resume".into()]));
        fuzzy.set_query("rsm");
        assert_eq!(fuzzy.matched_chars("resume"), [0, 2, 4]);
    }
}
