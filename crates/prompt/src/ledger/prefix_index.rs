//! Predicts the provider's cache content for a request from earlier reports.

use super::cache_behavior::CacheBehavior;
use super::frame::FrameSections;
use super::{CacheMode, CachePolicy, CountBasis, LedgerMessage, RequestReport};
use model::{Breakpoint, Info, PromptSize, Request};
use std::collections::HashMap;

/// Prefixes that the provider has seen, by hash.
#[derive(Debug, Default)]
pub(super) struct PrefixIndex {
    prefixes: HashMap<u64, CachedPrefix>,
    /// The prefix that the cache should contain for the last request.
    expected: Option<u64>,
    /// Observed cache behaviour per model.
    learned: HashMap<String, CacheBehavior>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct CachedPrefix {
    pub(super) tokens: u64,
    /// Its size on the wire, if known.
    pub(super) bytes: Option<u64>,
    /// Its last use, in milliseconds.
    used: u64,
    /// Whether the provider counted it.
    pub(super) is_counted: bool,
}

/// The longest prefix that the cache should contain.
#[derive(Debug)]
pub(super) struct CacheHit {
    pub(super) tokens: u64,
    pub(super) certainty: CountBasis,
    /// Number of frame sections and messages in it.
    pub(super) frame: usize,
    pub(super) lines: usize,
    /// A prefix is known but has expired.
    pub(super) is_expired: bool,
}

impl Default for CacheHit {
    fn default() -> Self {
        CacheHit {
            tokens: 0,
            certainty: CountBasis::Counted,
            frame: 0,
            lines: 0,
            is_expired: false,
        }
    }
}

/// The end of a frame section or of a message.
#[derive(Debug, Clone, Copy)]
struct PrefixEnd {
    frame: usize,
    lines: usize,
    chain: u64,
}

impl PrefixIndex {
    /// Predicts the cache content for a request and records the expectation.
    pub(super) fn find(
        &mut self,
        frame: Option<&FrameSections>,
        lines: &[LedgerMessage],
        request: &Request,
        info: &Info,
        now: u64,
    ) -> CacheHit {
        let (hit, expected) = self.lookup(frame, lines, request, info, now);
        self.expected = expected;
        hit
    }

    /// Predicts without recording; also returns the prefix.
    pub(super) fn lookup(
        &self,
        frame: Option<&FrameSections>,
        lines: &[LedgerMessage],
        request: &Request,
        info: &Info,
        now: u64,
    ) -> (CacheHit, Option<u64>) {
        let Some(frame) = frame else {
            return (CacheHit::default(), None);
        };
        let learned = self.learned.get(&info.name()).copied().unwrap_or_default();
        let caching = &learned.corrected(&CachePolicy::of(info));
        let found = match caching.mode {
            CacheMode::Disabled => None,
            CacheMode::Prefix => self.longest(ends(frame, lines)),
            CacheMode::Breakpoints { most, lookback } => {
                let breakpoints = request.breakpoints.iter().rev().take(most);
                let found = breakpoints.filter_map(|breakpoint| self.find_before(frame, lines, *breakpoint, lookback));
                found.max_by_key(|(_, prefix)| prefix.tokens)
            }
        };
        let Some((end, prefix)) = found else {
            return (CacheHit::default(), None);
        };
        let (tokens, certainty) = learned.tokens(&prefix);
        let tokens = tokens - tokens % caching.granularity.max(1);
        let is_expired = now.saturating_sub(prefix.used) > caching.ttl_seconds * 1_000;
        // With breakpoints, the provider has reported that it cached this prefix, however short it is.
        let is_short = caching.mode == CacheMode::Prefix && tokens < caching.min_tokens;
        let hit = match is_expired || is_short {
            true => CacheHit {
                is_expired,
                ..CacheHit::default()
            },
            false => CacheHit {
                tokens,
                certainty,
                frame: end.frame,
                lines: end.lines,
                is_expired,
            },
        };
        (hit, Some(end.chain))
    }

