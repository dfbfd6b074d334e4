//! Queries the terminal's width before the cursor leaves the caret.
//!
//! Terminals report a resize late, some after 250 ms. Drawing relative to a wrong cursor position would leave rows of
//! the region in the scrollback.

use ratatui::layout::Size;
use std::time::{Duration, Instant};

/// Time limit for a reply.
pub(super) const REPLY_TIMEOUT: Duration = Duration::from_millis(500);

/// State of the width query.
#[derive(Debug, Default)]
pub(super) struct WidthQuery {
    /// Start of the pending query.
    since: Option<Instant>,
    /// Number of outstanding replies, so that a late one is not mistaken for the reply to a newer query.
    outstanding: usize,
    trust: ReplyTrust,
    order: SizeOrder,
}

/// Order of the reported numbers. tmux up to 3.3 swaps them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum SizeOrder {
    #[default]
    RowsFirst,
    ColumnsFirst,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum ReplyTrust {
    /// Replies are correct.
    #[default]
    Trusted,
    /// The terminal does not reply.
    Silent,
    /// Replies are not about this terminal, but possibly about an outer one.
    Wrong,
}

impl WidthQuery {
    /// Whether a query is useful.
    pub(super) fn is_useful(&self) -> bool {
        self.trust == ReplyTrust::Trusted
    }

    /// Whether a reply is pending.
    pub(super) fn is_pending(&self) -> bool {
        self.since.is_some()
    }

    /// Remaining time for the reply.
    pub(super) fn remaining(&self) -> Option<Duration> {
        self.since.map(|since| REPLY_TIMEOUT.saturating_sub(since.elapsed()))
    }

    /// Starts a query.
    pub(super) fn begin(&mut self) {
        self.since = Some(Instant::now());
        self.outstanding += 1;
    }

    /// Handles a reply; returns whether it belongs to a query of this type.
    pub(super) fn accept_reply(&mut self) -> bool {
        if self.outstanding == 0 {
            return false;
        }
        self.outstanding -= 1;
        self.since = None;
        if self.trust == ReplyTrust::Silent {
            self.trust = ReplyTrust::Trusted;
        }
        true
    }

    /// The reported width. The expected size reveals the order of the numbers.
    pub(super) fn width(&mut self, first: u16, second: u16, believed: Size) -> u16 {
        if second != believed.width && (first, second) == (believed.width, believed.height) {
            self.order = SizeOrder::ColumnsFirst;
        } else if first != believed.width && (first, second) == (believed.height, believed.width) {
            self.order = SizeOrder::RowsFirst;
        }
        match self.order {
            SizeOrder::RowsFirst => second,
            SizeOrder::ColumnsFirst => first,
        }
    }

    /// Ends the query if it timed out; returns whether it did.
    pub(super) fn expire(&mut self) -> bool {
        let is_over = self.remaining() == Some(Duration::ZERO);
        if is_over {
            self.since = None;
            self.trust = ReplyTrust::Silent;
        }
        is_over
    }

    /// A reply turned out to be wrong.
    pub(super) fn distrust(&mut self) {
        self.trust = ReplyTrust::Wrong;
    }

    /// The terminal reported a resize itself.
    pub(super) fn resize_reported(&mut self) {
        if self.trust == ReplyTrust::Wrong {
            self.trust = ReplyTrust::Trusted;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_reply_is_not_mistaken_for_another() {
        let mut query = WidthQuery::default();
        query.begin();
        query.since = Instant::now().checked_sub(REPLY_TIMEOUT);
        assert!(query.expire());
        assert!(!query.is_useful() && !query.is_pending());
        // The late reply shows that the terminal does reply; the second one belongs to another query.
        assert!(query.accept_reply());
        assert!(query.is_useful());
        assert!(!query.accept_reply());
    }

    #[test]
    fn the_order_of_the_numbers_is_detected() {
        let mut query = WidthQuery::default();
        let known = Size::new(80, 24);
        assert_eq!(query.width(24, 80, known), 80);
        assert_eq!(query.width(30, 100, known), 100);
        assert_eq!(query.width(80, 24, known), 80);
        assert_eq!(query.width(100, 30, known), 100);
    }

    #[test]
    fn a_terminal_with_wrong_replies_is_not_queried_until_it_reports_a_resize() {
        let mut query = WidthQuery::default();
        query.begin();
        assert!(query.accept_reply());
        query.distrust();
        assert!(!query.is_useful());
        query.resize_reported();
        assert!(query.is_useful());
    }
}
