//! The ledger: the composition of each request, how much of it the provider's cache should contain, and where it
//! differs from the previous one.
//!
//! [`Ledger::begin_request`] records a request before it is sent, [`Ledger::finish_request`] the provider's report.
//! Token counts are the provider's: the tokens that a request adds are distributed among its new parts, so that the
//! sections always add up to the provider's count. Both cost work in proportion to what is new.

mod cache_behavior;
mod frame;
mod message_kind;
mod prefix_index;
#[cfg(test)]
mod tests;
mod token_counter;

use crate::tokens::{ExactTokenizer, TokenizerFamily};
use frame::{FrameSections, common_prefix};
use message_kind::{MessageKind, PartSize, begins_turn, first_kind, fnv1a, json_size_and_hash, kinds};
use model::{Breakpoint, CacheMode, CachePolicy, Info, Message, PromptSize, Request, Usage};
use prefix_index::PrefixIndex;
use session::{LedgerSection, PromptDifference};
use std::collections::BTreeMap;
use std::sync::Arc;
use token_counter::TokenCounter;

/// The composition of a session's requests.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The model, frame and messages of the last request.
    model: String,
    frame: Option<FrameSections>,
    lines: Vec<LedgerMessage>,
    /// How many messages have token counts, and whether the frame has.
    settled: usize,
    is_framed: bool,
    /// Sums over the settled messages.
    sums: SectionSums,
    known: PrefixIndex,
}

/// A message of the last request.
#[derive(Debug, Clone)]
struct LedgerMessage {
    message: Arc<Message>,
    bytes: u64,
    hash: u64,
    /// Hash of everything up to here.
    chain: u64,
    /// Number of parts up to here.
    blocks: u64,
    /// Tokens of everything up to here, once known.
    upto: u64,
}

/// Bytes and tokens by kind, of earlier turns and of the last one.
#[derive(Debug, Clone, Default)]
struct SectionSums {
    history: BTreeMap<MessageKind, SectionSum>,
    turn: BTreeMap<MessageKind, SectionSum>,
}

#[derive(Debug, Clone, Copy, Default)]
struct SectionSum {
    bytes: u64,
    tokens: u64,
}

/// A request that has no report yet.
#[derive(Debug, Clone)]
pub struct LedgerEntry {
    /// Where it differs from the previous request.
    pub difference: PromptDifference,
    /// How many leading messages it shares with the previous request.
    pub shared: usize,
    /// Tokens that the provider's cache should contain.
    pub cached: u64,
    /// Whether the provider counted them, or hew estimated a part of what it counted.
    pub certainty: CountBasis,
    /// Its cache breakpoints.
    pub marks: Vec<Breakpoint>,
    held: CachedSections,
}

/// The provider's report about a finished request.
#[derive(Debug, Clone, Copy)]
pub struct RequestReport<'a> {
    /// Usage as counted by the provider.
    pub usage: &'a Usage,
    /// Size of the request as sent, if known.
    pub sent: Option<&'a PromptSize>,
    /// When it finished, in milliseconds.
    pub at: u64,
}

/// How the tokens of a prefix are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountBasis {
    /// The provider counted exactly this prefix.
    Counted,
    /// The provider counted a longer prefix: the share of this one is estimated.
    Estimated,
}

/// Expected cache use of a request outside the conversation.
#[derive(Debug, Clone)]
pub struct CacheForecast {
    /// Tokens that the provider's cache should contain.
    pub cached: u64,
    /// Whether the provider counted them.
    pub certainty: CountBasis,
    /// Where it differs from the last request of the conversation.
    pub difference: PromptDifference,
}

/// Expected cache content: a number of frame sections, and sums.
#[derive(Debug, Clone, Default)]
struct CachedSections {
    frame: usize,
    sums: SectionSums,
}

impl Ledger {
    /// Records a request before it is sent; `now` is in milliseconds.
    pub fn begin_request(&mut self, request: &Request, info: &Info, now: u64) -> LedgerEntry {
        let caching = CachePolicy::of(info);
        let model = info.name();
        let frame = FrameSections::of(request, &model, &TokenizerFamily::of(info), self.frame.as_ref());
        let (shared, new_messages) = self.compare(&request.messages);
        let difference = self.difference(&frame, &model, shared, &new_messages);
        self.replace_last(frame, model, shared, new_messages);
        let hit = self.known.find(self.frame.as_ref(), &self.lines, request, info, now);
        let difference = match difference {
            PromptDifference::Extends if hit.is_expired => PromptDifference::CacheExpired {
                reason: format!("cache entries expire after {} minutes", caching.ttl_seconds / 60),
            },
            difference => difference,
        };
        let held = self.cached_sections(&hit);
        LedgerEntry {
            difference,
            shared,
            cached: hit.tokens,
            certainty: hit.certainty,
            marks: request.breakpoints.clone(),
            held,
        }
    }

