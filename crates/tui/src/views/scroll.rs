//! Which row of a list is chosen, and which rows are on the screen.

use std::ops::Range;

/// The chosen row and the first one on the screen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Scroll {
    chosen: usize,
    top: usize,
}

impl Scroll {
    /// The chosen row.
    pub(crate) fn chosen(&self) -> usize {
        self.chosen
    }

    /// Chooses a row.
    pub(crate) fn choose(&mut self, row: usize) {
        self.chosen = row;
    }

    /// One row up or down, around the ends of `count` rows.
    pub(crate) fn turn(&mut self, down: bool, count: usize) {
        self.chosen = match (down, count) {
            (_, 0) => 0,
            (true, _) => (self.chosen + 1) % count,
            (false, _) => self.chosen.min(count - 1).checked_sub(1).unwrap_or(count - 1),
        };
    }

    /// So many rows up or down, to the ends of `count` rows at most.
    pub(crate) fn step(&mut self, down: bool, rows: usize, count: usize) {
        self.chosen = match down {
            true => (self.chosen + rows).min(count.saturating_sub(1)),
            false => self.chosen.saturating_sub(rows),
        };
    }

    /// The rows of `count` that are on a screen of `height`, the chosen one among them.
    pub(crate) fn window(&mut self, count: usize, height: usize) -> Range<usize> {
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
    fn the_chosen_row_is_always_on_the_screen() {
        let mut scroll = Scroll::default();
        for (down, rows) in [(true, 7), (true, 100), (false, 1), (false, 50), (true, 3)] {
            scroll.step(down, rows, 20);
            let window = scroll.window(20, 5);
            assert!(window.contains(&scroll.chosen()), "{scroll:?} {window:?}");
            assert_eq!(window.len(), 5);
        }
        scroll.turn(false, 3);
        assert_eq!(scroll.window(3, 5), 0..3);
        scroll.choose(2);
        scroll.turn(true, 3);
        assert_eq!(scroll.chosen(), 0);
        assert_eq!(Scroll::default().window(0, 5), 0..0);
    }
}
