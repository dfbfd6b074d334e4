//! Divides a token budget among parts before they are written.

/// A part that requests tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SizeRequest {
    /// Parts with a higher value are served first; parts without a value before all others.
    pub grow: Option<u32>,
    /// Its share among parts with the same `grow`.
    pub basis: u64,
    /// Reserved for it while earlier parts are served.
    pub reserve: Reservation,
    /// Its maximum.
    pub limit: Option<u64>,
    /// The requested tokens.
    pub requested: u64,
}

/// Tokens reserved for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reservation {
    /// Nothing.
    #[default]
    None,
    /// A number of tokens.
    Tokens(u64),
    /// One n-th of the remaining tokens.
    Part(u64),
}

impl SizeRequest {
    /// Requests this many tokens, without priority.
    pub fn of_size(requested: u64) -> Self {
        SizeRequest {
            grow: None,
            basis: 1,
            reserve: Reservation::None,
            limit: None,
            requested,
        }
    }
}

/// Returns the tokens for each part. No part gets more than it requests, and the total does not exceed the budget.
pub fn allocate(parts: &[SizeRequest], budget: u64) -> Vec<u64> {
    let mut given = vec![0; parts.len()];
    let mut left = budget;
    let mut groups: Vec<Option<u32>> = parts.iter().map(|part| part.grow).collect();
    groups.sort_by_key(|grow| std::cmp::Reverse(rank(*grow)));
    groups.dedup();
    for group in groups {
        let reserved: u64 = parts
            .iter()
            .filter(|part| rank(part.grow) < rank(group))
            .map(|part| match part.reserve {
                Reservation::None => 0,
                Reservation::Tokens(tokens) => tokens.min(part.requested),
                Reservation::Part(of) => (left / of.max(1)).min(part.requested),
            })
            .sum();
        let members: Vec<usize> = (0..parts.len()).filter(|index| parts[*index].grow == group).collect();
        divide(parts, &members, left.saturating_sub(reserved), &mut given);
        left -= members.iter().map(|index| given[*index]).sum::<u64>();
    }
    given
}

/// Parts without a value come first.
fn rank(grow: Option<u32>) -> u64 {
    grow.map_or(u64::MAX, u64::from)
}

/// Divides tokens among parts of the same rank. Parts that need less leave the rest to the others.
fn divide(parts: &[SizeRequest], members: &[usize], available: u64, given: &mut [u64]) {
    let most = |index: usize| parts[index].limit.unwrap_or(u64::MAX).min(parts[index].requested);
    let mut open = members.to_vec();
    let mut available = available;
    loop {
        let bases: u128 = open.iter().map(|index| u128::from(parts[*index].basis)).sum();
        if bases == 0 {
            return;
        }
        let share = |index: usize| (u128::from(available) * u128::from(parts[index].basis) / bases) as u64;
        let (satisfied, rest): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|index| most(**index) <= share(**index));
        if satisfied.is_empty() {
            open.iter().for_each(|index| given[*index] = share(*index));
            return;
        }
        for index in satisfied {
            given[index] = most(index);
            available -= given[index];
        }
        open = rest;
    }
}
