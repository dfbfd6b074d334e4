//! Packs analysed files into a segment.

use std::collections::HashMap;

use crate::search::codec::{BIT_PADDING, BitWriter, MAGNITUDE_BYTES, SIGN_BYTES, push_varint};
use crate::search::document::{FileAnalysis, WordMemory, analyse_with};
use crate::search::search_index::IndexStamp;
use crate::search::segment::{
    HEADER, MAGIC, MAX_SINGLE_COUNT, RecordState, SECTIONS, SINGLE_COUNT_BITS, SINGLE_POSTING, Segment,
};
use crate::search::words::{Term, hash64};

/// The maximum number of definitions of a chunk that are stored.
const MAX_NAMES: usize = 64;
/// Chunk numbers take 24 bits while a segment is built.
const MAX_CHUNKS: usize = 1 << 24;

/// A segment under construction.
#[derive(Default)]
pub struct SegmentBuilder {
    files: Vec<u8>,
    paths: Vec<u8>,
    chunks: Vec<u8>,
    labels: Vec<u8>,
    names: Vec<u8>,
    signs: Vec<u8>,
    magnitudes: Vec<u8>,
    summaries: Vec<u8>,
    /// Term, chunk and count of each posting, in 32, 24 and 8 bits.
    postings: Vec<u64>,
    file_count: u32,
    chunk_count: u32,
    /// The bytes of the added texts.
    source: usize,
    memory: WordMemory,
}

impl SegmentBuilder {
    /// Analyses and adds a file.
    pub fn add(&mut self, path: &str, stamp: IndexStamp, text: &str) {
        let mut memory = std::mem::take(&mut self.memory);
        let analysis = analyse_with(path, text, &mut memory);
        self.memory = memory;
        self.source += text.len();
        self.push(path, stamp, &analysis);
    }

    /// Records that a file no longer exists.
    pub fn remove(&mut self, path: &str) {
        self.push_file(path, IndexStamp::default(), Err(RecordState::Removed));
    }

    /// Records the new modification time of a file with unchanged content.
    pub fn touch(&mut self, path: &str, stamp: IndexStamp) {
        self.push_file(path, stamp, Err(RecordState::Touched));
    }

    /// The number of files.
    pub fn files(&self) -> usize {
        self.file_count as usize
    }

    /// The bytes of the added texts.
    pub fn source(&self) -> usize {
        self.source
    }

    /// Copies the files of a segment for which `keep` returns a stamp, without analysing them again.
    pub(crate) fn copy(&mut self, segment: &Segment, keep: impl Fn(usize) -> Option<IndexStamp>) {
        let mut chunks: Vec<u32> = vec![u32::MAX; segment.chunks];
        for nth in 0..segment.files {
            let Some(stamp) = keep(nth) else { continue };
            let record = segment.file(nth);
            let path_terms = self.names.len() as u32;
            self.names.extend_from_slice(segment.raw_path_terms(&record));
            let (signs, magnitudes) = segment.summary(nth);
            self.summaries.extend_from_slice(signs);
            self.summaries.extend_from_slice(magnitudes);
            let numbers = [
                self.chunk_count,
                record.chunk_count,
                record.words,
                path_terms,
                record.lines,
            ];
            self.push_record(
                segment.path(&record),
                stamp,
                numbers,
                record.class.0,
                RecordState::Indexed,
            );
            let first = record.first_chunk as usize;
            let mut labels = HashMap::new();
            for old in (first..first + record.chunk_count as usize).take_while(|old| *old < segment.chunks) {
                let chunk = segment.chunk(old);
                let label = *labels
                    .entry(chunk.label)
                    .or_insert_with(|| self.push_label(segment.label(&chunk)));
                let names = self.names.len() as u32;
                self.names.extend_from_slice(segment.raw_names(&chunk));
                self.push_chunk(
                    chunk.first,
                    chunk.lines,
                    chunk.length,
                    [label, names, self.file_count - 1],
                );
                self.signs.extend_from_slice(segment.signs(old));
                self.magnitudes.extend_from_slice(segment.magnitudes(old));
                chunks[old] = self.chunk_count;
                self.chunk_count += 1;
            }
        }
        segment.all_postings(|term, chunk, count| {
            let new = chunks.get(chunk).copied().filter(|new| *new != u32::MAX);
            self.postings
                .extend(new.map(|new| u64::from(term) << 32 | u64::from(new) << 8 | u64::from(count)));
        });
    }

    fn push_label(&mut self, label: &str) -> u32 {
        let at = self.labels.len() as u32;
        push_varint(&mut self.labels, label.len() as u32);
        self.labels.extend(label.bytes());
        at
    }

    fn push_chunk(&mut self, first: u32, lines: u16, length: u16, numbers: [u32; 3]) {
        self.chunks.extend(first.to_le_bytes());
        self.chunks.extend(lines.to_le_bytes());
        self.chunks.extend(length.to_le_bytes());
        numbers
            .iter()
            .for_each(|number| self.chunks.extend(number.to_le_bytes()));
    }

