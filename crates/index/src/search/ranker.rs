//! The learned order: boosted trees over the features of a file.
//!
//! The trees are data, written by `xtask/search/train.py`: one line per tree, its nodes in preorder. A leaf is a number; an
//! inner node is `feature,threshold,right`, where `right` is the position of its right child and the left child follows it.

use std::sync::LazyLock;

use crate::search::features::{FEATURE_COUNT, Feature, FeatureValues};
use crate::search::query::RankingSignals;

static ALL: LazyLock<Forest> = LazyLock::new(|| Forest::parse(include_str!("../../data/ranker/all.txt")));
static LEXICAL: LazyLock<Forest> = LazyLock::new(|| Forest::parse(include_str!("../../data/ranker/lexical.txt")));

/// What is added to the score of a file that the session uses: about a place or two.
const PREFERENCE: f32 = 0.3;

/// A ranking function.
pub(crate) enum Ranker {
    /// Learned trees.
    Trees(&'static Forest),
    /// One feature, for comparison.
    Single(Feature),
}

impl Ranker {
    pub(crate) fn of(signals: RankingSignals) -> Self {
        match signals {
            RankingSignals::All => Self::Trees(&ALL),
            RankingSignals::Lexical => Self::Trees(&LEXICAL),
            RankingSignals::Fixed => Self::Single(Feature::Fixed),
            RankingSignals::Bm25 => Self::Single(Feature::Bm25),
            RankingSignals::Embedding => Self::Single(Feature::Similarity),
        }
    }

    /// The scores of files.
    pub(crate) fn scores(&self, files: &[&FeatureValues]) -> Vec<f32> {
        match self {
            Self::Trees(forest) => forest.scores(files),
            Self::Single(feature) => files.iter().map(|features| features[*feature as usize]).collect(),
        }
    }

    /// What is added for a file that the session uses.
    pub(crate) fn preference(&self) -> f32 {
        match self {
            Self::Trees(_) => PREFERENCE,
            Self::Single(_) => 0.0,
        }
    }
}

/// Regression trees whose values are added.
#[derive(Debug, Default)]
pub(crate) struct Forest {
    nodes: Vec<TreeNode>,
    /// The root and the depth of each tree.
    roots: Vec<(u16, u16)>,
}

/// A node. Both children of a leaf are the leaf itself, so that a walk needs no test for the end.
#[derive(Debug, Clone, Copy)]
struct TreeNode {
    /// The value of a leaf, or the threshold of a feature: values up to it continue at `left`, others at `right`.
    number: f32,
    left: u16,
    right: u16,
    feature: u8,
}

impl Forest {
    /// Parses the trees; lines that are not trees are skipped.
    fn parse(text: &str) -> Self {
        let mut forest = Self::default();
        for line in text.lines() {
            let start = forest.nodes.len();
            let nodes: Option<Vec<TreeNode>> = line
                .split(' ')
                .enumerate()
                .map(|(nth, node)| TreeNode::parse(node, start, start + nth))
                .collect();
            if let (Some(nodes), Ok(root)) = (nodes, u16::try_from(start)) {
                forest.nodes.extend(nodes);
                let depth = forest.depth(root);
                forest.roots.push((root, depth));
            }
        }
        forest
    }

    /// The number of steps to the deepest leaf. A child always follows its parent.
    fn depth(&self, node: u16) -> u16 {
        let Some(TreeNode { left, right, .. }) = self.nodes.get(usize::from(node)) else {
            return 0;
        };
        match *left > node && *right > node {
            true => 1 + self.depth(*left).max(self.depth(*right)),
            false => 0,
        }
    }