    /// Sets the model of the last request of an earlier process, whose content is unknown.
    pub fn set_previous_model(&mut self, model: String) {
        self.model = model;
    }

    /// Records the provider's report about the last request and returns its sections.
    pub fn finish_request(
        &mut self,
        entry: &LedgerEntry,
        info: &Info,
        report: &RequestReport<'_>,
    ) -> Vec<LedgerSection> {
        let prompt = report.usage.prompt_tokens();
        if prompt > 0 {
            self.share_out(prompt, TokenizerFamily::of(info));
            if let Some(frame) = &self.frame {
                self.known.learn(frame, &self.lines, &entry.marks, info, report);
            }
        }
        self.sections(entry)
    }

    /// Predicts cache use for a request outside the conversation, such as a summary of it.
    pub fn forecast(&self, request: &Request, info: &Info, now: u64) -> CacheForecast {
        let model = info.name();
        let frame = FrameSections::of(request, &model, &TokenizerFamily::of(info), self.frame.as_ref());
        let (shared, new_messages) = self.compare(&request.messages);
        let is_alike = |before: &FrameSections| self.model == model && frame.difference_from(before).is_none();
        let difference = match self.frame.as_ref().is_some_and(is_alike) {
            true => self.difference(&frame, &model, shared, &new_messages),
            // It is unrelated to the conversation.
            false => PromptDifference::First,
        };
        let mut lines = [&self.lines[..shared], &new_messages].concat();
        chain(&mut lines, frame.chain(), 0);
        let (hit, _) = self.known.lookup(Some(&frame), &lines, request, info, now);
        CacheForecast {
            cached: hit.tokens,
            certainty: hit.certainty,
            difference,
        }
    }

    /// Returns the sections of a request outside the conversation, given how many tokens were expected to be cached.
    pub fn side_request_sections(request: &Request, info: &Info, usage: &Usage, cached: u64) -> Vec<LedgerSection> {
        let family = TokenizerFamily::of(info);
        let mut ledger = Ledger::whole(request, &info.name(), &family);
        ledger.share_out(usage.prompt_tokens(), family);
        let entry = LedgerEntry {
            difference: PromptDifference::First,
            shared: 0,
            cached: cached.min(usage.prompt_tokens()),
            certainty: CountBasis::Counted,
            marks: Vec::new(),
            held: CachedSections::default(),
        };
        ledger.sections(&entry)
    }

    /// Returns the tokens of each section of a request, counted by the tokenizer of its model.
    pub fn exact_counts(request: &Request, model: &str, exact: &ExactTokenizer) -> Vec<(String, u64)> {
        let ledger = Ledger::whole(request, model, exact);
        let frame = ledger.frame.iter().flat_map(|frame| &frame.parts);
        let mut counted: Vec<(String, u64)> = frame.map(|part| (part.name.clone(), part.weight)).collect();
        let mut sums = SectionSums::default();
        for line in &ledger.lines {
            sums.begin_message(&line.message);
            for (kind, PartSize { bytes, weight }) in kinds(&line.message, exact) {
                sums.add(kind, SectionSum { bytes, tokens: weight });
            }
        }
        for (when, sums) in [("history", sums.history), ("turn", sums.turn)] {
            counted.extend(sums.iter().map(|(kind, sum)| (format!("{when}/{kind}"), sum.tokens)));
        }
        counted
    }

    /// Creates a ledger with only this request.
    fn whole(request: &Request, model: &str, weigh: &dyn TokenCounter) -> Ledger {
        let mut ledger = Ledger::default();
        let frame = FrameSections::of(request, model, weigh, None);
        let (shared, new_messages) = ledger.compare(&request.messages);
        ledger.replace_last(frame, model.into(), shared, new_messages);
        ledger
    }

    /// Returns how many messages are unchanged, and the others.
    fn compare(&self, messages: &[Arc<Message>]) -> (usize, Vec<LedgerMessage>) {
        let same = |(line, message): &(&LedgerMessage, &Arc<Message>)| Arc::ptr_eq(&line.message, message);
        let mut shared = self.lines.iter().zip(messages).take_while(same).count();
        let mut new_messages = Vec::with_capacity(messages.len() - shared);
        for message in &messages[shared..] {
            let (bytes, hash) = json_size_and_hash(&**message);
            // A message that is rebuilt for each request may have the same content.
            if new_messages.is_empty() && self.lines.get(shared).is_some_and(|line| line.hash == hash) {
                shared += 1;
                continue;
            }
            new_messages.push(LedgerMessage {
                message: Arc::clone(message),
                bytes,
                hash,
                chain: 0,
                blocks: 0,
                upto: 0,
            });
        }
        (shared, new_messages)
    }

