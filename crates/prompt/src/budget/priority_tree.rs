//! Removes parts that do not fit: a tree of parts with priorities.

use std::collections::HashSet;

/// Parts of a request with their priorities.
#[derive(Debug, Clone, Default)]
pub struct PriorityTree {
    /// In sending order.
    pub parts: Vec<PriorityNode>,
}

/// A part, possibly with children.
#[derive(Debug, Clone)]
pub struct PriorityNode {
    /// Compared among siblings: the lowest is removed first.
    pub priority: u32,
    /// Its kind.
    pub kind: NodeKind,
}

/// The kind of a node.
#[derive(Debug, Clone)]
pub enum NodeKind {
    /// A text that is kept or removed as a whole.
    Leaf(TextLeaf),
    /// Other nodes.
    Branch {
        /// In order.
        parts: Vec<PriorityNode>,
        /// Whether its children compete with its siblings.
        passes: bool,
        /// Whether it is kept or removed as a whole.
        whole: bool,
        /// Maximum tokens of its children.
        limit: Option<u64>,
    },
    /// Everything before it is cached by the provider.
    Breakpoint,
}

/// A text that is kept or removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextLeaf {
    /// Identifies it in results.
    pub id: usize,
    /// Its tokens.
    pub tokens: u64,
    /// Its tokens if there is enough budget.
    pub requested: u64,
    /// Leaves of one group are removed together, such as a call and its result.
    pub keep_with: Option<usize>,
}

/// The budget is exceeded and nothing more can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{tokens} tokens exceed the limit of {limit}, and nothing more can be removed")]
pub struct BudgetExceeded {
    /// The remaining tokens.
    pub tokens: u64,
    /// The limit.
    pub limit: u64,
}

impl PriorityNode {
    /// A text.
    pub fn leaf(priority: u32, id: usize, tokens: u64) -> Self {
        PriorityNode {
            priority,
            kind: NodeKind::Leaf(TextLeaf {
                id,
                tokens,
                requested: tokens,
                keep_with: None,
            }),
        }
    }

    /// A text that can use additional tokens.
    pub fn expandable(priority: u32, id: usize, tokens: u64, requested: u64) -> Self {
        PriorityNode {
            priority,
            kind: NodeKind::Leaf(TextLeaf {
                id,
                tokens,
                requested: requested.max(tokens),
                keep_with: None,
            }),
        }
    }

    /// A text that is removed together with its group.
    pub fn grouped(priority: u32, id: usize, tokens: u64, group: usize) -> Self {
        PriorityNode {
            priority,
            kind: NodeKind::Leaf(TextLeaf {
                id,
                tokens,
                requested: tokens,
                keep_with: Some(group),
            }),
        }
    }

    /// Children that are compared with each other when this node is the lowest.
    pub fn branch(priority: u32, parts: Vec<PriorityNode>) -> Self {
        Self::with(priority, parts, false, false, None)
    }

    /// Children that compete with this node's siblings.
    pub fn transparent(parts: Vec<PriorityNode>) -> Self {
        Self::with(0, parts, true, false, None)
    }

    /// Children that are removed together.
    pub fn chunk(priority: u32, parts: Vec<PriorityNode>) -> Self {
        Self::with(priority, parts, false, true, None)
    }

    /// Children with a token limit.
    pub fn limited(priority: u32, parts: Vec<PriorityNode>, limit: u64) -> Self {
        Self::with(priority, parts, false, false, Some(limit))
    }

    /// The end of the cached part.
    pub fn breakpoint() -> Self {
        PriorityNode {
            priority: u32::MAX,
            kind: NodeKind::Breakpoint,
        }
    }

    /// Children with ascending priorities: three of them with priority 10 get 8, 9 and 10.
    pub fn ascending(priority: u32, parts: Vec<PriorityNode>) -> Self {
        let count = parts.len() as u32;
        let ranked = parts.into_iter().zip(1..).map(|(part, index)| PriorityNode {
            priority: (priority + index).saturating_sub(count),
            ..part
        });
        Self::transparent(ranked.collect())
    }

    fn with(priority: u32, parts: Vec<PriorityNode>, passes: bool, whole: bool, limit: Option<u64>) -> Self {
        PriorityNode {
            priority,
            kind: NodeKind::Branch {
                parts,
                passes,
                whole,
                limit,
            },
        }
    }

