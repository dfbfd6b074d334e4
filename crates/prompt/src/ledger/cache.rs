//! What a provider's cache should hold of a request, from what it said about the ones before.

use super::frame::Laid;
use super::learned::Learned;
use super::{CachedBy, Caching, Certainty, Line, Report};
use model::{Breakpoint, Info, Request, Sent};
use std::collections::HashMap;

/// Prefixes that the provider has seen, by the hash of everything in them.
#[derive(Debug, Default)]
pub(super) struct Known {
    prefixes: HashMap<u64, Prefix>,
    /// The prefix that the cache should hold of the last request.
    expected: Option<u64>,
    /// What the reports of each model say.
    learned: HashMap<String, Learned>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Prefix {
    pub(super) tokens: u64,
    /// How long it is on the wire, where that is known.
    pub(super) bytes: Option<u64>,
    /// When it was last used, in milliseconds.
    used: u64,
    /// Whether the provider counted it, or it was estimated.
    pub(super) is_counted: bool,
}

/// The longest prefix that the cache should hold.
#[derive(Debug)]
pub(super) struct Hit {
    pub(super) tokens: u64,
    pub(super) certainty: Certainty,
    /// How many parts of the frame and how many messages it has.
    pub(super) frame: usize,
    pub(super) lines: usize,
    /// One was known, but was not used for too long.
    pub(super) is_expired: bool,
}

impl Default for Hit {
    fn default() -> Self {
        Hit {
            tokens: 0,
            certainty: Certainty::Counted,
            frame: 0,
            lines: 0,
            is_expired: false,
        }
    }
}

/// The end of a part of the frame, or of a message.
#[derive(Debug, Clone, Copy)]
struct End {
    frame: usize,
    lines: usize,
    chain: u64,
}

impl Known {
    /// What the cache should hold of a request.
    pub(super) fn find(
        &mut self,
        frame: Option<&Laid>,
        lines: &[Line],
        request: &Request,
        info: &Info,
        now: u64,
    ) -> Hit {
        let (hit, expected) = self.seek(frame, lines, request, info, now);
        self.expected = expected;
        hit
    }

    /// The same without taking note of it; and the prefix that was found.
    pub(super) fn seek(
        &self,
        frame: Option<&Laid>,
        lines: &[Line],
        request: &Request,
        info: &Info,
        now: u64,
    ) -> (Hit, Option<u64>) {
        let Some(frame) = frame else {
            return (Hit::default(), None);
        };
        let learned = self.learned.get(&info.name()).copied().unwrap_or_default();
        let caching = &learned.correct(&Caching::of(info));
        let found = match caching.by {
            CachedBy::Nothing => None,
            CachedBy::Prefix => self.longest(ends(frame, lines)),
            CachedBy::Marks { most, lookback } => {
                let marks = request.breakpoints.iter().rev().take(most);
                let found = marks.filter_map(|mark| self.find_before(frame, lines, *mark, lookback));
                found.max_by_key(|(_, prefix)| prefix.tokens)
            }
        };
        let Some((end, prefix)) = found else {
            return (Hit::default(), None);
        };
        let (tokens, certainty) = learned.tokens(&prefix);
        let tokens = tokens - tokens % caching.step.max(1);
        let is_expired = now.saturating_sub(prefix.used) > caching.seconds * 1_000;
        // Where marks decide, the provider has said that it kept this one, however short it is.
        let is_short = caching.by == CachedBy::Prefix && tokens < caching.least;
        let hit = match is_expired || is_short {
            true => Hit {
                is_expired,
                ..Hit::default()
            },
            false => Hit {
                tokens,
                certainty,
                frame: end.frame,
                lines: end.lines,
                is_expired,
            },
        };
        (hit, Some(end.chain))
    }

