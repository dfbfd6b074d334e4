//! A segment: the analysed form of some files as one byte string, searched in place.
//!
//! All accesses are checked: damaged bytes yield wrong numbers, never a panic. The container of segments detects damage
//! by checksum.

use std::sync::Arc;

use crate::search::codec::{BitReader, MAGNITUDE_BYTES, SIGN_BYTES, u16_at, u32_at, u64_at, varint};
use crate::search::file_class::FileClass;
use crate::search::words::Term;

/// The bytes of a segment, usually a part of a mapped file.
pub type SegmentBytes = Arc<dyn AsRef<[u8]> + Send + Sync>;

/// Identifies the format; a change of the analysis or the layout changes it.
pub(crate) const MAGIC: [u8; 8] = *b"HEWSEG02";
pub(crate) const HEADER: usize = 8 + 3 * 4 + 4 + SECTIONS * 8;
pub(crate) const SECTIONS: usize = 11;
pub(crate) const FILE_RECORD: usize = 64;
pub(crate) const CHUNK_RECORD: usize = 20;
/// Marks an offset that is itself the only posting of its term: the chunk, then the count in the low bits. Most terms
/// of a project occur in one chunk.
pub(crate) const SINGLE_POSTING: u32 = 1 << 31;
pub(crate) const SINGLE_COUNT_BITS: u32 = 7;
pub(crate) const MAX_SINGLE_COUNT: u32 = (1 << SINGLE_COUNT_BITS) - 1;

/// The sections in the order of their bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Section {
    Files,
    Paths,
    Chunks,
    Labels,
    Names,
    Signs,
    Magnitudes,
    Summaries,
    Terms,
    Offsets,
    Postings,
}

/// Why bytes are not a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SegmentDefect {
    /// Another version of the format, or other data.
    #[error("the index has another format")]
    Format,
    /// The sections do not fit the length.
    #[error("the index is damaged")]
    Damaged,
}

/// A readable segment.
#[derive(Clone)]
pub struct Segment {
    bytes: SegmentBytes,
    /// Start and end of each section.
    sections: [(usize, usize); SECTIONS],
    pub(crate) files: usize,
    pub(crate) chunks: usize,
    terms: usize,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Segment")
            .field("files", &self.files)
            .field("chunks", &self.chunks)
            .finish_non_exhaustive()
    }
}

/// The state of a file in a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordState {
    /// Its content follows.
    Indexed = 0,
    /// It no longer exists.
    Removed = 1,
    /// Its content is that of an earlier record, but its modification time is another.
    Touched = 2,
}

impl RecordState {
    fn of(number: u16) -> Self {
        match number {
            0 => Self::Indexed,
            2 => Self::Touched,
            _ => Self::Removed,
        }
    }
}

/// The record of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileRecord {
    path: (u32, u32),
    pub(crate) path_hash: u64,
    pub(crate) content: u64,
    pub(crate) modified: i64,
    pub(crate) size: u64,
    pub(crate) first_chunk: u32,
    pub(crate) chunk_count: u32,
    pub(crate) words: u32,
    path_terms: u32,
    pub(crate) lines: u32,
    pub(crate) class: FileClass,
    pub(crate) state: RecordState,
}

impl FileRecord {
    #[inline]
    pub(crate) fn of(record: &[u8; FILE_RECORD]) -> Self {
        let flags = u16_at(record, 60);
        Self {
            path: (u32_at(record, 0), u32_at(record, 4)),
            path_hash: u64_at(record, 8),
            content: u64_at(record, 16),
            modified: u64_at(record, 24) as i64,
            size: u64_at(record, 32),
            first_chunk: u32_at(record, 40),
            chunk_count: u32_at(record, 44),
            words: u32_at(record, 48),
            path_terms: u32_at(record, 52),
            lines: u32_at(record, 56),
            class: FileClass(flags as u8),
            state: RecordState::of(flags >> 8),
        }
    }
}

/// The record of a definition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NameRecord {
    /// The kind, as a number.
    pub(crate) kind: u8,
    /// Distinguishes names with the same stem.
    pub(crate) check: u8,
    /// The stemmed name.
    pub(crate) name: Term,
}

/// The chunks that contain a term.
enum PostingList<'a> {
    Single {
        chunk: usize,
        count: u8,
    },
    /// The number of chunks, then for each the distance from the one before it and the count, as bits.
    Encoded(&'a [u8]),
}

/// The record of a chunk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkRecord {
    pub(crate) first: u32,
    pub(crate) lines: u16,
    pub(crate) length: u16,
    pub(crate) label: u32,
    names: u32,
    pub(crate) file: u32,
}

impl ChunkRecord {
    #[inline]
    pub(crate) fn of(record: &[u8; CHUNK_RECORD]) -> Self {
        Self {
            first: u32_at(record, 0),
            lines: u16_at(record, 4),
            length: u16_at(record, 6),
            label: u32_at(record, 8),
            names: u32_at(record, 12),
            file: u32_at(record, 16),
        }
    }
}