    fn tokens(&self) -> u64 {
        match &self.kind {
            NodeKind::Leaf(leaf) => leaf.tokens,
            NodeKind::Branch { parts, .. } => parts.iter().map(PriorityNode::tokens).sum(),
            NodeKind::Breakpoint => 0,
        }
    }

    fn has_breakpoint(&self) -> bool {
        self.breakpoints() > 0
    }

    fn breakpoints(&self) -> usize {
        match &self.kind {
            NodeKind::Leaf(_) => 0,
            NodeKind::Branch { parts, .. } => parts.iter().map(PriorityNode::breakpoints).sum(),
            NodeKind::Breakpoint => 1,
        }
    }

    fn is_empty(&self) -> bool {
        match &self.kind {
            NodeKind::Branch { parts, .. } => parts.is_empty(),
            NodeKind::Leaf(_) | NodeKind::Breakpoint => false,
        }
    }

    /// Orders siblings of the same priority: the lowest priority among its direct children.
    fn depth(&self) -> i64 {
        match &self.kind {
            NodeKind::Leaf(_) | NodeKind::Breakpoint => -1,
            NodeKind::Branch { parts, .. } => parts.iter().map(|part| i64::from(part.priority)).min().unwrap_or(-1),
        }
    }

    fn leaves(&self, each: &mut impl FnMut(&TextLeaf)) {
        match &self.kind {
            NodeKind::Leaf(leaf) => each(leaf),
            NodeKind::Branch { parts, .. } => parts.iter().for_each(|part| part.leaves(each)),
            NodeKind::Breakpoint => {}
        }
    }
}

impl PriorityTree {
    /// The remaining tokens.
    pub fn tokens(&self) -> u64 {
        self.parts.iter().map(PriorityNode::tokens).sum()
    }

    /// Removes the least important parts until the rest fits the budget and all inner limits; returns the removed
    /// leaves.
    pub fn prune(&mut self, budget: u64) -> Result<Vec<usize>, BudgetExceeded> {
        let mut removed = RemovedLeaves::default();
        let mut result = Ok(());
        // Inner limits first: what they remove need not be removed elsewhere.
        for part in &mut self.parts {
            result = result.and(prune_inside(part, budget, &mut removed));
        }
        self.sweep(&mut removed);
        while self.tokens() > budget {
            let before = self.tokens();
            if !remove_lowest(&mut self.parts, &mut removed) {
                let tokens = before;
                return Err(BudgetExceeded { tokens, limit: budget });
            }
            self.sweep(&mut removed);
        }
        result.map(|()| removed.ids)
    }

    /// Gives the remaining tokens to expandable leaves in sending order and returns their new sizes. Inner limits
    /// apply, and everything before the last breakpoint stays unchanged.
    pub fn grow(&mut self, budget: u64) -> Vec<(usize, u64)> {
        let mut left = budget.saturating_sub(self.tokens());
        let mut cached = self.parts.iter().map(PriorityNode::breakpoints).sum();
        let mut grown = Vec::new();
        grow(&mut self.parts, budget, &mut left, &mut cached, &mut grown);
        grown
    }

    /// Removes the other members of removed groups until nothing changes.
    fn sweep(&mut self, removed: &mut RemovedLeaves) {
        while std::mem::take(&mut removed.grown) {
            remove_groups(&mut self.parts, removed);
        }
    }
}

/// The removed leaves.
#[derive(Default)]
struct RemovedLeaves {
    ids: Vec<usize>,
    groups: HashSet<usize>,
    /// A removed group may have other members.
    grown: bool,
}

impl RemovedLeaves {
    fn add(&mut self, node: &PriorityNode) {
        node.leaves(&mut |leaf| {
            self.ids.push(leaf.id);
            if let Some(group) = leaf.keep_with {
                self.grown |= self.groups.insert(group);
            }
        });
    }
}

/// Grows parts; `cached` counts the breakpoints that are still ahead.
fn grow(parts: &mut [PriorityNode], budget: u64, left: &mut u64, cached: &mut usize, grown: &mut Vec<(usize, u64)>) {
    for node in parts {
        let used = node.tokens();
        match &mut node.kind {
            NodeKind::Leaf(leaf) if *cached == 0 && leaf.requested > leaf.tokens => {
                let more = (leaf.requested - leaf.tokens).min(*left);
                leaf.tokens += more;
                *left -= more;
                grown.push((leaf.id, leaf.tokens));
            }
            NodeKind::Leaf(_) => {}
            NodeKind::Branch { parts, limit, .. } => {
                let limit = limit.filter(|limit| *limit <= budget);
                let room = limit.map_or(*left, |limit| limit.saturating_sub(used).min(*left));
                let mut rest = room;
                grow(parts, budget, &mut rest, cached, grown);
                *left -= room - rest;
            }
            NodeKind::Breakpoint => *cached -= 1,
        }
    }
}

