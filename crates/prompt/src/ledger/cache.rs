//! What a provider's cache should hold of a request, from what it said about the ones before.

use super::frame::Laid;
use super::{CachedBy, Caching, Certainty, Line};
use model::{Breakpoint, Request, Usage};
use std::collections::HashMap;

/// Prefixes that the provider has seen, by the hash of everything in them.
#[derive(Debug, Default)]
pub(super) struct Known {
    prefixes: HashMap<u64, Prefix>,
    /// The shortest prefix that was kept although the provider's figure says otherwise.
    least: Option<u64>,
    /// The prefix that the cache should hold of the last request.
    expected: Option<u64>,
    learned: Learned,
}

/// What the provider's reports say that nobody knew of it, or otherwise than it documents.
#[derive(Debug, Default, Clone, Copy)]
struct Learned {
    /// It keeps prefixes although that is not known of the model.
    keeps: bool,
    /// It counts hits to the token, however short they are.
    is_plain: bool,
    /// What it read and wrote is not quite what it reads the next time: it rounds them apart.
    rounds: bool,
}

/// Counts that differ by so many tokens were rounded apart.
const ROUNDED: u64 = 2;

impl Learned {
    /// How the provider caches, as far as is known by now.
    fn correct(self, caching: &Caching) -> Caching {
        let is_unknown = caching.by == CachedBy::Nothing && self.keeps;
        let by = if is_unknown { CachedBy::Prefix } else { caching.by };
        match self.is_plain || is_unknown {
            true => Caching {
                by,
                least: 0,
                step: 1,
                ..*caching
            },
            false => Caching { by, ..*caching },
        }
    }

    /// Takes in what was read where this much was expected.
    fn learn(&mut self, caching: &Caching, expected: Option<Prefix>, read: u64) {
        self.keeps |= read > 0;
        let Some(prefix) = expected.filter(|prefix| prefix.is_counted && read > 0) else {
            return;
        };
        match caching.by {
            CachedBy::Marks { .. } => {
                let off = prefix.tokens.abs_diff(read);
                self.rounds |= off > 0 && off <= ROUNDED;
            }
            CachedBy::Prefix | CachedBy::Nothing => {
                let is_rough = read.is_multiple_of(caching.step.max(1)) && read >= caching.least;
                self.is_plain |= prefix.tokens == read && !is_rough;
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Prefix {
    tokens: u64,
    /// When it was last used, in milliseconds.
    used: u64,
    /// Whether the provider counted it, or it was estimated.
    is_counted: bool,
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
        caching: &Caching,
        now: u64,
    ) -> Hit {
        let (hit, expected) = self.seek(frame, lines, request, caching, now);
        self.expected = expected;
        hit
    }

    /// The same without taking note of it; and the prefix that was found.
    pub(super) fn seek(
        &self,
        frame: Option<&Laid>,
        lines: &[Line],
        request: &Request,
        caching: &Caching,
        now: u64,
    ) -> (Hit, Option<u64>) {
        let Some(frame) = frame else {
            return (Hit::default(), None);
        };
        let caching = &self.learned.correct(caching);
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
        let tokens = prefix.tokens - prefix.tokens % caching.step.max(1);
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
                certainty: match prefix.is_counted && !self.learned.rounds {
                    true => Certainty::Counted,
                    false => Certainty::Estimated,
                },
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
        caching: &Caching,
        usage: &Usage,
        now: u64,
    ) {
        let expected = self
            .expected
            .and_then(|chain| Some((chain, *self.prefixes.get(&chain)?)));
        self.learned
            .learn(caching, expected.map(|(_, prefix)| prefix), usage.cache_read);
        if let Some((chain, prefix)) = expected
            && usage.cache_read > 0
            && !prefix.is_counted
        {
            self.note(chain, usage.cache_read, now, true);
        }
        match caching.by {
            // It may turn out that something is kept after all.
            CachedBy::Nothing | CachedBy::Prefix => self.learn_prefix(frame, lines, usage, now),
            CachedBy::Marks { most, .. } => {
                let kept = usage.cache_read + usage.cache_write + usage.cache_write_1h;
                if kept > 0 {
                    self.least = Some(self.least.map_or(kept, |least| least.min(kept)));
                    let marks: Vec<Breakpoint> = marks.iter().rev().take(most).copied().collect();
                    self.learn_marks(frame, lines, &marks, caching, kept, now);
                }
            }
        }
    }

    /// Every prefix is kept. That of the whole request was counted; those of its parts are estimates.
    fn learn_prefix(&mut self, frame: &Laid, lines: &[Line], usage: &Usage, now: u64) {
        let mut tokens = 0;
        for place in 0..frame.parts.len() {
            tokens += frame.parts[place].tokens;
            self.note(frame_end(frame, place).chain, tokens, now, false);
        }
        // What was there before is known already, unless it is another conversation now.
        for place in (0..lines.len()).rev() {
            let is_last = place + 1 == lines.len();
            let is_known = self.prefixes.contains_key(&lines[place].chain);
            let tokens = if is_last { usage.prompt() } else { lines[place].upto };
            self.note(lines[place].chain, tokens, now, is_last);
            if is_known && !is_last {
                break;
            }
        }
    }

    /// What ends at a mark is kept. The whole was counted; what ends at earlier marks is known, or an estimate.
    fn learn_marks(
        &mut self,
        frame: &Laid,
        lines: &[Line],
        marks: &[Breakpoint],
        caching: &Caching,
        kept: u64,
        now: u64,
    ) {
        let least = self.least.unwrap_or(caching.least).min(caching.least);
        for (newest, mark) in marks.iter().enumerate() {
            let (chain, estimate) = match mark {
                Breakpoint::Tools => (frame.parts.first().map(|part| part.chain), frame_upto(frame, 1)),
                Breakpoint::System(section) => {
                    let chain = frame.parts.get(section + 1).map(|part| part.chain);
                    (chain, frame_upto(frame, section + 2))
                }
                Breakpoint::Message(message) => match lines.get(*message) {
                    Some(line) => (Some(line.chain), line.upto),
                    None => (None, 0),
                },
            };
            let Some(chain) = chain else { continue };
            match newest {
                0 => self.note(chain, kept, now, true),
                _ if estimate >= least => self.note(chain, estimate, now, false),
                _ => {}
            }
        }
    }

    /// A prefix was used. What was counted is not replaced by an estimate.
    fn note(&mut self, chain: u64, tokens: u64, now: u64, is_counted: bool) {
        let prefix = self.prefixes.entry(chain).or_insert(Prefix {
            tokens,
            used: now,
            is_counted,
        });
        prefix.used = now;
        if is_counted || !prefix.is_counted {
            (prefix.tokens, prefix.is_counted) = (tokens, is_counted);
        }
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
