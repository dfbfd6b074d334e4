//! What leaves when there is too much: a tree of parts with priorities.

use std::collections::HashSet;

/// Parts of a request and how much each is worth.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    /// In the order in which they are sent.
    pub parts: Vec<Node>,
}

/// A part with parts.
#[derive(Debug, Clone)]
pub struct Node {
    /// Compared among siblings: the lowest leaves first.
    pub priority: u32,
    /// What it is.
    pub kind: Kind,
}

/// What a node is.
#[derive(Debug, Clone)]
pub enum Kind {
    /// Text that stays or leaves as a whole.
    Leaf(Leaf),
    /// Other nodes.
    Branch {
        /// In order.
        parts: Vec<Node>,
        /// Whether its parts compete with its siblings as if they stood in its place.
        passes: bool,
        /// Whether it stays or leaves as a whole.
        whole: bool,
        /// The most tokens of all its parts.
        limit: Option<u64>,
    },
    /// What stands before it is cached by the provider.
    Breakpoint,
}

/// A text that stays or leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leaf {
    /// Names it to whoever asks what left.
    pub id: usize,
    /// Its length.
    pub tokens: u64,
    /// How long it would be if there were room.
    pub wants: u64,
    /// Leaves of one group leave together, such as a call and its result.
    pub keep_with: Option<usize>,
}

/// There is too much, and nothing more may leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{tokens} tokens are more than {limit}, and nothing more can be left out")]
pub struct Exceeded {
    /// What is left.
    pub tokens: u64,
    /// What there may be.
    pub limit: u64,
}

impl Node {
    /// A text.
    pub fn leaf(priority: u32, id: usize, tokens: u64) -> Self {
        Node {
            priority,
            kind: Kind::Leaf(Leaf {
                id,
                tokens,
                wants: tokens,
                keep_with: None,
            }),
        }
    }

    /// A text that says more where something is left over.
    pub fn expandable(priority: u32, id: usize, tokens: u64, wants: u64) -> Self {
        Node {
            priority,
            kind: Kind::Leaf(Leaf {
                id,
                tokens,
                wants: wants.max(tokens),
                keep_with: None,
            }),
        }
    }

    /// A text that leaves together with others of its group.
    pub fn kept_with(priority: u32, id: usize, tokens: u64, group: usize) -> Self {
        Node {
            priority,
            kind: Kind::Leaf(Leaf {
                id,
                tokens,
                wants: tokens,
                keep_with: Some(group),
            }),
        }
    }

    /// Parts that are compared among themselves once this one is the lowest.
    pub fn branch(priority: u32, parts: Vec<Node>) -> Self {
        Self::with(priority, parts, false, false, None)
    }

    /// Parts that compete with this node's siblings.
    pub fn passing(parts: Vec<Node>) -> Self {
        Self::with(0, parts, true, false, None)
    }

    /// Parts that leave together.
    pub fn chunk(priority: u32, parts: Vec<Node>) -> Self {
        Self::with(priority, parts, false, true, None)
    }

    /// Parts that may have so many tokens.
    pub fn limited(priority: u32, parts: Vec<Node>, limit: u64) -> Self {
        Self::with(priority, parts, false, false, Some(limit))
    }

    /// The end of what is cached.
    pub fn breakpoint() -> Self {
        Node {
            priority: u32::MAX,
            kind: Kind::Breakpoint,
        }
    }

    /// Parts whose later ones are worth more: with three of them and a priority of 10, they have 8, 9 and 10.
    pub fn ascending(priority: u32, parts: Vec<Node>) -> Self {
        let count = parts.len() as u32;
        let ranked = parts.into_iter().zip(1..).map(|(part, place)| Node {
            priority: (priority + place).saturating_sub(count),
            ..part
        });
        Self::passing(ranked.collect())
    }

    fn with(priority: u32, parts: Vec<Node>, passes: bool, whole: bool, limit: Option<u64>) -> Self {
        Node {
            priority,
            kind: Kind::Branch {
                parts,
                passes,
                whole,
                limit,
            },
        }
    }

