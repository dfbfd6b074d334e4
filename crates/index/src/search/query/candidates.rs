//! Selects the best of many.

/// The positions of the `count` highest scores above 0, best first; ties by position.
pub(crate) fn top(scores: &[f32], count: usize) -> Vec<usize> {
    let mut positions: Vec<usize> = (0..scores.len()).filter(|nth| scores[*nth] > 0.0).collect();
    let order = |a: &usize, b: &usize| scores[*b].total_cmp(&scores[*a]).then_with(|| a.cmp(b));
    if positions.len() > count {
        positions.select_nth_unstable_by(count, order);
        positions.truncate(count);
    }
    positions.sort_unstable_by(order);
    positions
}

/// For each position its rank among `ordered`, from 1; 0 for others. Equal scores have the same rank, so that the order of
/// the segments does not matter.
pub(crate) fn ranks(ordered: &[usize], scores: &[f32]) -> Vec<u32> {
    let mut ranks = vec![0; scores.len()];
    let (mut rank, mut last) = (0, f32::INFINITY);
    for (nth, position) in ordered.iter().enumerate() {
        let score = scores.get(*position).copied().unwrap_or(0.0);
        if score < last {
            (rank, last) = (nth as u32 + 1, score);
        }
        if let Some(slot) = ranks.get_mut(*position) {
            *slot = rank;
        }
    }
    ranks
}

/// The reciprocal rank, 0 without a rank.
pub(crate) fn reciprocal(rank: u32) -> f32 {
    match rank {
        0 => 0.0,
        rank => 1.0 / (60.0 + rank as f32),
    }
}
