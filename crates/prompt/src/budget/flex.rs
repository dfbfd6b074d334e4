//! Who gets how many tokens, before anything is written.

/// A part that wants room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flex {
    /// Parts that grow more are seen to earlier; those without a figure first of all.
    pub grow: Option<u32>,
    /// Its share among those that grow alike.
    pub basis: u64,
    /// What is put aside for it while earlier ones are seen to.
    pub reserve: Reserve,
    /// It never gets more.
    pub limit: Option<u64>,
    /// What it would take if it could.
    pub wants: u64,
}

/// What is put aside for a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reserve {
    /// Nothing.
    #[default]
    None,
    /// So many tokens.
    Tokens(u64),
    /// One part of so many of what is left.
    Part(u64),
}

impl Flex {
    /// A part that wants so much, without any privilege.
    pub fn wanting(wants: u64) -> Self {
        Flex {
            grow: None,
            basis: 1,
            reserve: Reserve::None,
            limit: None,
            wants,
        }
    }
}

/// How much each part gets of a budget. No part gets more than it wants, and all of them no more than the budget.
pub fn lay_out(parts: &[Flex], budget: u64) -> Vec<u64> {
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
                Reserve::None => 0,
                Reserve::Tokens(tokens) => tokens.min(part.wants),
                Reserve::Part(of) => (left / of.max(1)).min(part.wants),
            })
            .sum();
        let members: Vec<usize> = (0..parts.len()).filter(|place| parts[*place].grow == group).collect();
        divide(parts, &members, left.saturating_sub(reserved), &mut given);
        left -= members.iter().map(|place| given[*place]).sum::<u64>();
    }
    given
}

/// Those without a figure come first of all.
fn rank(grow: Option<u32>) -> u64 {
    grow.map_or(u64::MAX, u64::from)
}

/// Divides room among parts that grow alike. One that is limited or wants less leaves the rest to the others.
fn divide(parts: &[Flex], members: &[usize], room: u64, given: &mut [u64]) {
    let most = |place: usize| parts[place].limit.unwrap_or(u64::MAX).min(parts[place].wants);
    let mut open = members.to_vec();
    let mut room = room;
    loop {
        let bases: u128 = open.iter().map(|place| u128::from(parts[*place].basis)).sum();
        if bases == 0 {
            return;
        }
        let share = |place: usize| (u128::from(room) * u128::from(parts[place].basis) / bases) as u64;
        let (satisfied, rest): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|place| most(**place) <= share(**place));
        if satisfied.is_empty() {
            open.iter().for_each(|place| given[*place] = share(*place));
            return;
        }
        for place in satisfied {
            given[place] = most(place);
            room -= given[place];
        }
        open = rest;
    }
}