    fn difference(
        &self,
        frame: &FrameSections,
        model: &str,
        shared: usize,
        new_messages: &[LedgerMessage],
    ) -> PromptDifference {
        if !self.model.is_empty() && self.model != model {
            let part = format!("model: {} became {model}", self.model);
            return PromptDifference::At { byte: 0, part };
        }
        let Some(before) = &self.frame else {
            return PromptDifference::First;
        };
        if let Some(left) = frame.difference_from(before) {
            return PromptDifference::At {
                byte: left.byte,
                part: left.part,
            };
        }
        if shared == self.lines.len() {
            return PromptDifference::Extends;
        }
        let same: u64 = self.lines[..shared].iter().map(|line| line.bytes).sum();
        let (then, now) = (&self.lines[shared], new_messages.first());
        let json = |line: &LedgerMessage| serde_json::to_vec(&*line.message).unwrap_or_default();
        let within = now.map_or(0, |now| common_prefix(&json(then), &json(now)));
        PromptDifference::At {
            byte: before.bytes() + same + within,
            part: self.describe_break(shared, new_messages),
        }
    }

    /// Describes what happened to the messages from this one on.
    fn describe_break(&self, at: usize, new_messages: &[LedgerMessage]) -> String {
        let last = self.lines.len();
        let Some(now) = new_messages.first() else {
            return format!("messages {}–{last} left out", at + 1);
        };
        if first_kind(&now.message) == Some(MessageKind::Summary) {
            // Panels are laid out again after the summary.
            let is_panel = |line: &LedgerMessage| matches!(first_kind(&line.message), Some(MessageKind::Panel(_)));
            let kept = new_messages.iter().skip(1).find(|line| !is_panel(line));
            let position = |kept: &LedgerMessage| self.lines.iter().rposition(|line| line.hash == kept.hash);
            let kept = kept.and_then(position).filter(|kept| *kept > at);
            return format!("summary replaced messages {}–{}", at + 1, kept.unwrap_or(last));
        }
        let words = |line: &LedgerMessage| {
            first_kind(&line.message).map_or_else(|| "nothing".to_owned(), |kind| kind.to_string())
        };
        let (then, now) = (words(&self.lines[at]), words(now));
        match then == now {
            true => format!("message {}: {now} changed", at + 1),
            false => format!("message {}: {then} became {now}", at + 1),
        }
    }

    /// Makes this request the last one.
    fn replace_last(
        &mut self,
        mut frame: FrameSections,
        model: String,
        shared: usize,
        new_messages: Vec<LedgerMessage>,
    ) {
        let before = self.frame.as_ref();
        let is_same = self.model == model && before.is_some_and(|before| before.chain() == frame.chain());
        match before {
            Some(before) if is_same => {
                for (part, known) in frame.parts.iter_mut().zip(&before.parts) {
                    part.tokens = known.tokens;
                }
            }
            Some(_) | None => (self.settled, self.is_framed, self.sums) = (0, false, SectionSums::default()),
        }
        if shared < self.settled {
            self.settled = shared;
            self.sums = sums(&self.lines[..shared], frame_tokens(&frame));
        }
        let keep = if is_same { shared } else { 0 };
        self.lines.truncate(shared);
        self.lines.extend(new_messages);
        chain(&mut self.lines, frame.chain(), keep);
        self.model = model;
        self.frame = Some(frame);
    }

    /// Distributes the tokens of a prompt among the parts without a count.
    fn share_out(&mut self, prompt: u64, family: TokenizerFamily) {
        let Some(frame) = &mut self.frame else { return };
        let mut before = match self.settled.checked_sub(1) {
            Some(last) => self.lines[last].upto,
            None if self.is_framed => frame_tokens(frame),
            None => 0,
        };
        let is_settled = self.is_framed && self.settled == self.lines.len();
        if prompt < before || (is_settled && prompt != before) {
            // The provider counts differently than before: everything is distributed again.
            (self.settled, self.is_framed, self.sums, before) = (0, false, SectionSums::default(), 0);
        }
        let open = self.lines[self.settled..]
            .iter()
            .map(|line| kinds(&line.message, &family));
        let open: Vec<Vec<(MessageKind, PartSize)>> = open.collect();
        let weights: u64 = open.iter().flatten().map(|(_, size)| size.weight).sum();
        let framed = match self.is_framed {
            true => 0,
            false => frame.parts.iter().map(|part| part.weight).sum(),
        };
        let mut shares = TokenShares {
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
            self.sums.begin_message(&line.message);
            for (kind, size) in kinds {
                let tokens = shares.take(size.weight);
                before += tokens;
                self.sums.add(
                    kind,
                    SectionSum {
                        bytes: size.bytes,
                        tokens,
                    },
                );
            }
            line.upto = before;
        }
        self.settled = self.lines.len();
        if let Some(line) = self.lines.last_mut() {
            // Messages without text still cost tokens; they are added to the last message.
            line.upto = prompt;
        }
    }