    fn tokens(&self) -> u64 {
        match &self.kind {
            Kind::Leaf(leaf) => leaf.tokens,
            Kind::Branch { parts, .. } => parts.iter().map(Node::tokens).sum(),
            Kind::Breakpoint => 0,
        }
    }

    fn has_breakpoint(&self) -> bool {
        self.breakpoints() > 0
    }

    fn breakpoints(&self) -> usize {
        match &self.kind {
            Kind::Leaf(_) => 0,
            Kind::Branch { parts, .. } => parts.iter().map(Node::breakpoints).sum(),
            Kind::Breakpoint => 1,
        }
    }

    fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Branch { parts, .. } => parts.is_empty(),
            Kind::Leaf(_) | Kind::Breakpoint => false,
        }
    }

    /// By which siblings of one priority are told apart: the lowest priority among its direct parts.
    fn depth(&self) -> i64 {
        match &self.kind {
            Kind::Leaf(_) | Kind::Breakpoint => -1,
            Kind::Branch { parts, .. } => parts.iter().map(|part| i64::from(part.priority)).min().unwrap_or(-1),
        }
    }

    fn leaves(&self, each: &mut impl FnMut(&Leaf)) {
        match &self.kind {
            Kind::Leaf(leaf) => each(leaf),
            Kind::Branch { parts, .. } => parts.iter().for_each(|part| part.leaves(each)),
            Kind::Breakpoint => {}
        }
    }
}

impl Tree {
    /// How many tokens are left.
    pub fn tokens(&self) -> u64 {
        self.parts.iter().map(Node::tokens).sum()
    }

    /// Takes out the least important parts until the rest fits the budget and all inner limits; says which texts left.
    pub fn prune(&mut self, budget: u64) -> Result<Vec<usize>, Exceeded> {
        let mut gone = Gone::default();
        let mut result = Ok(());
        // Inner limits first: what they take out need not be taken out elsewhere.
        for part in &mut self.parts {
            result = result.and(prune_inside(part, budget, &mut gone));
        }
        self.sweep(&mut gone);
        while self.tokens() > budget {
            let before = self.tokens();
            if !remove_lowest(&mut self.parts, &mut gone) {
                let tokens = before;
                return Err(Exceeded { tokens, limit: budget });
            }
            self.sweep(&mut gone);
        }
        result.map(|()| gone.ids)
    }

    /// Gives what is left over to the texts that can say more, in the order in which they are sent: each takes what it wants,
    /// and the next what that leaves. Says how long these are now. Inner limits hold, and what stands before the last
    /// breakpoint stays as it is.
    pub fn grow(&mut self, budget: u64) -> Vec<(usize, u64)> {
        let mut left = budget.saturating_sub(self.tokens());
        let mut cached = self.parts.iter().map(Node::breakpoints).sum();
        let mut grown = Vec::new();
        grow(&mut self.parts, budget, &mut left, &mut cached, &mut grown);
        grown
    }

    /// Takes out what is kept with something that left, until nothing more is.
    fn sweep(&mut self, gone: &mut Gone) {
        while std::mem::take(&mut gone.grown) {
            take_groups(&mut self.parts, gone);
        }
    }
}

/// What has left.
#[derive(Default)]
struct Gone {
    ids: Vec<usize>,
    groups: HashSet<usize>,
    /// A group has left that may have other members.
    grown: bool,
}

impl Gone {
    fn add(&mut self, node: &Node) {
        node.leaves(&mut |leaf| {
            self.ids.push(leaf.id);
            if let Some(group) = leaf.keep_with {
                self.grown |= self.groups.insert(group);
            }
        });
    }
}

/// Lets parts grow; `cached` counts the breakpoints that are still to come.
fn grow(parts: &mut [Node], budget: u64, left: &mut u64, cached: &mut usize, grown: &mut Vec<(usize, u64)>) {
    for node in parts {
        let used = node.tokens();
        match &mut node.kind {
            Kind::Leaf(leaf) if *cached == 0 && leaf.wants > leaf.tokens => {
                let more = (leaf.wants - leaf.tokens).min(*left);
                leaf.tokens += more;
                *left -= more;
                grown.push((leaf.id, leaf.tokens));
            }
            Kind::Leaf(_) => {}
            Kind::Branch { parts, limit, .. } => {
                let limit = limit.filter(|limit| *limit <= budget);
                let room = limit.map_or(*left, |limit| limit.saturating_sub(used).min(*left));
                let mut rest = room;
                grow(parts, budget, &mut rest, cached, grown);
                *left -= room - rest;
            }
            Kind::Breakpoint => *cached -= 1,
        }
    }
}

