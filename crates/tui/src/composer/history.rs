//! Prompt history: stepping and searching without losing the current text.

use std::collections::VecDeque;

/// Maximum prompts in memory.
const MAX_PROMPTS: usize = 1_000;

/// Earlier prompts, oldest first.
#[derive(Debug, Default)]
pub(crate) struct PromptHistory {
    prompts: VecDeque<String>,
    /// Index of the shown prompt, counted from the newest, and the text before stepping.
    stepping: Option<(usize, String)>,
}

/// A search through earlier prompts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct HistorySearch {
    /// The search text.
    pub(crate) query: String,
    /// Number of matches to skip.
    pub(crate) skip: usize,
    /// The text before the search.
    pub(crate) before: String,
}

impl PromptHistory {
    /// Adds stored prompts before those of this run.
    pub(crate) fn load(&mut self, prompts: Vec<String>) {
        for prompt in prompts.into_iter().rev() {
            if self.prompts.len() < MAX_PROMPTS && self.prompts.front() != Some(&prompt) {
                self.prompts.push_front(prompt);
            }
        }
    }

    /// Adds a submitted prompt.
    pub(crate) fn push(&mut self, prompt: &str) {
        self.stepping = None;
        if prompt.trim().is_empty() || self.prompts.back().is_some_and(|last| last == prompt) {
            return;
        }
        self.prompts.push_back(prompt.to_owned());
        if self.prompts.len() > MAX_PROMPTS {
            self.prompts.pop_front();
        }
    }

    /// The prompt before the shown one.
    pub(crate) fn older(&mut self, now: &str) -> Option<String> {
        let next = self.stepping.as_ref().map_or(0, |(shown, _)| shown + 1);
        let prompt = self.nth(next)?.to_owned();
        let written = self
            .stepping
            .take()
            .map_or_else(|| now.to_owned(), |(_, written)| written);
        self.stepping = Some((next, written));
        Some(prompt)
    }

    /// The prompt after the shown one, or the text before stepping.
    pub(crate) fn newer(&mut self) -> Option<String> {
        let (shown, written) = self.stepping.take()?;
        if shown == 0 {
            return Some(written);
        }
        let prompt = self.nth(shown - 1)?.to_owned();
        self.stepping = Some((shown - 1, written));
        Some(prompt)
    }

    /// Stops stepping because the text was edited.
    pub(crate) fn stop_stepping(&mut self) {
        self.stepping = None;
    }

    /// Whether an earlier prompt is shown.
    pub(crate) fn is_stepping(&self) -> bool {
        self.stepping.is_some()
    }

    /// The newest match of a search; each text counts once.
    pub(crate) fn find(&self, search: &HistorySearch) -> Option<&str> {
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

    fn history() -> PromptHistory {
        let mut history = PromptHistory::default();
        history.push("three");
        history.load(vec!["one".into(), "two".into()]);
        history
    }

    #[test]
    fn stepping_back_and_forward_returns_to_the_current_text() {
        let mut history = history();
        let back: Vec<_> = (0..4).map(|_| history.older("draft")).collect();
        assert_eq!(
            back,
            [Some("three".into()), Some("two".into()), Some("one".into()), None]
        );
        let forward: Vec<_> = (0..4).map(|_| history.newer()).collect();
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
            let search = HistorySearch {
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
