//! The ledger: what each request is made of, what of it the provider's cache should hold, and where it left the one before it.
//!
//! [`Ledger::enter`] takes in a request before it leaves, [`Ledger::settle`] what the provider says about it. Tokens are the
//! provider's own: what a request has more than the one before it is shared out among what is new in it, so that the sections
//! always add up to what the provider counted. Both cost work in proportion to what is new.

mod cache;
mod frame;
mod kind;
mod learned;
#[cfg(test)]
mod tests;
mod weigh;

use crate::tokens::{Exact, Family};
use cache::Known;
use frame::{Laid, alike};
use kind::{Kind, Size, begins_turn, counted, first, kinds, mixed};
use model::{Breakpoint, CachedBy, Caching, Info, Message, Request, Sent, Usage};
use session::{Difference, Section};
use std::collections::BTreeMap;
use std::sync::Arc;
use weigh::Weigh;

/// What the requests of a session were made of.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The model, the frame and the messages of the last request.
    model: String,
    frame: Option<Laid>,
    lines: Vec<Line>,
    /// How many of the lines have tokens, and whether the frame has.
    settled: usize,
    is_framed: bool,
    /// Of the settled lines.
    sums: Sums,
    known: Known,
}

/// A message of the last request.
#[derive(Debug, Clone)]
struct Line {
    message: Arc<Message>,
    bytes: u64,
    hash: u64,
    /// Of everything up to here.
    chain: u64,
    /// How many parts there are up to here.
    blocks: u64,
    /// The tokens of everything up to here, once they are known.
    upto: u64,
}

/// Bytes and tokens by kind, of the turns before and of the last one.
#[derive(Debug, Clone, Default)]
struct Sums {
    history: BTreeMap<Kind, Sum>,
    turn: BTreeMap<Kind, Sum>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    bytes: u64,
    tokens: u64,
}

/// A request that has been entered and not been settled yet.
#[derive(Debug, Clone)]
pub struct Entry {
    /// Where it left the one before it.
    pub difference: Difference,
    /// How many messages are those that the one before it began with.
    pub shared: usize,
    /// Tokens that the provider's cache should hold.
    pub cached: u64,
    /// Whether that is what the provider counted, or hew's estimate of a part of what it counted.
    pub certainty: Certainty,
    /// Its cache marks.
    pub marks: Vec<Breakpoint>,
    held: Held,
}

/// What is known of a request once it is over.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// What the provider counted.
    pub usage: &'a Usage,
    /// How long the request was as it left, where that is known.
    pub sent: Option<&'a Sent>,
    /// When it was over, in milliseconds.
    pub at: u64,
}

/// How well the tokens of a prefix are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// The provider counted this very prefix.
    Counted,
    /// The provider counted more than it: what of that belongs to it is estimated.
    Estimated,
}

/// What may be expected of the cache for a request beside the conversation.
#[derive(Debug, Clone)]
pub struct Foreseen {
    /// Tokens that the provider's cache should hold.
    pub cached: u64,
    /// Whether the provider counted them.
    pub certainty: Certainty,
    /// Where it leaves the last request of the conversation.
    pub difference: Difference,
}

/// What the cache should hold: so many parts of the frame, and these sections.
#[derive(Debug, Clone, Default)]
struct Held {
    frame: usize,
    sums: Sums,
}

impl Ledger {
    /// Takes in a request before it leaves; `now` is in milliseconds.
    pub fn enter(&mut self, request: &Request, info: &Info, now: u64) -> Entry {
        let caching = Caching::of(info);
        let model = info.name();
        let frame = Laid::of(request, &model, &Family::of(info), self.frame.as_ref());
        let (shared, fresh) = self.compare(&request.messages);
        let difference = self.difference(&frame, &model, shared, &fresh);
        self.turn_over(frame, model, shared, fresh);
        let hit = self.known.find(self.frame.as_ref(), &self.lines, request, info, now);
        let difference = match difference {
            Difference::Extends if hit.is_expired => Difference::Lost {
                why: format!("the cache forgets after {} minutes", caching.seconds / 60),
            },
            difference => difference,
        };
        let held = self.held(&hit);
        Entry {
            difference,
            shared,
            cached: hit.tokens,
            certainty: hit.certainty,
            marks: request.breakpoints.clone(),
            held,
        }
    }

