//! Earlier prompts: stepping through them and searching them, without losing what was being written.

use std::collections::VecDeque;

/// The most prompts that are kept at hand.
const MOST: usize = 1_000;

/// Earlier prompts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    prompts: VecDeque<String>,
    /// Which one is shown, counted from the newest; and what was being written before.
    visit: Option<(usize, String)>,
}

/// A search through earlier prompts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Search {
    /// What is looked for.
    pub(crate) query: String,
    /// How many that fit are passed over.
    pub(crate) skip: usize,
    /// What was written before the search.
    pub(crate) before: String,
}

impl History {
    /// Puts in what is known from before; what was said meanwhile comes behind it.
    pub(crate) fn load(&mut self, prompts: Vec<String>) {
        for prompt in prompts.into_iter().rev() {
            if self.prompts.len() < MOST && self.prompts.front() != Some(&prompt) {
                self.prompts.push_front(prompt);
            }
        }
    }

    /// Something was said.
    pub(crate) fn push(&mut self, prompt: &str) {
        self.visit = None;
        if prompt.trim().is_empty() || self.prompts.back().is_some_and(|last| last == prompt) {
            return;
        }
        self.prompts.push_back(prompt.to_owned());
        if self.prompts.len() > MOST {
            self.prompts.pop_front();
        }
    }

    /// The prompt before the one that is shown.
    pub(crate) fn back(&mut self, now: &str) -> Option<String> {
        let next = self.visit.as_ref().map_or(0, |(shown, _)| shown + 1);
        let prompt = self.nth(next)?.to_owned();
        let written = self.visit.take().map_or_else(|| now.to_owned(), |(_, written)| written);
        self.visit = Some((next, written));
        Some(prompt)
    }

    /// The prompt after the one that is shown, or what was being written.
    pub(crate) fn forward(&mut self) -> Option<String> {
        let (shown, written) = self.visit.take()?;
        if shown == 0 {
            return Some(written);
        }
        let prompt = self.nth(shown - 1)?.to_owned();
        self.visit = Some((shown - 1, written));
        Some(prompt)
    }

    /// The text was changed: it is a new one.
    pub(crate) fn leave(&mut self) {
        self.visit = None;
    }

    /// Whether an earlier prompt is shown.
    pub(crate) fn is_visited(&self) -> bool {
        self.visit.is_some()
    }

    /// The newest prompt that fits a search, each text once.
    pub(crate) fn find(&self, search: &Search) -> Option<&str> {
        let query = search.query.to_lowercase();
        let mut seen: Vec<&str> = Vec::new();
        for prompt in self.prompts.iter().rev() {
            if prompt.to_lowercase().contains(&query) && !seen.contains(&prompt.as_str()) {
                if seen.len() == search.skip {
                    return Some(prompt);
                }
                seen.push(prompt);
            }
        }
        None
    }

    fn nth(&self, from_newest: usize) -> Option<&str> {
        self.prompts.iter().rev().nth(from_newest).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        let mut history = History::default();
        history.push("three");
        history.load(vec!["one".into(), "two".into()]);
        history
    }

    #[test]
    fn stepping_back_and_forward_returns_to_what_was_being_written() {
        let mut history = history();
        let back: Vec<_> = (0..4).map(|_| history.back("draft")).collect();
        assert_eq!(
            back,
            [Some("three".into()), Some("two".into()), Some("one".into()), None]
        );
        let forward: Vec<_> = (0..4).map(|_| history.forward()).collect();
        assert_eq!(
            forward,
            [Some("two".into()), Some("three".into()), Some("draft".into()), None]
        );
    }

    #[test]
    fn a_search_finds_the_newest_first_and_each_text_once() {
        let mut history = history();
        history.push("one");
        let found = |query: &str, skip| {
            let search = Search {
                query: query.into(),
                skip,
                before: String::new(),
            };
            history.find(&search).map(str::to_owned)
        };
        assert_eq!(found("O", 0), Some("one".into()));
        assert_eq!(found("O", 1), Some("two".into()));
        assert_eq!(found("O", 2), None);
    }
}