impl Segment {
    /// Opens a segment.
    pub fn open(bytes: SegmentBytes) -> Result<Self, SegmentDefect> {
        let all = (*bytes).as_ref();
        if all.first_chunk() != Some(&MAGIC) {
            return Err(SegmentDefect::Format);
        }
        let (files, chunks, terms) = (u32_at(all, 8), u32_at(all, 12), u32_at(all, 16));
        let mut sections = [(0, 0); SECTIONS];
        let mut start = HEADER;
        for (nth, section) in sections.iter_mut().enumerate() {
            let end = u64_at(all, 24 + 8 * nth) as usize;
            if end < start || end > all.len() {
                return Err(SegmentDefect::Damaged);
            }
            *section = (start, end);
            start = end;
        }
        let segment = Self {
            files: files as usize,
            chunks: chunks as usize,
            terms: terms as usize,
            sections,
            bytes: Arc::clone(&bytes),
        };
        let fits =
            |section: Section, count: usize, size: usize| segment.section(section).len() == count.saturating_mul(size);
        let is_whole = fits(Section::Files, segment.files, FILE_RECORD)
            && fits(Section::Chunks, segment.chunks, CHUNK_RECORD)
            && fits(Section::Signs, segment.chunks, SIGN_BYTES)
            && fits(Section::Magnitudes, segment.chunks, MAGNITUDE_BYTES)
            && fits(Section::Summaries, segment.files, SIGN_BYTES + MAGNITUDE_BYTES)
            && fits(Section::Terms, segment.terms, 4)
            && fits(Section::Offsets, segment.terms, 4);
        match is_whole {
            true => Ok(segment),
            false => Err(SegmentDefect::Damaged),
        }
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        (*self.bytes).as_ref()
    }

    /// The number of bytes.
    pub fn size(&self) -> usize {
        (*self.bytes).as_ref().len()
    }

    /// The sizes of the sections, for measurements.
    pub fn section_sizes(&self) -> Vec<usize> {
        self.sections.iter().map(|(start, end)| end - start).collect()
    }

    fn section(&self, section: Section) -> &[u8] {
        let (start, end) = self.sections[section as usize];
        (*self.bytes).as_ref().get(start..end).unwrap_or_default()
    }

    pub(crate) fn file(&self, nth: usize) -> FileRecord {
        FileRecord::of(self.file_table().get(nth).unwrap_or(&[0; FILE_RECORD]))
    }

    /// The bytes of the records of all files.
    pub(crate) fn file_table(&self) -> &[[u8; FILE_RECORD]] {
        self.section(Section::Files).as_chunks().0
    }

    pub(crate) fn path(&self, file: &FileRecord) -> &str {
        let (start, length) = (file.path.0 as usize, file.path.1 as usize);
        let bytes = self
            .section(Section::Paths)
            .get(start..start.saturating_add(length))
            .unwrap_or_default();
        str::from_utf8(bytes).unwrap_or_default()
    }

    pub(crate) fn chunk(&self, nth: usize) -> ChunkRecord {
        ChunkRecord::of(self.chunk_table().get(nth).unwrap_or(&[0; CHUNK_RECORD]))
    }

    /// The bytes of the records of all chunks.
    pub(crate) fn chunk_table(&self) -> &[[u8; CHUNK_RECORD]] {
        self.section(Section::Chunks).as_chunks().0
    }

    pub(crate) fn label(&self, chunk: &ChunkRecord) -> &str {
        let labels = self
            .section(Section::Labels)
            .get(chunk.label as usize..)
            .unwrap_or_default();
        let mut at = 0;
        let length = varint(labels, &mut at) as usize;
        str::from_utf8(labels.get(at..at.saturating_add(length)).unwrap_or_default()).unwrap_or_default()
    }

    /// Calls `visit` with each definition of a chunk and its words, of which 16 bits are stored.
    pub(crate) fn names(&self, chunk: &ChunkRecord, mut visit: impl FnMut(NameRecord, &mut dyn Iterator<Item = u16>)) {
        let names = self
            .section(Section::Names)
            .get(chunk.names as usize..)
            .unwrap_or_default();
        let mut at = 0;
        for _ in 0..varint(names, &mut at) {
            let (Some(kind), Some(count)) = (names.get(at), names.get(at + 1)) else {
                return;
            };
            let start = at + 6;
            let end = start + usize::from(*count & 15) * 2;
            let record = NameRecord {
                kind: kind & 31,
                check: (kind >> 5) << 4 | count >> 4,
                name: u32_at(names, at + 2),
            };
            visit(record, &mut (start..end).step_by(2).map(|at| u16_at(names, at)));
            at = end;
        }
    }

    /// The bytes of the definitions of a chunk.
    pub(crate) fn raw_names(&self, chunk: &ChunkRecord) -> &[u8] {
        let names = self
            .section(Section::Names)
            .get(chunk.names as usize..)
            .unwrap_or_default();
        let mut end = 0;
        for _ in 0..varint(names, &mut end) {
            end += 6 + 2 * usize::from(names.get(end + 1).copied().unwrap_or(0) & 15);
        }
        names.get(..end).unwrap_or(&[0])
    }