    fn push(&mut self, path: &str, stamp: IndexStamp, analysis: &FileAnalysis) {
        let file = self.file_count;
        let mut labels = HashMap::new();
        self.push_file(path, stamp, Ok(analysis));
        for chunk in &analysis.chunks {
            if self.chunk_count as usize >= MAX_CHUNKS {
                break;
            }
            let label = *labels
                .entry(chunk.label.as_str())
                .or_insert_with(|| self.push_label(&chunk.label));
            let names = self.names.len() as u32;
            let stored = chunk
                .definitions
                .get(..chunk.definitions.len().min(MAX_NAMES))
                .unwrap_or_default();
            push_varint(&mut self.names, stored.len() as u32);
            for definition in stored {
                let parts = definition
                    .parts
                    .get(..definition.parts.len().min(12))
                    .unwrap_or_default();
                // Kinds take five bits, counts four; the check takes the rest.
                let (high, low) = (definition.check >> 4, definition.check & 15);
                self.names
                    .extend([definition.kind as u8 | high << 5, parts.len() as u8 | low << 4]);
                self.names.extend(definition.name.to_le_bytes());
                parts
                    .iter()
                    .for_each(|part| self.names.extend((*part as u16).to_le_bytes()));
            }
            let lines = (chunk.span.last - chunk.span.first).min(usize::from(u16::MAX)) as u16;
            self.push_chunk(chunk.span.first as u32, lines, chunk.length, [label, names, file]);
            self.signs.extend(chunk.vector.signs);
            self.magnitudes.extend(chunk.vector.magnitudes);
            let number = u64::from(self.chunk_count) << 8;
            let postings = chunk
                .terms
                .iter()
                .map(|(term, count)| u64::from(*term) << 32 | number | u64::from(*count));
            self.postings.extend(postings);
            self.chunk_count += 1;
        }
    }

    /// Appends the record of a file, with its content or its state.
    fn push_file(&mut self, path: &str, stamp: IndexStamp, content: Result<&FileAnalysis, RecordState>) {
        let (analysis, state) = match content {
            Ok(analysis) => (Some(analysis), RecordState::Indexed),
            Err(state) => (None, state),
        };
        let path_terms = self.names.len() as u32;
        if let Some(analysis) = analysis {
            for list in [&analysis.path.stem, &analysis.path.folders] {
                push_varint(&mut self.names, list.len() as u32);
                list.iter().for_each(|term| self.names.extend(term.to_le_bytes()));
            }
            self.summaries.extend(analysis.summary.signs);
            self.summaries.extend(analysis.summary.magnitudes);
        } else {
            self.names.extend([0, 0]);
            self.summaries.extend([0; SIGN_BYTES + MAGNITUDE_BYTES]);
        }
        let chunks = analysis.map_or(&[][..], |analysis| &analysis.chunks);
        let chunk_count = chunks.len().min(MAX_CHUNKS - self.chunk_count as usize) as u32;
        let words: u32 = chunks.iter().map(|chunk| u32::from(chunk.length)).sum();
        let class = analysis.map_or(0, |analysis| analysis.class.0);
        let lines = analysis.map_or(0, |analysis| analysis.lines as u32);
        self.push_record(
            path,
            stamp,
            [self.chunk_count, chunk_count, words, path_terms, lines],
            class,
            state,
        );
    }

    fn push_record(&mut self, path: &str, stamp: IndexStamp, numbers: [u32; 5], class: u8, state: RecordState) {
        let record = &mut self.files;
        record.extend((self.paths.len() as u32).to_le_bytes());
        record.extend((path.len() as u32).to_le_bytes());
        for number in [
            hash64(path.as_bytes()),
            stamp.content,
            stamp.modified as u64,
            stamp.size,
        ] {
            record.extend(number.to_le_bytes());
        }
        numbers.iter().for_each(|number| record.extend(number.to_le_bytes()));
        record.extend([class, state as u8, 0, 0]);
        self.paths.extend(path.bytes());
        self.file_count += 1;
    }

    /// The bytes of the segment. The builder is empty afterwards and can be used again.
    pub fn finish(&mut self) -> Vec<u8> {
        let built = std::mem::take(self);
        self.memory = built.memory;
        let mut sorted = built.postings;
        sorted.sort_unstable();
        let (mut terms, mut offsets, mut postings) = (Vec::new(), Vec::new(), Vec::new());
        let term_of = |posting: &u64| (*posting >> 32) as Term;
        let mut term_count: u32 = 0;
        for same in sorted.chunk_by(|a, b| term_of(a) == term_of(b)) {
            let Some(term) = same.first().map(term_of) else {
                continue;
            };
            terms.extend(term.to_le_bytes());
            term_count += 1;
            if let [posting] = same {
                let (chunk, count) = ((*posting as u32) >> 8, u32::from(*posting as u8));
                if count <= MAX_SINGLE_COUNT {
                    offsets.extend((SINGLE_POSTING | chunk << SINGLE_COUNT_BITS | count).to_le_bytes());
                    continue;
                }
            }
            offsets.extend((postings.len() as u32).to_le_bytes());
            push_varint(&mut postings, same.len() as u32);
            let mut bits = BitWriter::new(&mut postings);
            let mut next = 0;
            for posting in same {
                let (chunk, count) = ((*posting as u32) >> 8, *posting as u8);
                bits.push(chunk - next + 1);
                bits.push(u32::from(count));
                next = chunk + 1;
            }
            bits.finish();
        }
        postings.extend([0; BIT_PADDING]);
        drop(sorted);
        let sections: [&Vec<u8>; SECTIONS] = [
            &built.files,
            &built.paths,
            &built.chunks,
            &built.labels,
            &built.names,
            &built.signs,
            &built.magnitudes,
            &built.summaries,
            &terms,
            &offsets,
            &postings,
        ];
        let total = HEADER + sections.iter().map(|section| section.len()).sum::<usize>();
        let mut bytes = Vec::with_capacity(total);
        bytes.extend(MAGIC);
        for count in [built.file_count, built.chunk_count, term_count, 0] {
            bytes.extend(count.to_le_bytes());
        }
        let mut end = HEADER as u64;
        for section in sections {
            end += section.len() as u64;
            bytes.extend(end.to_le_bytes());
        }
        sections.iter().for_each(|section| bytes.extend_from_slice(section));
        bytes
    }
}