    /// The sections that the cache should contain.
    fn cached_sections(&self, hit: &prefix_index::CacheHit) -> CachedSections {
        let lines = hit.lines.min(self.settled);
        let mut sums = match lines == self.settled {
            true => self.sums.clone(),
            false => sums(&self.lines[..lines], self.frame.as_ref().map_or(0, frame_tokens)),
        };
        if self.lines[self.settled..].iter().any(|line| begins_turn(&line.message)) {
            sums.end_turn();
        }
        CachedSections { frame: hit.frame, sums }
    }

    /// The sections of the last request. The cached parts add up to the prediction.
    fn sections(&self, entry: &LedgerEntry) -> Vec<LedgerSection> {
        let mut sections = Vec::new();
        let frame = self.frame.as_ref().map_or(&[][..], |frame| &frame.parts);
        for (place, part) in frame.iter().enumerate() {
            sections.push(LedgerSection {
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
            sections.extend(sums.iter().map(|(kind, sum)| LedgerSection {
                name: format!("{when}/{kind}"),
                bytes: sum.bytes,
                tokens: sum.tokens,
                cached: held.get(kind).map_or(0, |held| held.tokens.min(sum.tokens)),
            }));
        }
        sections.retain(|section| section.bytes > 0 || section.tokens > 0);
        distribute_cached(&mut sections, entry.cached);
        sections
    }
}

/// Makes the cached parts add up to this many tokens. Differences to the expectation are applied at the end of the
/// cached part.
pub fn distribute_cached(sections: &mut [LedgerSection], cached: u64) {
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

/// Chains the hashes of messages, from this one on; the first one follows the frame.
fn chain(lines: &mut [LedgerMessage], frame: u64, from: usize) {
    let before = from.checked_sub(1).and_then(|last| lines.get(last));
    let (mut chain, mut blocks) = before.map_or((frame, 0), |line| (line.chain, line.blocks));
    for line in &mut lines[from..] {
        chain = fnv1a(chain, &line.hash.to_be_bytes());
        blocks += line.message.parts.len() as u64;
        (line.chain, line.blocks) = (chain, blocks);
    }
}

/// Sums over messages that have token counts.
fn sums(lines: &[LedgerMessage], frame: u64) -> SectionSums {
    let mut sums = SectionSums::default();
    let mut before = frame;
    for line in lines {
        sums.begin_message(&line.message);
        let kinds = kinds(&line.message, &TokenizerFamily::default());
        let mut shares = TokenShares {
            rest: line.upto.saturating_sub(before),
            weights: kinds.iter().map(|(_, size)| size.weight).sum(),
        };
        before = line.upto;
        for (kind, size) in kinds {
            let tokens = shares.take(size.weight);
            sums.add(
                kind,
                SectionSum {
                    bytes: size.bytes,
                    tokens,
                },
            );
        }
    }
    sums
}

fn frame_tokens(frame: &FrameSections) -> u64 {
    frame.parts.iter().map(|part| part.tokens).sum()
}

/// Distributes tokens by weight, without remainder.
struct TokenShares {
    rest: u64,
    weights: u64,
}

impl TokenShares {
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

impl SectionSums {
    /// Begins a message: if it starts a turn, the turn so far becomes history.
    fn begin_message(&mut self, message: &Message) {
        if begins_turn(message) {
            self.end_turn();
        }
    }

    fn end_turn(&mut self) {
        for (kind, sum) in std::mem::take(&mut self.turn) {
            let all = self.history.entry(kind).or_default();
            all.bytes += sum.bytes;
            all.tokens += sum.tokens;
        }
    }

    fn add(&mut self, kind: MessageKind, sum: SectionSum) {
        let all = self.turn.entry(kind).or_default();
        all.bytes += sum.bytes;
        all.tokens += sum.tokens;
    }
}