    /// The bytes of the terms of a path.
    pub(crate) fn raw_path_terms(&self, file: &FileRecord) -> &[u8] {
        let names = self
            .section(Section::Names)
            .get(file.path_terms as usize..)
            .unwrap_or_default();
        let mut end = 0;
        for _ in 0..2 {
            let count = varint(names, &mut end) as usize;
            end = end.saturating_add(4 * count.min(names.len()));
        }
        names.get(..end).unwrap_or(&[0, 0])
    }

    /// The terms of a file's stem and of its folders.
    pub(crate) fn path_terms(&self, file: &FileRecord) -> (Vec<Term>, Vec<Term>) {
        let names = self
            .section(Section::Names)
            .get(file.path_terms as usize..)
            .unwrap_or_default();
        let mut at = 0;
        let mut list = || {
            let count = varint(names, &mut at) as usize;
            let start = at;
            at += 4 * count.min(names.len());
            (start..at).step_by(4).map(|at| u32_at(names, at)).collect()
        };
        (list(), list())
    }

    pub(crate) fn signs(&self, chunk: usize) -> &[u8] {
        let start = chunk * SIGN_BYTES;
        self.section(Section::Signs)
            .get(start..start + SIGN_BYTES)
            .unwrap_or_default()
    }

    /// The signs of all chunks.
    pub(crate) fn all_signs(&self) -> &[u8] {
        self.section(Section::Signs)
    }

    pub(crate) fn magnitudes(&self, chunk: usize) -> &[u8] {
        let start = chunk * MAGNITUDE_BYTES;
        self.section(Section::Magnitudes)
            .get(start..start + MAGNITUDE_BYTES)
            .unwrap_or_default()
    }

    /// The signs and the magnitudes of a file's summary.
    pub(crate) fn summary(&self, file: usize) -> (&[u8], &[u8]) {
        let start = file * (SIGN_BYTES + MAGNITUDE_BYTES);
        let code = self
            .section(Section::Summaries)
            .get(start..start + SIGN_BYTES + MAGNITUDE_BYTES);
        code.and_then(|code| code.split_at_checked(SIGN_BYTES))
            .unwrap_or_default()
    }

    /// The chunks that contain the term with this number.
    fn posting_list(&self, nth: usize) -> PostingList<'_> {
        let offset = u32_at(self.section(Section::Offsets), 4 * nth);
        match offset & SINGLE_POSTING {
            0 => PostingList::Encoded(
                self.section(Section::Postings)
                    .get(offset as usize..)
                    .unwrap_or_default(),
            ),
            _ => PostingList::Single {
                chunk: ((offset & !SINGLE_POSTING) >> SINGLE_COUNT_BITS) as usize,
                count: (offset & MAX_SINGLE_COUNT) as u8,
            },
        }
    }

    fn term_number(&self, term: Term) -> Option<usize> {
        let terms = self.section(Section::Terms).as_chunks::<4>().0;
        terms
            .binary_search_by_key(&term, |bytes| u32::from_le_bytes(*bytes))
            .ok()
    }

    /// The number of chunks that contain a term.
    pub(crate) fn posting_count(&self, term: Term) -> usize {
        match self.term_number(term).map(|nth| self.posting_list(nth)) {
            None => 0,
            Some(PostingList::Single { .. }) => 1,
            Some(PostingList::Encoded(postings)) => varint(postings, &mut 0) as usize,
        }
    }

    /// Calls `visit` with the chunks that contain a term and its count in each, in order.
    pub(crate) fn postings(&self, term: Term, mut visit: impl FnMut(usize, u8)) {
        if let Some(nth) = self.term_number(term) {
            self.decode(self.posting_list(nth), &mut visit);
        }
    }

    /// Calls `visit` with each term, the chunks that contain it and its count in each.
    pub(crate) fn all_postings(&self, mut visit: impl FnMut(Term, usize, u8)) {
        for (nth, term) in self.section(Section::Terms).as_chunks::<4>().0.iter().enumerate() {
            let term = u32::from_le_bytes(*term);
            self.decode(self.posting_list(nth), &mut |chunk, count| visit(term, chunk, count));
        }
    }

    fn decode(&self, list: PostingList<'_>, visit: &mut impl FnMut(usize, u8)) {
        let postings = match list {
            PostingList::Single { chunk, count } => {
                if chunk < self.chunks {
                    visit(chunk, count);
                }
                return;
            }
            PostingList::Encoded(postings) => postings,
        };
        let mut start = 0;
        let count = varint(postings, &mut start).min(self.chunks as u32);
        let mut numbers = BitReader::new(postings, start);
        let mut next = 0;
        for _ in 0..count {
            let chunk = next + numbers.number() as usize - 1;
            let count = numbers.number().min(u32::from(u8::MAX)) as u8;
            if chunk >= self.chunks {
                return;
            }
            next = chunk + 1;
            visit(chunk, count);
        }
    }
}
