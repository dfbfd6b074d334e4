//! Selection and scroll position of a list.

use std::ops::Range;

/// The selected row and the first visible row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ScrollState {
    chosen: usize,
    top: usize,
}

impl ScrollState {
    /// The selected row.
    pub(crate) fn selected(&self) -> usize {
        self.chosen
    }

    /// Selects a row.
    pub(crate) fn select(&mut self, row: usize) {
        self.chosen = row;
    }

    /// Moves the selection by one row, with wrap-around.
    pub(crate) fn select_next(&mut self, down: bool, count: usize) {
        self.chosen = match (down, count) {
            (_, 0) => 0,
            (true, _) => (self.chosen + 1) % count,
            (false, _) => self.chosen.min(count - 1).checked_sub(1).unwrap_or(count - 1),
        };
    }

    /// Moves the selection by several rows, up to the ends.
    pub(crate) fn move_by(&mut self, down: bool, rows: usize, count: usize) {
        self.chosen = match down {
            true => (self.chosen + rows).min(count.saturating_sub(1)),
            false => self.chosen.saturating_sub(rows),
        };
    }

    /// The visible rows, which include the selected one.
    pub(crate) fn visible(&mut self, count: usize, height: usize) -> Range<usize> {
        self.chosen = self.chosen.min(count.saturating_sub(1));
        self.top = self
            .top
            .min(self.chosen)
            .max((self.chosen + 1).saturating_sub(height.max(1)));
        self.top = self.top.min(count.saturating_sub(height));
        self.top..(self.top + height).min(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_selected_row_is_always_visible() {
        let mut scroll = ScrollState::default();
        for (down, rows) in [(true, 7), (true, 100), (false, 1), (false, 50), (true, 3)] {
            scroll.move_by(down, rows, 20);
            let window = scroll.visible(20, 5);
            assert!(window.contains(&scroll.selected()), "{scroll:?} {window:?}");
            assert_eq!(window.len(), 5);
        }
        scroll.select_next(false, 3);
        assert_eq!(scroll.visible(3, 5), 0..3);
        scroll.select(2);
        scroll.select_next(true, 3);
        assert_eq!(scroll.selected(), 0);
        assert_eq!(ScrollState::default().visible(0, 5), 0..0);
    }
}
