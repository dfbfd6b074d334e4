//! Selects the best of many.

/// The positions of the `count` highest scores above 0, best first; of equal scores the one with the lower `key`, which
/// must not depend on the position.
pub(crate) fn top(
    scores: impl Iterator<Item = (usize, f32)>,
    count: usize,
    key: impl Fn(usize) -> u64,
) -> Vec<(usize, f32)> {
    let order = |a: &(usize, f32), b: &(usize, f32)| {
        let by_score = b.1.total_cmp(&a.1);
        by_score.then_with(|| key(a.0).cmp(&key(b.0)))
    };
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(4 * count);
    let mut last: Option<(usize, f32)> = None;
    for (position, score) in scores {
        let is_worse = |last: &(usize, f32)| score < last.1 || score == last.1 && key(position) >= key(last.0);
        if score <= 0.0 || last.as_ref().is_some_and(is_worse) {
            continue;
        }
        best.push((position, score));
        if best.len() >= 4 * count && count > 0 {
            let (_, least, _) = best.select_nth_unstable_by(count - 1, order);
            last = Some(*least);
            best.truncate(count);
        }
    }
    best.sort_unstable_by(order);
    best.truncate(count);
    best
}

/// The ranks of chunks, by chunk.
#[derive(Debug, Default)]
pub(crate) struct ChunkRanks(Vec<(usize, u32)>);

impl ChunkRanks {
    /// The ranks of chunks in this order, from 1. Equal scores have the same rank, so that the order of the segments does
    /// not matter.
    pub(crate) fn of(ordered: &[(usize, f32)]) -> Self {
        let (mut rank, mut last) = (0, f32::INFINITY);
        let ranks = ordered.iter().enumerate().map(|(nth, (chunk, score))| {
            if *score < last {
                (rank, last) = (nth as u32 + 1, *score);
            }
            (*chunk, rank)
        });
        let mut ranks: Vec<(usize, u32)> = ranks.collect();
        ranks.sort_unstable();
        Self(ranks)
    }

    /// The ranked chunks in a range.
    pub(crate) fn within(&self, chunks: &std::ops::Range<usize>) -> &[(usize, u32)] {
        let from = self.0.partition_point(|(chunk, _)| *chunk < chunks.start);
        let to = self.0.partition_point(|(chunk, _)| *chunk < chunks.end);
        self.0.get(from..to).unwrap_or_default()
    }

    /// The rank of a chunk; 0 without one.
    pub(crate) fn of_chunk(&self, chunk: usize) -> u32 {
        self.within(&(chunk..chunk + 1)).first().map_or(0, |(_, rank)| *rank)
    }
}

/// The reciprocal rank, 0 without a rank.
pub(crate) fn reciprocal(rank: u32) -> f32 {
    match rank {
        0 => 0.0,
        rank => 1.0 / (60.0 + rank as f32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_scores_are_selected_in_order() {
        let scores: Vec<f32> = (0..1_000).map(|nth| ((nth * 7_919) % 101) as f32).collect();
        let mut expected: Vec<(usize, f32)> = scores
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, score)| *score > 0.0)
            .collect();
        expected.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        for count in [0, 1, 7, 200, 2_000] {
            let found = top(scores.iter().copied().enumerate(), count, |nth| nth as u64);
            assert_eq!(found, expected[..expected.len().min(count)], "{count}");
            // The same scores at other positions.
            let reversed = scores.iter().copied().rev().enumerate();
            let found = top(reversed, count, |nth| (scores.len() - 1 - nth) as u64);
            let found: Vec<(usize, f32)> = found
                .into_iter()
                .map(|(nth, score)| (scores.len() - 1 - nth, score))
                .collect();
            assert_eq!(found, expected[..expected.len().min(count)], "{count}");
        }
    }
}