fn prune_inside(node: &mut Node, budget: u64, gone: &mut Gone) -> Result<(), Exceeded> {
    let Kind::Branch { parts, limit, .. } = &mut node.kind else {
        return Ok(());
    };
    let mut result = Ok(());
    for part in parts.iter_mut() {
        result = result.and(prune_inside(part, budget, gone));
    }
    // A limit beyond the whole budget limits nothing.
    let Some(limit) = limit.filter(|limit| *limit <= budget) else {
        return result;
    };
    loop {
        let tokens: u64 = parts.iter().map(Node::tokens).sum();
        if tokens <= limit {
            return result;
        }
        if !remove_lowest(parts, gone) {
            return Err(Exceeded { tokens, limit });
        }
        while std::mem::take(&mut gone.grown) {
            take_groups(parts, gone);
            // Members outside are seen to by whoever called.
        }
        gone.grown = !gone.groups.is_empty();
    }
}

/// Takes out the part of the lowest priority that does not stand before a breakpoint; `false` where there is none.
fn remove_lowest(parts: &mut Vec<Node>, gone: &mut Gone) -> bool {
    let Some(path) = lowest(parts) else { return false };
    remove_at(parts, &path, gone)
}

/// The path to the lowest of these parts, through parts that pass.
fn lowest(parts: &[Node]) -> Option<Vec<usize>> {
    let mut best: Option<(u32, i64, Vec<usize>)> = None;
    look(parts, &mut Vec::new(), &mut best);
    best.map(|(_, _, path)| path)
}

fn look(parts: &[Node], path: &mut Vec<usize>, best: &mut Option<(u32, i64, Vec<usize>)>) {
    for (place, node) in parts.iter().enumerate() {
        path.push(place);
        match &node.kind {
            Kind::Branch {
                parts, passes: true, ..
            } => look(parts, path, best),
            _ if node.has_breakpoint() => *best = None,
            Kind::Leaf(_) | Kind::Branch { .. } => {
                let key = (node.priority, node.depth());
                if best
                    .as_ref()
                    .is_none_or(|(priority, depth, _)| key < (*priority, *depth))
                {
                    *best = Some((key.0, key.1, path.clone()));
                }
            }
            Kind::Breakpoint => *best = None,
        }
        path.pop();
    }
}

/// Takes out what stands at the end of a path: a text, a chunk or an empty part at once, of others their lowest part.
fn remove_at(parts: &mut Vec<Node>, path: &[usize], gone: &mut Gone) -> bool {
    let Some((&place, rest)) = path.split_first() else {
        return false;
    };
    let Some(node) = parts.get_mut(place) else { return false };
    let done = match &mut node.kind {
        Kind::Branch { parts: inner, .. } if !rest.is_empty() => remove_at(inner, rest, gone),
        Kind::Branch {
            parts: inner,
            whole: false,
            ..
        } if !inner.is_empty() => remove_lowest(inner, gone),
        Kind::Leaf(_) | Kind::Branch { .. } | Kind::Breakpoint => {
            gone.add(node);
            parts.remove(place);
            return true;
        }
    };
    // A part without parts says nothing.
    if parts.get(place).is_some_and(Node::is_empty) {
        parts.remove(place);
    }
    done
}

fn take_groups(parts: &mut Vec<Node>, gone: &mut Gone) {
    parts.retain_mut(|node| match &mut node.kind {
        Kind::Leaf(leaf) => {
            let leaves = leaf.keep_with.is_some_and(|group| gone.groups.contains(&group));
            if leaves {
                gone.ids.push(leaf.id);
            }
            !leaves
        }
        Kind::Branch { parts, .. } => {
            let had_parts = !parts.is_empty();
            take_groups(parts, gone);
            !(had_parts && parts.is_empty())
        }
        Kind::Breakpoint => true,
    });
}