fn prune_inside(node: &mut PriorityNode, budget: u64, removed: &mut RemovedLeaves) -> Result<(), BudgetExceeded> {
    let NodeKind::Branch { parts, limit, .. } = &mut node.kind else {
        return Ok(());
    };
    let mut result = Ok(());
    for part in parts.iter_mut() {
        result = result.and(prune_inside(part, budget, removed));
    }
    // A limit above the whole budget has no effect.
    let Some(limit) = limit.filter(|limit| *limit <= budget) else {
        return result;
    };
    loop {
        let tokens: u64 = parts.iter().map(PriorityNode::tokens).sum();
        if tokens <= limit {
            return result;
        }
        if !remove_lowest(parts, removed) {
            return Err(BudgetExceeded { tokens, limit });
        }
        while std::mem::take(&mut removed.grown) {
            remove_groups(parts, removed);
            // The caller removes members outside.
        }
        removed.grown = !removed.groups.is_empty();
    }
}

/// Removes the part with the lowest priority after the last breakpoint; `false` if there is none.
fn remove_lowest(parts: &mut Vec<PriorityNode>, removed: &mut RemovedLeaves) -> bool {
    let Some(path) = lowest(parts) else { return false };
    remove_at(parts, &path, removed)
}

/// The path to the lowest part, through transparent nodes.
fn lowest(parts: &[PriorityNode]) -> Option<Vec<usize>> {
    let mut best: Option<(u32, i64, Vec<usize>)> = None;
    find_lowest(parts, &mut Vec::new(), &mut best);
    best.map(|(_, _, path)| path)
}

fn find_lowest(parts: &[PriorityNode], path: &mut Vec<usize>, best: &mut Option<(u32, i64, Vec<usize>)>) {
    for (index, node) in parts.iter().enumerate() {
        path.push(index);
        match &node.kind {
            NodeKind::Branch {
                parts, passes: true, ..
            } => find_lowest(parts, path, best),
            _ if node.has_breakpoint() => *best = None,
            NodeKind::Leaf(_) | NodeKind::Branch { .. } => {
                let key = (node.priority, node.depth());
                if best
                    .as_ref()
                    .is_none_or(|(priority, depth, _)| key < (*priority, *depth))
                {
                    *best = Some((key.0, key.1, path.clone()));
                }
            }
            NodeKind::Breakpoint => *best = None,
        }
        path.pop();
    }
}

/// Removes the node at a path: a leaf, a chunk or an empty node; otherwise its lowest child.
fn remove_at(parts: &mut Vec<PriorityNode>, path: &[usize], removed: &mut RemovedLeaves) -> bool {
    let Some((&index, rest)) = path.split_first() else {
        return false;
    };
    let Some(node) = parts.get_mut(index) else { return false };
    let done = match &mut node.kind {
        NodeKind::Branch { parts: inner, .. } if !rest.is_empty() => remove_at(inner, rest, removed),
        NodeKind::Branch {
            parts: inner,
            whole: false,
            ..
        } if !inner.is_empty() => remove_lowest(inner, removed),
        NodeKind::Leaf(_) | NodeKind::Branch { .. } | NodeKind::Breakpoint => {
            removed.add(node);
            parts.remove(index);
            return true;
        }
    };
    // A branch without children is removed.
    if parts.get(index).is_some_and(PriorityNode::is_empty) {
        parts.remove(index);
    }
    done
}

fn remove_groups(parts: &mut Vec<PriorityNode>, removed: &mut RemovedLeaves) {
    parts.retain_mut(|node| match &mut node.kind {
        NodeKind::Leaf(leaf) => {
            let leaves = leaf.keep_with.is_some_and(|group| removed.groups.contains(&group));
            if leaves {
                removed.ids.push(leaf.id);
            }
            !leaves
        }
        NodeKind::Branch { parts, .. } => {
            let had_parts = !parts.is_empty();
            remove_groups(parts, removed);
            !(had_parts && parts.is_empty())
        }
        NodeKind::Breakpoint => true,
    });
}