    /// Takes in what the provider says about the request that was entered last, and says what it was made of.
    pub fn settle(&mut self, entry: &Entry, info: &Info, report: &Report<'_>) -> Vec<Section> {
        let prompt = report.usage.prompt();
        if prompt > 0 {
            self.share_out(prompt, Family::of(info));
            if let Some(frame) = &self.frame {
                self.known.learn(frame, &self.lines, &entry.marks, info, report);
            }
        }
        self.sections(entry)
    }

    /// What may be expected of the cache for a request that is not part of the conversation, such as one for a summary of it.
    pub fn foresee(&self, request: &Request, info: &Info, now: u64) -> Foreseen {
        let model = info.name();
        let frame = Laid::of(request, &model, &Family::of(info), self.frame.as_ref());
        let (shared, fresh) = self.compare(&request.messages);
        let is_alike = |before: &Laid| self.model == model && frame.left(before).is_none();
        let difference = match self.frame.as_ref().is_some_and(is_alike) {
            true => self.difference(&frame, &model, shared, &fresh),
            // It has nothing to do with the conversation.
            false => Difference::First,
        };
        let mut lines = [&self.lines[..shared], &fresh].concat();
        chain(&mut lines, frame.chain(), 0);
        let (hit, _) = self.known.seek(Some(&frame), &lines, request, info, now);
        Foreseen {
            cached: hit.tokens,
            certainty: hit.certainty,
            difference,
        }
    }

    /// What a request beside the conversation was made of, where so many of its tokens were expected to be cached.
    pub fn beside(request: &Request, info: &Info, usage: &Usage, cached: u64) -> Vec<Section> {
        let family = Family::of(info);
        let mut ledger = Ledger::whole(request, &info.name(), &family);
        ledger.share_out(usage.prompt(), family);
        let entry = Entry {
            difference: Difference::First,
            shared: 0,
            cached: cached.min(usage.prompt()),
            certainty: Certainty::Counted,
            marks: Vec::new(),
            held: Held::default(),
        };
        ledger.sections(&entry)
    }

    /// How many tokens each section of a request has by itself, counted by the tokenizer of its model.
    pub fn counted(request: &Request, model: &str, exact: &Exact) -> Vec<(String, u64)> {
        let ledger = Ledger::whole(request, model, exact);
        let frame = ledger.frame.iter().flat_map(|frame| &frame.parts);
        let mut counted: Vec<(String, u64)> = frame.map(|part| (part.name.clone(), part.weight)).collect();
        let mut sums = Sums::default();
        for line in &ledger.lines {
            sums.begin(&line.message);
            for (kind, Size { bytes, weight }) in kinds(&line.message, exact) {
                sums.add(kind, Sum { bytes, tokens: weight });
            }
        }
        for (when, sums) in [("history", sums.history), ("turn", sums.turn)] {
            counted.extend(sums.iter().map(|(kind, sum)| (format!("{when}/{kind}"), sum.tokens)));
        }
        counted
    }

    /// A ledger that knows nothing but this request.
    fn whole(request: &Request, model: &str, weigh: &dyn Weigh) -> Ledger {
        let mut ledger = Ledger::default();
        let frame = Laid::of(request, model, weigh, None);
        let (shared, fresh) = ledger.compare(&request.messages);
        ledger.turn_over(frame, model.into(), shared, fresh);
        ledger
    }

    /// How many messages are as before, and the others.
    fn compare(&self, messages: &[Arc<Message>]) -> (usize, Vec<Line>) {
        let same = |(line, message): &(&Line, &Arc<Message>)| Arc::ptr_eq(&line.message, message);
        let mut shared = self.lines.iter().zip(messages).take_while(same).count();
        let mut fresh = Vec::with_capacity(messages.len() - shared);
        for message in &messages[shared..] {
            let (bytes, hash) = counted(&**message);
            // A message that is made anew for each request may still say the same.
            if fresh.is_empty() && self.lines.get(shared).is_some_and(|line| line.hash == hash) {
                shared += 1;
                continue;
            }
            fresh.push(Line {
                message: Arc::clone(message),
                bytes,
                hash,
                chain: 0,
                blocks: 0,
                upto: 0,
            });
        }
        (shared, fresh)
    }