    /// The scores of files: tree by tree, because the nodes of one tree stay in the processor's cache, and several files
    /// at a time, because each step of a walk waits for the one before it.
    fn scores(&self, files: &[&FeatureValues]) -> Vec<f32> {
        const AT_ONCE: usize = 8;
        let mut scores = vec![0.0; files.len()];
        let (groups, rest) = files.as_chunks::<AT_ONCE>();
        for (root, depth) in &self.roots {
            let (group_scores, rest_scores) = scores.as_chunks_mut::<AT_ONCE>();
            for (scores, files) in group_scores.iter_mut().zip(groups) {
                let values = self.values(*root, *depth, files);
                scores.iter_mut().zip(values).for_each(|(score, value)| *score += value);
            }
            for (score, file) in rest_scores.iter_mut().zip(rest) {
                let [value] = self.values(*root, *depth, &[*file]);
                *score += value;
            }
        }
        scores
    }

    /// The values of a tree for some files.
    #[inline]
    fn values<const N: usize>(&self, root: u16, depth: u16, files: &[&FeatureValues; N]) -> [f32; N] {
        let mut at = [root; N];
        for _ in 0..depth {
            for (at, features) in at.iter_mut().zip(files) {
                let Some(node) = self.nodes.get(usize::from(*at)) else {
                    continue;
                };
                let value = features.get(usize::from(node.feature)).copied().unwrap_or(0.0);
                *at = if value <= node.number { node.left } else { node.right };
            }
        }
        at.map(|at| self.nodes.get(usize::from(at)).map_or(0.0, |leaf| leaf.number))
    }
}

impl TreeNode {
    /// Parses the node at a position of a tree that begins at `start`.
    fn parse(text: &str, start: usize, at: usize) -> Option<Self> {
        let mut fields = text.split(',');
        let first = fields.next()?;
        let at = u16::try_from(at).ok()?;
        let Some(threshold) = fields.next() else {
            return Some(Self {
                number: first.parse().ok()?,
                left: at,
                right: at,
                feature: 0,
            });
        };
        let right: usize = fields.next()?.parse().ok()?;
        let right = u16::try_from(start + right).ok().filter(|right| *right > at)?;
        let feature: u8 = first.parse().ok()?;
        (usize::from(feature) < FEATURE_COUNT).then_some(Self {
            number: threshold.parse().ok()?,
            left: at + 1,
            right,
            feature,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::features::IS_SEMANTIC;

    #[test]
    fn the_stored_models_are_complete() {
        for (forest, text) in [
            (&*ALL, include_str!("../../data/ranker/all.txt")),
            (&*LEXICAL, include_str!("../../data/ranker/lexical.txt")),
        ] {
            let header: Vec<usize> = text
                .lines()
                .take(2)
                .filter_map(|line| line.split(' ').nth(1)?.parse().ok())
                .collect();
            assert_eq!(
                header,
                [FEATURE_COUNT, forest.roots.len()],
                "train the ranker again after a change of the features"
            );
        }
        let uses_vectors = |node: &TreeNode| node.left != node.right && IS_SEMANTIC[usize::from(node.feature)];
        assert!(!LEXICAL.nodes.iter().any(uses_vectors));
        assert!(ALL.nodes.iter().any(uses_vectors));
    }

    #[test]
    fn files_have_the_same_scores_alone_and_together() {
        let files: Vec<FeatureValues> = (0..21_usize)
            .map(|file| std::array::from_fn(|nth| ((file * 31 + nth * 17) % 23) as f32 / 7.0))
            .collect();
        let all: Vec<&FeatureValues> = files.iter().collect();
        let alone: Vec<f32> = all.iter().flat_map(|file| ALL.scores(&[file])).collect();
        assert_eq!(ALL.scores(&all), alone);
        assert!(alone.iter().any(|score| *score != alone[0]));
    }

    #[test]
    fn a_tree_is_evaluated_from_its_root() {
        let forest = Forest::parse("features 9\ntrees 2\n0,0.5,2 -1 1,2,4 10 20\n5");
        let mut features = [0.0; FEATURE_COUNT];
        assert_eq!(forest.scores(&[&features])[0], 4.0);
        features[0] = 1.0;
        assert_eq!(forest.scores(&[&features])[0], 15.0);
        features[1] = 3.0;
        assert_eq!(forest.scores(&[&features])[0], 25.0);
    }
}