    /// The longest prefix that ends at a mark or within sight before it.
    fn find_before(&self, frame: &Laid, lines: &[Line], mark: Breakpoint, lookback: usize) -> Option<(End, Prefix)> {
        let mut blocks = 0;
        let mut near = Vec::new();
        let upto = match mark {
            Breakpoint::Tools => (1, 0),
            Breakpoint::System(section) => (section + 2, 0),
            Breakpoint::Message(message) => (frame.parts.len(), message + 1),
        };
        for place in (0..upto.1.min(lines.len())).rev() {
            if blocks >= lookback {
                return self.longest(near);
            }
            near.push(line_end(frame, lines, place));
            blocks += lines[place].message.parts.len();
        }
        for place in (0..upto.0.min(frame.parts.len())).rev() {
            if blocks >= lookback {
                break;
            }
            near.push(frame_end(frame, place));
            blocks += 1;
        }
        self.longest(near)
    }

    /// The first of these that is known; the longest come first.
    fn longest(&self, ends: impl IntoIterator<Item = End>) -> Option<(End, Prefix)> {
        ends.into_iter()
            .find_map(|end| Some((end, *self.prefixes.get(&end.chain)?)))
    }

    /// Takes in what the provider says.
    pub(super) fn learn(
        &mut self,
        frame: &Laid,
        lines: &[Line],
        marks: &[Breakpoint],
        info: &Info,
        report: &Report<'_>,
    ) {
        let (usage, caching) = (report.usage, Caching::of(info));
        let learned = self.learned.entry(info.name()).or_default();
        learned.count(&caching, report);
        let expected = self
            .expected
            .and_then(|chain| Some((chain, *self.prefixes.get(&chain)?)));
        learned.learn(&caching, expected.map(|(_, prefix)| prefix), usage.cache_read);
        let kept = usage.cache_read + usage.cache_write + usage.cache_write_1h;
        let least = learned.kept(kept).min(caching.least);
        if let Some((chain, prefix)) = expected
            && usage.cache_read > 0
            && !prefix.is_counted
        {
            self.note(chain, Prefix::counted(usage.cache_read, prefix.bytes, report.at));
        }
        match caching.by {
            // It may turn out that something is kept after all.
            CachedBy::Nothing | CachedBy::Prefix => self.learn_prefix(frame, lines, report),
            CachedBy::Marks { .. } if kept == 0 => {}
            CachedBy::Marks { most, .. } => {
                let marks = marks.iter().rev().take(most);
                let marked: Vec<Marked> = marks.filter_map(|mark| marked(frame, lines, *mark, report)).collect();
                self.learn_marks(&marked, least, kept, report);
                if expected.is_none() {
                    self.learn_found(&marked, report);
                }
            }
        }
    }

    /// Every prefix is kept. That of the whole request was counted; those of its parts are estimates.
    fn learn_prefix(&mut self, frame: &Laid, lines: &[Line], report: &Report<'_>) {
        let mut tokens = 0;
        for place in 0..frame.parts.len() {
            tokens += frame.parts[place].tokens;
            let bytes = report.sent.and_then(|sent| frame_bytes(frame, place, sent));
            self.note(
                frame_end(frame, place).chain,
                Prefix::estimated(tokens, bytes, report.at),
            );
        }
        // What was there before is known already, unless it is another conversation now.
        for place in (0..lines.len()).rev() {
            let bytes = report.sent.and_then(|sent| sent.upto(place));
            let chain = lines[place].chain;
            if place + 1 == lines.len() {
                self.note(chain, Prefix::counted(report.usage.prompt(), bytes, report.at));
                continue;
            }
            let is_known = self.prefixes.contains_key(&chain);
            self.note(chain, Prefix::estimated(lines[place].upto, bytes, report.at));
            if is_known {
                break;
            }
        }
    }

    /// What ends at a mark is kept, the newest first. The whole was counted; what ends at earlier marks is known, or an estimate.
    fn learn_marks(&mut self, marked: &[Marked], least: u64, kept: u64, report: &Report<'_>) {
        for (newest, mark) in marked.iter().enumerate() {
            match newest {
                0 => self.note(mark.chain, Prefix::counted(kept, mark.bytes, report.at)),
                _ if mark.estimate >= least => {
                    self.note(mark.chain, Prefix::estimated(mark.estimate, mark.bytes, report.at));
                }
                _ => {}
            }
        }
    }