    fn difference(&self, frame: &Laid, model: &str, shared: usize, fresh: &[Line]) -> Difference {
        let Some(before) = &self.frame else {
            return Difference::First;
        };
        if self.model != model {
            let part = format!("model: {} became {model}", self.model);
            return Difference::At { byte: 0, part };
        }
        if let Some(left) = frame.left(before) {
            return Difference::At {
                byte: left.byte,
                part: left.part,
            };
        }
        if shared == self.lines.len() {
            return Difference::Extends;
        }
        let same: u64 = self.lines[..shared].iter().map(|line| line.bytes).sum();
        let (then, now) = (&self.lines[shared], fresh.first());
        let json = |line: &Line| serde_json::to_vec(&*line.message).unwrap_or_default();
        let within = now.map_or(0, |now| alike(&json(then), &json(now)));
        Difference::At {
            byte: before.bytes() + same + within,
            part: self.broken(shared, fresh),
        }
    }

    /// What happened to the messages from this one on.
    fn broken(&self, at: usize, fresh: &[Line]) -> String {
        let last = self.lines.len();
        let Some(now) = fresh.first() else {
            return format!("messages {}–{last} left out", at + 1);
        };
        if first(&now.message) == Some(Kind::Summary) {
            let kept = fresh
                .get(1)
                .and_then(|kept| self.lines.iter().position(|line| line.hash == kept.hash));
            return format!("summary replaced messages {}–{}", at + 1, kept.unwrap_or(last));
        }
        let words = |line: &Line| first(&line.message).map_or_else(|| "nothing".to_owned(), |kind| kind.to_string());
        let (then, now) = (words(&self.lines[at]), words(now));
        match then == now {
            true => format!("message {}: {now} changed", at + 1),
            false => format!("message {}: {then} became {now}", at + 1),
        }
    }

    /// Makes this request the last one.
    fn turn_over(&mut self, mut frame: Laid, model: String, shared: usize, fresh: Vec<Line>) {
        let before = self.frame.as_ref();
        let is_same = self.model == model && before.is_some_and(|before| before.chain() == frame.chain());
        match before {
            Some(before) if is_same => {
                for (part, known) in frame.parts.iter_mut().zip(&before.parts) {
                    part.tokens = known.tokens;
                }
            }
            Some(_) | None => (self.settled, self.is_framed, self.sums) = (0, false, Sums::default()),
        }
        if shared < self.settled {
            self.settled = shared;
            self.sums = sums(&self.lines[..shared], frame_tokens(&frame));
        }
        let keep = if is_same { shared } else { 0 };
        self.lines.truncate(shared);
        self.lines.extend(fresh);
        chain(&mut self.lines, frame.chain(), keep);
        self.model = model;
        self.frame = Some(frame);
    }

    /// Shares the tokens of a prompt out among what has none yet.
    fn share_out(&mut self, prompt: u64, family: Family) {
        let Some(frame) = &mut self.frame else { return };
        let mut before = match self.settled.checked_sub(1) {
            Some(last) => self.lines[last].upto,
            None if self.is_framed => frame_tokens(frame),
            None => 0,
        };
        let is_settled = self.is_framed && self.settled == self.lines.len();
        if prompt < before || (is_settled && prompt != before) {
            // The provider counts otherwise than before: everything is shared out again.
            (self.settled, self.is_framed, self.sums, before) = (0, false, Sums::default(), 0);
        }
        let open = self.lines[self.settled..]
            .iter()
            .map(|line| kinds(&line.message, &family));
        let open: Vec<Vec<(Kind, Size)>> = open.collect();
        let weights: u64 = open.iter().flatten().map(|(_, size)| size.weight).sum();
        let framed = match self.is_framed {
            true => 0,
            false => frame.parts.iter().map(|part| part.weight).sum(),
        };
        let mut shares = Shares {
            rest: prompt - before,
            weights: framed + weights,
        };
        if !self.is_framed {
            for part in &mut frame.parts {
                part.tokens = shares.take(part.weight);
                before += part.tokens;
            }
            self.is_framed = true;
        }
        for (line, kinds) in self.lines[self.settled..].iter_mut().zip(open) {
            self.sums.begin(&line.message);
            for (kind, size) in kinds {
                let tokens = shares.take(size.weight);
                before += tokens;
                self.sums.add(
                    kind,
                    Sum {
                        bytes: size.bytes,
                        tokens,
                    },
                );
            }
            line.upto = before;
        }
        self.settled = self.lines.len();
        if let Some(line) = self.lines.last_mut() {
            // Messages without a word still cost something; it goes to the last.
            line.upto = prompt;
        }
    }

