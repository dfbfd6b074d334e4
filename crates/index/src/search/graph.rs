//! The reference graph of the files: which file uses names that another one defines, and the rank that follows.

use std::collections::HashMap;

use crate::SymbolKind;
use crate::search::search_index::SearchIndex;
use crate::search::words::Term;

/// A name that more files define says little about a reference.
const MAX_DEFINERS: usize = 4;
/// A name in a larger share of the files is a common word.
const MAX_SHARE: f32 = 0.2;
/// The maximum number of edges; in larger projects only types are considered.
const MAX_EDGES: usize = 2_000_000;
const MANY_CHUNKS: usize = 100_000;
const DAMPING: f32 = 0.85;
const ROUNDS: usize = 25;
/// How much more often a walk starts at a preferred file.
const PREFERENCE: f32 = 50.0;

/// A file with its rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankedFile {
    /// Its path, relative to the project.
    pub path: String,
    /// Its share of all references.
    pub rank: f32,
}

impl SearchIndex {
    /// The files by PageRank over references, most referenced first. Walks start more often at the preferred files, each
    /// with a weight.
    pub fn rank_files(&self, preferred: &HashMap<String, f32>, limit: usize) -> Vec<RankedFile> {
        let mut paths: Vec<(&str, f32)> = Vec::new();
        let mut number: HashMap<(usize, usize), usize> = HashMap::new();
        for (nth, part) in self.parts.iter().enumerate() {
            for file in (0..part.segment.files).filter(|file| part.is_live(*file)) {
                let record = part.segment.file(file);
                let path = part.segment.path(&record);
                number.insert((nth, file), paths.len());
                let weight = if record.class.is_secondary() { 0.1 } else { 1.0 };
                paths.push((
                    path,
                    weight * (1.0 + PREFERENCE * preferred.get(path).copied().unwrap_or(0.0)),
                ));
            }
        }
        let edges = self.edges(&number, paths.len());
        let ranks = page_rank(&edges, &paths.iter().map(|(_, weight)| *weight).collect::<Vec<_>>());
        let mut ranked: Vec<RankedFile> = paths
            .iter()
            .zip(ranks)
            .map(|((path, weight), rank)| RankedFile {
                path: (*path).to_owned(),
                // Files about the task come first, then the most important ones.
                rank: rank * weight,
            })
            .collect();
        ranked.sort_by(|a, b| b.rank.total_cmp(&a.rank).then_with(|| a.path.cmp(&b.path)));
        ranked.truncate(limit);
        ranked
    }

    /// Edges from a file to a file that defines a name it uses, with their weights.
    fn edges(&self, number: &HashMap<(usize, usize), usize>, files: usize) -> Vec<(u32, u32, f32)> {
        let mut definers: HashMap<Term, Vec<usize>> = HashMap::new();
        for (nth, part) in self.parts.iter().enumerate() {
            for chunk in 0..part.segment.chunks {
                let record = part.segment.chunk(chunk);
                let Some(file) = number.get(&(nth, record.file as usize)) else {
                    continue;
                };
                part.segment.names(&record, |name, _| {
                    let is_type = name.kind <= SymbolKind::Type as u8 && name.kind != SymbolKind::Impl as u8;
                    let is_code = name.kind <= SymbolKind::Macro as u8 && name.kind != SymbolKind::Impl as u8;
                    if is_type || is_code && self.chunk_total < MANY_CHUNKS {
                        let files = definers.entry(name.name).or_default();
                        if files.last() != Some(file) {
                            files.push(*file);
                        }
                    }
                });
            }
        }
        let mut edges = Vec::new();
        let mut terms: Vec<(&Term, &Vec<usize>)> = definers
            .iter()
            .filter(|(_, files)| files.len() <= MAX_DEFINERS)
            .collect();
        terms.sort_unstable();
        let mut uses: HashMap<usize, f32> = HashMap::new();
        for (term, definers) in terms {
            uses.clear();
            for (nth, part) in self.parts.iter().enumerate() {
                part.segment.postings(*term, |chunk, count| {
                    if let Some(file) = number.get(&(nth, part.segment.chunk(chunk).file as usize)) {
                        *uses.entry(*file).or_default() += f32::from(count);
                    }
                });
            }
            if uses.len() as f32 > MAX_SHARE * files as f32 + 5.0 || edges.len() > MAX_EDGES {
                continue;
            }
            for (user, count) in &uses {
                for definer in definers.iter().filter(|definer| *definer != user) {
                    edges.push((*user as u32, *definer as u32, count.sqrt() / definers.len() as f32));
                }
            }
        }
        edges.sort_unstable_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)).then_with(|| a.2.total_cmp(&b.2)));
        edges
    }
}

fn page_rank(edges: &[(u32, u32, f32)], weights: &[f32]) -> Vec<f32> {
    let total: f32 = weights.iter().sum::<f32>().max(f32::EPSILON);
    let start: Vec<f32> = weights.iter().map(|weight| weight / total).collect();
    let mut out = vec![0.0_f32; weights.len()];
    for (from, _, weight) in edges {
        out[*from as usize] += weight;
    }
    let mut ranks = start.clone();
    for _ in 0..ROUNDS {
        let idle: f32 = ranks
            .iter()
            .zip(&out)
            .filter(|(_, out)| **out == 0.0)
            .map(|(rank, _)| rank)
            .sum();
        let mut next: Vec<f32> = start
            .iter()
            .map(|start| (1.0 - DAMPING + DAMPING * idle) * start)
            .collect();
        for (from, to, weight) in edges {
            let from = *from as usize;
            next[*to as usize] += DAMPING * ranks[from] * weight / out[from];
        }
        ranks = next;
    }
    ranks
}
