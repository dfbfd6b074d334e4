//! Whether the terminal is still as wide as it was when the cursor was put at the caret: it is asked before the cursor leaves.
//!
//! A terminal tells of another size late, some a quarter of a second late. What is drawn in between from where the cursor is
//! believed to be would leave rows of the region standing in the history.

use ratatui::layout::Size;
use std::time::{Duration, Instant};

/// So long an answer of the terminal is waited for.
pub(super) const ANSWER: Duration = Duration::from_millis(500);

/// What the terminal was asked, and what its answers are worth.
#[derive(Debug, Default)]
pub(super) struct Asking {
    /// When it was asked, while the answer is waited for.
    since: Option<Instant>,
    /// So many answers are still to come: a late one is not taken for that to another question.
    owed: usize,
    worth: Worth,
    order: Order,
}

/// Which figure comes first. tmux has it wrong up to 3.3.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Order {
    #[default]
    RowsFirst,
    ColumnsFirst,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// They are believed.
    #[default]
    Trusted,
    /// There are none.
    Silent,
    /// They are not about this terminal, but perhaps about one around it.
    Wrong,
}

impl Asking {
    /// Whether it makes sense to ask.
    pub(super) fn is_of_use(&self) -> bool {
        self.worth == Worth::Trusted
    }

    /// Whether an answer is waited for.
    pub(super) fn is_open(&self) -> bool {
        self.since.is_some()
    }

    /// How long it is waited for still.
    pub(super) fn left(&self) -> Option<Duration> {
        self.since.map(|since| ANSWER.saturating_sub(since.elapsed()))
    }

    /// The terminal is asked now.
    pub(super) fn begin(&mut self) {
        self.since = Some(Instant::now());
        self.owed += 1;
    }

    /// The terminal said how wide it is; whether that was asked here.
    pub(super) fn answered(&mut self) -> bool {
        if self.owed == 0 {
            return false;
        }
        self.owed -= 1;
        self.since = None;
        if self.worth == Worth::Silent {
            self.worth = Worth::Trusted;
        }
        true
    }

    /// How wide the terminal says it is, where it was believed to be of a certain size.
    pub(super) fn width(&mut self, first: u16, second: u16, believed: Size) -> u16 {
        if second != believed.width && (first, second) == (believed.width, believed.height) {
            self.order = Order::ColumnsFirst;
        } else if first != believed.width && (first, second) == (believed.height, believed.width) {
            self.order = Order::RowsFirst;
        }
        match self.order {
            Order::RowsFirst => second,
            Order::ColumnsFirst => first,
        }
    }

    /// It has been waited for long enough: some terminals do not answer. Whether that is so.
    pub(super) fn gives_up(&mut self) -> bool {
        let is_over = self.left() == Some(Duration::ZERO);
        if is_over {
            self.since = None;
            self.worth = Worth::Silent;
        }
        is_over
    }

    /// What it said has not come true.
    pub(super) fn was_wrong(&mut self) {
        self.worth = Worth::Wrong;
    }

    /// It told of another size by itself.
    pub(super) fn resized(&mut self) {
        if self.worth == Worth::Wrong {
            self.worth = Worth::Trusted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_answer_is_not_taken_for_that_to_another_question() {
        let mut asking = Asking::default();
        asking.begin();
        asking.since = Instant::now().checked_sub(ANSWER);
        assert!(asking.gives_up());
        assert!(!asking.is_of_use() && !asking.is_open());
        // The first one comes late, and shows that there are answers; the second was asked for elsewhere.
        assert!(asking.answered());
        assert!(asking.is_of_use());
        assert!(!asking.answered());
    }

    #[test]
    fn the_order_of_the_figures_is_seen_where_the_size_is_known() {
        let mut asking = Asking::default();
        let known = Size::new(80, 24);
        assert_eq!(asking.width(24, 80, known), 80);
        assert_eq!(asking.width(30, 100, known), 100);
        assert_eq!(asking.width(80, 24, known), 80);
        assert_eq!(asking.width(100, 30, known), 100);
    }

    #[test]
    fn a_terminal_whose_answers_are_about_another_is_not_asked_until_it_changes() {
        let mut asking = Asking::default();
        asking.begin();
        assert!(asking.answered());
        asking.was_wrong();
        assert!(!asking.is_of_use());
        asking.resized();
        assert!(asking.is_of_use());
    }
}
