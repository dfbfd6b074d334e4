//! The part of a buffer around the cursor that a prompt contains, and the part of it that a model may rewrite.

use std::ops::Range;

use crate::EditorBuffer;

/// The sizes of an excerpt in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcerptLimits {
    /// The region that a model may rewrite.
    pub editable: usize,
    /// The text above the editable region.
    pub above: usize,
    /// The text below the editable region.
    pub below: usize,
}

impl Default for ExcerptLimits {
    /// About 350, 1,000 and 500 tokens, at three bytes each.
    fn default() -> Self {
        ExcerptLimits {
            editable: 1_050,
            above: 3_000,
            below: 1_500,
        }
    }
}

/// The text around a cursor. All ranges are bytes of the buffer; `excerpt` and `editable` cover whole lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorExcerpt {
    /// The whole excerpt.
    pub excerpt: Range<usize>,
    /// The part that a model may rewrite.
    pub editable: Range<usize>,
    /// The cursor.
    pub cursor: usize,
}

impl CursorExcerpt {
    /// Chooses an excerpt around a cursor. `blocks` are line ranges of syntactic units; a unit that contains the cursor
    /// and fits is taken whole, then the region grows by lines, those below the cursor first.
    pub fn around(buffer: &EditorBuffer, cursor: usize, blocks: &[Range<usize>], limits: ExcerptLimits) -> Self {
        let line = buffer.line_of(cursor);
        let fits = |lines: &Range<usize>| buffer.line_span(lines.clone()).len() <= limits.editable;
        let enclosing = |lines: &&Range<usize>| lines.contains(&line) && fits(lines);
        let unit = blocks.iter().filter(enclosing).max_by_key(|lines| lines.len());
        let start = match unit {
            Some(unit) => unit.start..unit.end.min(buffer.line_count()),
            None => line..line + 1,
        };
        let editable = grow(buffer, start, limits.editable);
        let span = buffer.line_span(editable.clone());
        let above = grow_above(buffer, editable.start, limits.above);
        let below = grow_below(buffer, editable.end, limits.below);
        CursorExcerpt {
            excerpt: buffer.line_span(above..below),
            editable: span,
            cursor,
        }
    }
}

/// Adds lines below and above in turn while the limit permits.
fn grow(buffer: &EditorBuffer, mut lines: Range<usize>, limit: usize) -> Range<usize> {
    let mut size = buffer.line_span(lines.clone()).len();
    let (mut can_grow_down, mut can_grow_up) = (true, true);
    while can_grow_down || can_grow_up {
        if can_grow_down {
            let next = buffer.line_span(lines.end..lines.end + 1).len();
            can_grow_down = lines.end < buffer.line_count() && size + next <= limit;
            if can_grow_down {
                lines.end += 1;
                size += next;
            }
        }
        if can_grow_up {
            let next = buffer.line_span(lines.start.saturating_sub(1)..lines.start).len();
            can_grow_up = lines.start > 0 && size + next <= limit;
            if can_grow_up {
                lines.start -= 1;
                size += next;
            }
        }
    }
    lines
}

fn grow_above(buffer: &EditorBuffer, mut first: usize, limit: usize) -> usize {
    let mut left = limit;
    while first > 0 {
        let size = buffer.line_span(first - 1..first).len();
        if size > left {
            break;
        }
        left -= size;
        first -= 1;
    }
    first
}

fn grow_below(buffer: &EditorBuffer, mut end: usize, limit: usize) -> usize {
    let mut left = limit;
    while end < buffer.line_count() {
        let size = buffer.line_span(end..end + 1).len();
        if size > left {
            break;
        }
        left -= size;
        end += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(lines: usize) -> EditorBuffer {
        EditorBuffer::new((0..lines).map(|line| format!("line {line:05}\n")).collect())
    }

    const SMALL: ExcerptLimits = ExcerptLimits {
        editable: 55,
        above: 22,
        below: 11,
    };

    #[test]
    fn an_excerpt_grows_by_lines_on_both_sides() {
        let buffer = buffer(100);
        let cursor = buffer.line_span(50..51).start + 3;
        let excerpt = CursorExcerpt::around(&buffer, cursor, &[], SMALL);
        assert_eq!(excerpt.editable, buffer.line_span(48..53));
        assert_eq!(excerpt.excerpt, buffer.line_span(46..54));
    }

    #[test]
    fn the_largest_unit_that_fits_is_taken_whole() {
        let buffer = buffer(100);
        let cursor = buffer.line_span(50..51).start;
        let excerpt = CursorExcerpt::around(&buffer, cursor, &[10..90, 50..54, 50..51, 60..70], SMALL);
        assert_eq!(excerpt.editable, buffer.line_span(50..55));
    }

    #[test]
    fn excerpts_at_the_ends_and_of_long_lines_stay_in_the_buffer() {
        let short = buffer(3);
        for cursor in [0, short.text().len()] {
            let excerpt = CursorExcerpt::around(&short, cursor, &[], SMALL);
            assert_eq!(excerpt.editable, 0..short.text().len());
        }
        let empty = EditorBuffer::new(String::new());
        assert_eq!(CursorExcerpt::around(&empty, 0, &[], SMALL).excerpt, 0..0);
        let long = EditorBuffer::new("x".repeat(10_000));
        let excerpt = CursorExcerpt::around(&long, 5_000, &[], SMALL);
        assert_eq!(excerpt.editable, 0..10_000);
    }
}
