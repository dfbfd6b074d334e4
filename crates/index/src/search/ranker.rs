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

    /// The score of a file.
    pub(crate) fn score(&self, features: &FeatureValues) -> f32 {
        match self {
            Self::Trees(forest) => forest.score(features),
            Self::Single(feature) => features[*feature as usize],
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
    roots: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
enum TreeNode {
    Leaf(f32),
    /// Values up to the threshold continue with the next node, others with the node at `right`.
    Split {
        feature: u8,
        threshold: f32,
        right: u32,
    },
}

impl Forest {
    /// Parses the trees; lines that are not trees are skipped.
    fn parse(text: &str) -> Self {
        let mut forest = Self::default();
        for line in text.lines() {
            let start = forest.nodes.len();
            let nodes: Option<Vec<TreeNode>> = line.split(' ').map(|node| TreeNode::parse(node, start)).collect();
            if let Some(nodes) = nodes {
                forest.roots.push(start);
                forest.nodes.extend(nodes);
            }
        }
        forest
    }

    fn score(&self, features: &FeatureValues) -> f32 {
        self.roots.iter().map(|root| self.value(*root, features)).sum()
    }

    fn value(&self, root: usize, features: &FeatureValues) -> f32 {
        let mut at = root;
        // A child always follows its parent, so this ends.
        while let Some(node) = self.nodes.get(at) {
            match node {
                TreeNode::Leaf(value) => return *value,
                TreeNode::Split {
                    feature,
                    threshold,
                    right,
                } => {
                    let value = features.get(usize::from(*feature)).copied().unwrap_or(0.0);
                    at = if value <= *threshold {
                        at + 1
                    } else {
                        (*right as usize).max(at + 1)
                    };
                }
            }
        }
        0.0
    }
}

impl TreeNode {
    fn parse(text: &str, start: usize) -> Option<Self> {
        let mut fields = text.split(',');
        let first = fields.next()?;
        let Some(threshold) = fields.next() else {
            return first.parse().ok().map(Self::Leaf);
        };
        let right: usize = fields.next()?.parse().ok()?;
        let feature: u8 = first.parse().ok()?;
        (usize::from(feature) < FEATURE_COUNT).then_some(Self::Split {
            feature,
            threshold: threshold.parse().ok()?,
            right: u32::try_from(start + right).ok()?,
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
        let uses_vectors =
            |node: &TreeNode| matches!(node, TreeNode::Split { feature, .. } if IS_SEMANTIC[usize::from(*feature)]);
        assert!(!LEXICAL.nodes.iter().any(uses_vectors));
        assert!(ALL.nodes.iter().any(uses_vectors));
    }

    #[test]
    fn a_tree_is_evaluated_from_its_root() {
        let forest = Forest::parse("features 9\ntrees 2\n0,0.5,2 -1 1,2,4 10 20\n5");
        let mut features = [0.0; FEATURE_COUNT];
        assert_eq!(forest.score(&features), 4.0);
        features[0] = 1.0;
        assert_eq!(forest.score(&features), 15.0);
        features[1] = 3.0;
        assert_eq!(forest.score(&features), 25.0);
    }
}