    /// The longest prefix that ends at a breakpoint or within the lookback before it.
    fn find_before(
        &self,
        frame: &FrameSections,
        lines: &[LedgerMessage],
        breakpoint: Breakpoint,
        lookback: usize,
    ) -> Option<(PrefixEnd, CachedPrefix)> {
        let mut blocks = 0;
        let mut near = Vec::new();
        let upto = match breakpoint {
            Breakpoint::Tools => (1, 0),
            Breakpoint::System(section) => (section + 2, 0),
            Breakpoint::Message(message) => (frame.parts.len(), message + 1),
        };
        for index in (0..upto.1.min(lines.len())).rev() {
            if blocks >= lookback {
                return self.longest(near);
            }
            near.push(line_end(frame, lines, index));
            blocks += lines[index].message.parts.len();
        }
        for index in (0..upto.0.min(frame.parts.len())).rev() {
            if blocks >= lookback {
                break;
            }
            near.push(frame_end(frame, index));
            blocks += 1;
        }
        self.longest(near)
    }

    /// The first known prefix; the longest come first.
    fn longest(&self, ends: impl IntoIterator<Item = PrefixEnd>) -> Option<(PrefixEnd, CachedPrefix)> {
        ends.into_iter()
            .find_map(|end| Some((end, *self.prefixes.get(&end.chain)?)))
    }

    /// Records the provider's report.
    pub(super) fn learn(
        &mut self,
        frame: &FrameSections,
        lines: &[LedgerMessage],
        breakpoints: &[Breakpoint],
        info: &Info,
        report: &RequestReport<'_>,
    ) {
        let (usage, caching) = (report.usage, CachePolicy::of(info));
        let learned = self.learned.entry(info.name()).or_default();
        learned.count(&caching, report);
        let expected = self
            .expected
            .and_then(|chain| Some((chain, *self.prefixes.get(&chain)?)));
        learned.learn(&caching, expected.map(|(_, prefix)| prefix), usage.cache_read);
        let cached = usage.cache_read + usage.cache_write + usage.cache_write_1h;
        let least = learned.smallest_cached(cached).min(caching.min_tokens);
        if let Some((chain, prefix)) = expected
            && usage.cache_read > 0
            && !prefix.is_counted
        {
            self.note(chain, CachedPrefix::counted(usage.cache_read, prefix.bytes, report.at));
        }
        match caching.mode {
            // It may turn out that the provider caches after all.
            CacheMode::Disabled | CacheMode::Prefix => self.learn_prefix(frame, lines, report),
            CacheMode::Breakpoints { .. } if cached == 0 => {}
            CacheMode::Breakpoints { most, .. } => {
                let breakpoints = breakpoints.iter().rev().take(most);
                let marked: Vec<MarkedPrefix> = breakpoints
                    .filter_map(|breakpoint| marked(frame, lines, *breakpoint, report))
                    .collect();
                self.learn_marks(&marked, least, cached, report);
                if expected.is_none() {
                    self.learn_external_hit(&marked, report);
                }
            }
        }
    }

    /// Every prefix is cached. The whole request was counted; its parts are estimates.
    fn learn_prefix(&mut self, frame: &FrameSections, lines: &[LedgerMessage], report: &RequestReport<'_>) {
        let mut tokens = 0;
        for index in 0..frame.parts.len() {
            tokens += frame.parts[index].tokens;
            let bytes = report.sent.and_then(|sent| frame_bytes(frame, index, sent));
            self.note(
                frame_end(frame, index).chain,
                CachedPrefix::estimated(tokens, bytes, report.at),
            );
        }
        // Earlier prefixes are known already, unless the conversation changed.
        for index in (0..lines.len()).rev() {
            let bytes = report.sent.and_then(|sent| sent.through_message(index));
            let chain = lines[index].chain;
            if index + 1 == lines.len() {
                self.note(
                    chain,
                    CachedPrefix::counted(report.usage.prompt_tokens(), bytes, report.at),
                );
                continue;
            }
            let is_known = self.prefixes.contains_key(&chain);
            self.note(chain, CachedPrefix::estimated(lines[index].upto, bytes, report.at));
            if is_known {
                break;
            }
        }
    }

    /// Prefixes that end at breakpoints are cached, newest first. The newest was counted; earlier ones are known or
    /// estimated.
    fn learn_marks(&mut self, marked: &[MarkedPrefix], least: u64, cached: u64, report: &RequestReport<'_>) {
        for (newest, breakpoint) in marked.iter().enumerate() {
            match newest {
                0 => self.note(
                    breakpoint.chain,
                    CachedPrefix::counted(cached, breakpoint.bytes, report.at),
                ),
                _ if breakpoint.estimate >= least => {
                    self.note(
                        breakpoint.chain,
                        CachedPrefix::estimated(breakpoint.estimate, breakpoint.bytes, report.at),
                    );
                }
                _ => {}
            }
        }
    }