    /// The sections that the cache should hold.
    fn held(&self, hit: &cache::Hit) -> Held {
        let lines = hit.lines.min(self.settled);
        let mut sums = match lines == self.settled {
            true => self.sums.clone(),
            false => sums(&self.lines[..lines], self.frame.as_ref().map_or(0, frame_tokens)),
        };
        if self.lines[self.settled..].iter().any(|line| begins_turn(&line.message)) {
            sums.close();
        }
        Held { frame: hit.frame, sums }
    }

    /// What the last request was made of. The cached parts add up to what was predicted.
    fn sections(&self, entry: &Entry) -> Vec<Section> {
        let mut sections = Vec::new();
        let frame = self.frame.as_ref().map_or(&[][..], |frame| &frame.parts);
        for (place, part) in frame.iter().enumerate() {
            sections.push(Section {
                name: part.name.clone(),
                bytes: part.bytes,
                tokens: part.tokens,
                cached: if place < entry.held.frame { part.tokens } else { 0 },
            });
        }
        let all = [
            ("history", &self.sums.history, &entry.held.sums.history),
            ("turn", &self.sums.turn, &entry.held.sums.turn),
        ];
        for (when, sums, held) in all {
            sections.extend(sums.iter().map(|(kind, sum)| Section {
                name: format!("{when}/{kind}"),
                bytes: sum.bytes,
                tokens: sum.tokens,
                cached: held.get(kind).map_or(0, |held| held.tokens.min(sum.tokens)),
            }));
        }
        sections.retain(|section| section.bytes > 0 || section.tokens > 0);
        level(&mut sections, entry.cached);
        sections
    }
}

/// Makes the cached parts add up to so many tokens: what is more or less than was expected lies at the end of what was.
pub fn level(sections: &mut [Section], cached: u64) {
    let mut over = sections.iter().map(|section| section.cached).sum::<u64>();
    for section in sections.iter_mut().rev() {
        let less = over.saturating_sub(cached).min(section.cached);
        section.cached -= less;
        over -= less;
    }
    for section in sections.iter_mut() {
        let more = cached.saturating_sub(over).min(section.tokens - section.cached);
        section.cached += more;
        over += more;
    }
}

/// Links lines to those before them, from this one on; the first follows the frame.
fn chain(lines: &mut [Line], frame: u64, from: usize) {
    let before = from.checked_sub(1).and_then(|last| lines.get(last));
    let (mut chain, mut blocks) = before.map_or((frame, 0), |line| (line.chain, line.blocks));
    for line in &mut lines[from..] {
        chain = mixed(chain, &line.hash.to_be_bytes());
        blocks += line.message.parts.len() as u64;
        (line.chain, line.blocks) = (chain, blocks);
    }
}

/// The sums of lines that have tokens.
fn sums(lines: &[Line], frame: u64) -> Sums {
    let mut sums = Sums::default();
    let mut before = frame;
    for line in lines {
        sums.begin(&line.message);
        let kinds = kinds(&line.message, &Family::default());
        let mut shares = Shares {
            rest: line.upto.saturating_sub(before),
            weights: kinds.iter().map(|(_, size)| size.weight).sum(),
        };
        before = line.upto;
        for (kind, size) in kinds {
            let tokens = shares.take(size.weight);
            sums.add(
                kind,
                Sum {
                    bytes: size.bytes,
                    tokens,
                },
            );
        }
    }
    sums
}

fn frame_tokens(frame: &Laid) -> u64 {
    frame.parts.iter().map(|part| part.tokens).sum()
}

/// Tokens that are shared out by weight, to the last one.
struct Shares {
    rest: u64,
    weights: u64,
}

impl Shares {
    fn take(&mut self, weight: u64) -> u64 {
        let tokens = match self.weights {
            0 => 0,
            all => u64::try_from(u128::from(self.rest) * u128::from(weight) / u128::from(all)).unwrap_or(self.rest),
        };
        self.rest -= tokens.min(self.rest);
        self.weights -= weight.min(self.weights);
        tokens
    }
}

impl Sums {
    /// A message is next: where it begins a turn, what came before is history.
    fn begin(&mut self, message: &Message) {
        if begins_turn(message) {
            self.close();
        }
    }

    fn close(&mut self) {
        for (kind, sum) in std::mem::take(&mut self.turn) {
            let all = self.history.entry(kind).or_default();
            all.bytes += sum.bytes;
            all.tokens += sum.tokens;
        }
    }

    fn add(&mut self, kind: Kind, sum: Sum) {
        let all = self.turn.entry(kind).or_default();
        all.bytes += sum.bytes;
        all.tokens += sum.tokens;
    }
}
