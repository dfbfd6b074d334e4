//! Several segments as one index: the latest version of each file counts.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use crate::search::file_class::FileClass;
use crate::search::query::QueryMemory;
use crate::search::segment::{FileRecord, RecordState, Segment};
use crate::search::segment_builder::SegmentBuilder;
use crate::search::words::hash64;

/// The state of a file when it was indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct IndexStamp {
    /// Nanoseconds since the epoch.
    pub modified: i64,
    /// Its size in bytes.
    pub size: u64,
    /// The hash of its content.
    pub content: u64,
}

impl IndexStamp {
    /// The hash of a content.
    pub fn hash(bytes: &[u8]) -> u64 {
        hash64(bytes)
    }
}

/// A file of the index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexedFile<'i> {
    /// Its path, relative to the project and with forward slashes.
    pub path: &'i str,
    /// Its state when it was indexed.
    pub stamp: IndexStamp,
    /// Its purpose.
    pub class: FileClass,
    /// Its lines.
    pub lines: usize,
    /// The number of its chunks.
    pub chunks: usize,
}

/// The segments of a project.
#[derive(Debug, Clone, Default)]
pub struct SearchIndex {
    pub(crate) parts: Vec<IndexPart>,
    pub(crate) live_files: usize,
    pub(crate) live_chunks: usize,
    pub(crate) live_words: u64,
    /// All chunks, including replaced ones.
    pub(crate) chunk_total: usize,
    pub(crate) file_total: usize,
    /// Newer stamps of files with unchanged content, by the hash of the path.
    touched: HashMap<u64, IndexStamp>,
    pub(crate) query_memory: Arc<Mutex<QueryMemory>>,
}

/// A segment and the positions of its files and chunks in the whole index.
#[derive(Debug, Clone)]
pub(crate) struct IndexPart {
    pub(crate) segment: Segment,
    pub(crate) first_file: usize,
    pub(crate) first_chunk: usize,
    /// Which files are current; empty if all are.
    live: Vec<bool>,
}

impl IndexPart {
    pub(crate) fn is_live(&self, file: usize) -> bool {
        self.live.is_empty() || self.live.get(file).copied().unwrap_or(false)
    }

    /// Which files are current, if some are not.
    pub(crate) fn live(&self) -> Option<&[bool]> {
        Some(&self.live[..]).filter(|live| !live.is_empty())
    }

    pub(crate) fn has_stale(&self) -> bool {
        !self.live.is_empty()
    }
}

impl SearchIndex {
    /// An index of these segments, oldest first.
    pub fn new(segments: Vec<Segment>) -> Self {
        let mut seen: HashSet<u64> = HashSet::new();
        let mut index = Self::default();
        let mut parts: Vec<IndexPart> = Vec::new();
        for segment in segments.into_iter().rev() {
            let mut live = vec![true; segment.files];
            for (nth, live) in live.iter_mut().enumerate().rev() {
                let file = segment.file(nth);
                if file.state == RecordState::Touched {
                    *live = false;
                    if !seen.contains(&file.path_hash) {
                        index.touched.entry(file.path_hash).or_insert(stamp(&file));
                    }
                    continue;
                }
                // A path may occur twice in a segment; the later one counts.
                let is_first = seen.insert(file.path_hash);
                *live = is_first && file.state == RecordState::Indexed;
                if *live {
                    index.live_files += 1;
                    index.live_chunks += file.chunk_count as usize;
                    index.live_words += u64::from(file.words);
                }
            }
            if live.iter().all(|live| *live) {
                live = Vec::new();
            }
            parts.push(IndexPart {
                segment,
                first_file: 0,
                first_chunk: 0,
                live,
            });
        }
        parts.reverse();
        for part in &mut parts {
            (part.first_file, part.first_chunk) = (index.file_total, index.chunk_total);
            index.file_total += part.segment.files;
            index.chunk_total += part.segment.chunks;
        }
        index.parts = parts;
        index
    }

    /// The number of files.
    pub fn file_count(&self) -> usize {
        self.live_files
    }

    /// The number of chunks.
    pub fn chunk_count(&self) -> usize {
        self.live_chunks
    }

    /// The number of files in the segments that were replaced or removed.
    pub fn stale_files(&self) -> usize {
        self.file_total - self.live_files
    }

    /// The bytes of the segments.
    pub fn size(&self) -> usize {
        self.parts.iter().map(|part| part.segment.size()).sum()
    }

    /// The total sizes of the sections of all segments, for measurements.
    pub fn section_sizes(&self) -> Vec<usize> {
        let mut sizes = Vec::new();
        for part in &self.parts {
            sizes.resize(sizes.len().max(part.segment.section_sizes().len()), 0);
            sizes
                .iter_mut()
                .zip(part.segment.section_sizes())
                .for_each(|(sum, size)| *sum += size);
        }
        sizes
    }

    /// The number of segments.
    pub fn segment_count(&self) -> usize {
        self.parts.len()
    }