    /// The cache contained an unknown prefix, such as tools and system prompt of another session. Its size shows at
    /// which breakpoint it ends, so that this prefix counts as counted.
    fn learn_external_hit(&mut self, marked: &[MarkedPrefix], report: &RequestReport<'_>) {
        let read = report.usage.cache_read;
        let fits = |breakpoint: &&MarkedPrefix| breakpoint.estimate.abs_diff(read) * MAX_ERROR_DIVISOR < read;
        // The newest is known: it contains what was read and written.
        let mut found = marked.iter().skip(1).filter(fits);
        if let (Some(breakpoint), None) = (found.next(), found.next()) {
            self.note(
                breakpoint.chain,
                CachedPrefix::counted(read, breakpoint.bytes, report.at),
            );
        }
    }

    /// Records the use of a prefix. An estimate does not replace a count.
    fn note(&mut self, chain: u64, newest: CachedPrefix) {
        let prefix = self.prefixes.entry(chain).or_insert(newest);
        prefix.used = newest.used;
        prefix.bytes = newest.bytes.or(prefix.bytes);
        if newest.is_counted || !prefix.is_counted {
            (prefix.tokens, prefix.is_counted) = (newest.tokens, newest.is_counted);
        }
    }
}

impl CachedPrefix {
    fn counted(tokens: u64, bytes: Option<u64>, used: u64) -> Self {
        CachedPrefix {
            tokens,
            bytes,
            used,
            is_counted: true,
        }
    }

    fn estimated(tokens: u64, bytes: Option<u64>, used: u64) -> Self {
        CachedPrefix {
            is_counted: false,
            ..CachedPrefix::counted(tokens, bytes, used)
        }
    }
}

/// An unknown prefix is attributed to a breakpoint if exactly one estimate is off by less than this fraction.
const MAX_ERROR_DIVISOR: u64 = 10;

/// A prefix that ends at a breakpoint.
struct MarkedPrefix {
    chain: u64,
    /// Estimated tokens.
    estimate: u64,
    bytes: Option<u64>,
}

fn marked(
    frame: &FrameSections,
    lines: &[LedgerMessage],
    breakpoint: Breakpoint,
    report: &RequestReport<'_>,
) -> Option<MarkedPrefix> {
    let part = match breakpoint {
        Breakpoint::Tools => 0,
        Breakpoint::System(section) => section + 1,
        Breakpoint::Message(message) => {
            let line = lines.get(message)?;
            return Some(MarkedPrefix {
                chain: line.chain,
                estimate: line.upto,
                bytes: report.sent.and_then(|sent| sent.through_message(message)),
            });
        }
    };
    Some(MarkedPrefix {
        chain: frame.parts.get(part)?.chain,
        estimate: frame_upto(frame, part + 1),
        bytes: report.sent.and_then(|sent| frame_bytes(frame, part, sent)),
    })
}

/// Size of everything up to a frame section: known only at the end of the tools and of the frame.
fn frame_bytes(frame: &FrameSections, index: usize, sent: &PromptSize) -> Option<u64> {
    match index {
        _ if index + 1 == frame.parts.len() => Some(sent.prefix()),
        0 => Some(sent.tools),
        _ => None,
    }
}

/// All prefix ends, last first.
fn ends<'a>(frame: &'a FrameSections, lines: &'a [LedgerMessage]) -> impl Iterator<Item = PrefixEnd> + 'a {
    let lines = (0..lines.len()).rev().map(|index| line_end(frame, lines, index));
    lines.chain((0..frame.parts.len()).rev().map(|index| frame_end(frame, index)))
}

fn frame_end(frame: &FrameSections, index: usize) -> PrefixEnd {
    PrefixEnd {
        frame: index + 1,
        lines: 0,
        chain: frame.parts[index].chain,
    }
}

fn line_end(frame: &FrameSections, lines: &[LedgerMessage], index: usize) -> PrefixEnd {
    PrefixEnd {
        frame: frame.parts.len(),
        lines: index + 1,
        chain: lines[index].chain,
    }
}

fn frame_upto(frame: &FrameSections, parts: usize) -> u64 {
    frame.parts.iter().take(parts).map(|part| part.tokens).sum()
}