    /// The cache held something that nobody here knew of, such as the tools and the system prompt from another session: how much
    /// it is tells at which mark it ends, and so what that has was counted by itself.
    fn learn_found(&mut self, marked: &[Marked], report: &Report<'_>) {
        let read = report.usage.cache_read;
        let fits = |mark: &&Marked| mark.estimate.abs_diff(read) * FOUND < read;
        // The newest is known: it holds what was read and what was written.
        let mut found = marked.iter().skip(1).filter(fits);
        if let (Some(mark), None) = (found.next(), found.next()) {
            self.note(mark.chain, Prefix::counted(read, mark.bytes, report.at));
        }
    }

    /// A prefix was used. What was counted is not replaced by an estimate.
    fn note(&mut self, chain: u64, newest: Prefix) {
        let prefix = self.prefixes.entry(chain).or_insert(newest);
        prefix.used = newest.used;
        prefix.bytes = newest.bytes.or(prefix.bytes);
        if newest.is_counted || !prefix.is_counted {
            (prefix.tokens, prefix.is_counted) = (newest.tokens, newest.is_counted);
        }
    }
}

impl Prefix {
    fn counted(tokens: u64, bytes: Option<u64>, used: u64) -> Self {
        Prefix {
            tokens,
            bytes,
            used,
            is_counted: true,
        }
    }

    fn estimated(tokens: u64, bytes: Option<u64>, used: u64) -> Self {
        Prefix {
            is_counted: false,
            ..Prefix::counted(tokens, bytes, used)
        }
    }
}

/// What was found is taken for what ends at a mark if the estimate of that, and of no other, is off by less than this part.
const FOUND: u64 = 10;

/// A prefix that ends at a mark.
struct Marked {
    chain: u64,
    /// About how many tokens it has.
    estimate: u64,
    bytes: Option<u64>,
}

fn marked(frame: &Laid, lines: &[Line], mark: Breakpoint, report: &Report<'_>) -> Option<Marked> {
    let part = match mark {
        Breakpoint::Tools => 0,
        Breakpoint::System(section) => section + 1,
        Breakpoint::Message(message) => {
            let line = lines.get(message)?;
            return Some(Marked {
                chain: line.chain,
                estimate: line.upto,
                bytes: report.sent.and_then(|sent| sent.upto(message)),
            });
        }
    };
    Some(Marked {
        chain: frame.parts.get(part)?.chain,
        estimate: frame_upto(frame, part + 1),
        bytes: report.sent.and_then(|sent| frame_bytes(frame, part, sent)),
    })
}

/// How long everything up to a part of the frame is: only where the tools end and where all of it does is known.
fn frame_bytes(frame: &Laid, place: usize, sent: &Sent) -> Option<u64> {
    match place {
        _ if place + 1 == frame.parts.len() => Some(sent.frame()),
        0 => Some(sent.tools),
        _ => None,
    }
}

/// The ends of all parts, the last one first.
fn ends<'a>(frame: &'a Laid, lines: &'a [Line]) -> impl Iterator<Item = End> + 'a {
    let lines = (0..lines.len()).rev().map(|place| line_end(frame, lines, place));
    lines.chain((0..frame.parts.len()).rev().map(|place| frame_end(frame, place)))
}

fn frame_end(frame: &Laid, place: usize) -> End {
    End {
        frame: place + 1,
        lines: 0,
        chain: frame.parts[place].chain,
    }
}

fn line_end(frame: &Laid, lines: &[Line], place: usize) -> End {
    End {
        frame: frame.parts.len(),
        lines: place + 1,
        chain: lines[place].chain,
    }
}

fn frame_upto(frame: &Laid, parts: usize) -> u64 {
    frame.parts.iter().take(parts).map(|part| part.tokens).sum()
}
