//! Selects the best of many.

/// The positions of the `count` highest scores above 0, best first; ties by position.
pub(crate) fn top(scores: impl Iterator<Item = (usize, f32)>, count: usize) -> Vec<(usize, f32)> {
    let order = |a: &(usize, f32), b: &(usize, f32)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    let mut best: Vec<(usize, f32)> = Vec::with_capacity(4 * count);
    let mut least = 0.0;
    for (position, score) in scores {
        // An equal score at a later position is not better.
        if score <= least {
            continue;
        }
        best.push((position, score));
        if best.len() >= 4 * count && count > 0 {
            let (_, last, _) = best.select_nth_unstable_by(count - 1, order);
            least = last.1;
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
            let found = top(scores.iter().copied().enumerate(), count);
            assert_eq!(found, expected[..expected.len().min(count)], "{count}");
        }
    }
}