    /// The current files.
    pub fn files(&self) -> impl Iterator<Item = IndexedFile<'_>> {
        self.records().map(|(part, file)| IndexedFile {
            path: part.segment.path(&file),
            stamp: self.stamp_of(&file),
            class: file.class,
            lines: file.lines as usize,
            chunks: file.chunk_count as usize,
        })
    }

    /// The segments with small and mostly stale ones merged, if there are more than `most` small ones or much is stale.
    /// Segments of fewer than `small` bytes are small. The result of the merge has about `limit` bytes at most.
    pub fn compacted(&self, most: usize, small: usize, limit: usize) -> Option<Vec<Segment>> {
        let live_files = |part: &IndexPart| (0..part.segment.files).filter(|file| part.is_live(*file)).count();
        let is_small = |part: &IndexPart| part.segment.size() < small;
        let is_much_stale = self.stale_files() > self.live_files / 2 + 100;
        if self.parts.iter().filter(|part| is_small(part)).count() <= most && !is_much_stale {
            return None;
        }
        let mut size = 0;
        let is_merged = |part: &&IndexPart| {
            let (live, files) = (live_files(part), part.segment.files.max(1));
            let live_size = part.segment.size() / files * live;
            let is_wanted = (is_small(part) || 2 * live < files) && size + live_size <= limit;
            size += if is_wanted { live_size } else { 0 };
            is_wanted
        };
        let (merged, kept): (Vec<&IndexPart>, Vec<&IndexPart>) = self.parts.iter().partition(is_merged);
        let mut builder = SegmentBuilder::default();
        for part in &merged {
            builder.copy(&part.segment, |file| {
                part.is_live(file).then(|| self.stamp_of(&part.segment.file(file)))
            });
        }
        // Files of kept segments that no longer exist or have another modification time need a record.
        let live: HashSet<u64> = self.records().map(|(_, file)| file.path_hash).collect();
        let mut noted: HashSet<u64> = HashSet::new();
        for part in &kept {
            for nth in 0..part.segment.files {
                let file = part.segment.file(nth);
                let path = part.segment.path(&file);
                if part.is_live(nth) && self.touched.contains_key(&file.path_hash) {
                    builder.touch(path, self.stamp_of(&file));
                } else if !live.contains(&file.path_hash) && noted.insert(file.path_hash) {
                    builder.remove(path);
                }
            }
        }
        let mut segments: Vec<Segment> = kept.iter().map(|part| part.segment.clone()).collect();
        if builder.files() > 0 {
            segments.push(Segment::open(Arc::new(builder.finish())).ok()?);
        }
        (segments.len() < self.parts.len() || is_much_stale && !merged.is_empty()).then_some(segments)
    }

    /// The current records with their segments.
    fn records(&self) -> impl Iterator<Item = (&IndexPart, FileRecord)> {
        self.parts.iter().flat_map(|part| {
            let live = (0..part.segment.files).filter(|nth| part.is_live(*nth));
            live.map(move |nth| (part, part.segment.file(nth)))
        })
    }

    /// The segment of a chunk.
    pub(crate) fn part_of_chunk(&self, chunk: usize) -> (usize, &IndexPart) {
        let nth = self.parts.partition_point(|part| part.first_chunk <= chunk);
        let nth = nth.saturating_sub(1);
        (nth, &self.parts[nth])
    }

    /// The segment of a file and its position there.
    pub(crate) fn part_of_file(&self, file: usize) -> (usize, usize) {
        let nth = self.parts.partition_point(|part| part.first_file <= file);
        let nth = nth.saturating_sub(1);
        (nth, file - self.parts[nth].first_file)
    }

    /// Orders chunks in the same way in an updated and in a new index.
    pub(crate) fn chunk_key(&self, chunk: usize) -> u64 {
        let (_, part) = self.part_of_chunk(chunk);
        let local = chunk - part.first_chunk;
        let file = part.segment.file(part.segment.chunk(local).file as usize);
        let nth = (local as u64).wrapping_sub(u64::from(file.first_chunk));
        file.path_hash.wrapping_add(nth)
    }

    pub(crate) fn stamp_of(&self, file: &FileRecord) -> IndexStamp {
        let newer = self
            .touched
            .get(&file.path_hash)
            .filter(|newer| newer.content == file.content);
        newer.copied().unwrap_or_else(|| stamp(file))
    }

    /// The stamps of the current files, by path.
    pub fn stamps(&self) -> HashMap<&str, IndexStamp> {
        self.files().map(|file| (file.path, file.stamp)).collect()
    }
}

fn stamp(file: &FileRecord) -> IndexStamp {
    IndexStamp {
        modified: file.modified,
        size: file.size,
        content: file.content,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::{QueryScope, RankingSignals, SearchQuery, SegmentBuilder};

    /// The paths that a query finds in an index of these segments of files with the same content.
    fn found(segments: &[Vec<usize>]) -> Vec<String> {
        let stamp = IndexStamp {
            modified: 1,
            size: 1,
            content: 1,
        };
        let segments = segments.iter().map(|files| {
            let mut builder = SegmentBuilder::default();
            for file in files {
                let text = "fn close_idle() {\n    pool.close();\n}\n";
                builder.add(&format!("src/part_{file}/pool.rs"), stamp, text);
            }
            Segment::open(std::sync::Arc::new(builder.finish())).expect("a segment")
        });
        let query = SearchQuery {
            text: "close idle",
            scope: QueryScope::default(),
            limit: 10,
            signals: RankingSignals::All,
        };
        let hits = SearchIndex::new(segments.collect()).search(&query);
        hits.files.into_iter().map(|file| file.path).collect()
    }

    #[test]
    fn an_updated_index_selects_the_same_of_equal_files_as_a_new_one() {
        let all: Vec<usize> = (0..300).collect();
        let (old, new): (Vec<usize>, Vec<usize>) = all.iter().partition(|file| **file % 3 > 0);
        let expected = found(std::slice::from_ref(&all));
        assert_eq!(expected.len(), 10);
        assert_eq!(found(&[all.iter().rev().copied().collect()]), expected);
        assert_eq!(found(&[old, new.clone()]), expected);
        assert_eq!(found(&[all, new]), expected);
    }
}
