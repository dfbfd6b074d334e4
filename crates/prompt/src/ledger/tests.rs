//! Composition of requests, cached parts, and differences between requests.

use super::*;
use model::{Block, CallId, Features, Part, PartOrigin, Role, TokenLimits, ToolOutcome, ToolSpec, Wire};
use serde_json::json;

fn info(wire: Wire) -> Info {
    Info {
        provider: "p".into(),
        id: "m".into(),
        wire,
        limits: TokenLimits {
            window: 100_000,
            output: 1_000,
        },
        parameters: 0,
        features: Features {
            tools: true,
            parallel_tools: true,
            images: false,
            pdf: false,
            reasoning: false,
            caching: true,
        },
        prices: None,
        deprecated_on: None,
        options: Default::default(),
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "d".repeat(2_000),
        input_schema: json!({"type": "object"}),
    }
}

fn call(id: usize) -> Arc<Message> {
    let part = Part::ToolCall {
        id: CallId::from(format!("c{id}")),
        name: "shell".into(),
        input: json!({"command": format!("cat {id}")}),
        malformed: None,
        replay: None,
    };
    Arc::new(Message {
        role: Role::Assistant,
        parts: vec![part],
    })
}

fn result(id: usize) -> Arc<Message> {
    let part = Part::ToolResult {
        id: CallId::from(format!("c{id}")),
        name: "shell".into(),
        content: vec![Block::text("x".repeat(400))],
        outcome: ToolOutcome::Ok,
    };
    Arc::new(Message {
        role: Role::User,
        parts: vec![part],
    })
}

fn summary() -> Arc<Message> {
    let text = "<summary>\nNotes.\n</summary>";
    Arc::new(Message {
        role: Role::User,
        parts: vec![Part::with_origin(text, PartOrigin::Summary)],
    })
}

fn user_message(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

/// A provider that counts a quarter of the bytes, and a session with it.
struct World {
    info: Info,
    ledger: Ledger,
    request: Request,
    /// Its content in tokens.
    cache: Vec<(Vec<Arc<Message>>, u64)>,
}

impl World {
    fn new(wire: Wire) -> Self {
        let mut request = Request {
            tools: [tool("shell"), tool("read_file")].into(),
            system: vec!["You are hew.".into(), "# Rules of this project\nUse tabs.".into()],
            ..Request::default()
        };
        request.messages = vec![user_message("look around")].into();
        World {
            info: info(wire),
            ledger: Ledger::default(),
            request,
            cache: Vec::new(),
        }
    }

    fn tokens(&self) -> u64 {
        self.sent().total().div_ceil(4)
    }

    /// The size of the request as sent.
    fn sent(&self) -> PromptSize {
        let length = |value: Vec<u8>| value.len() as u64;
        let mut ends = Vec::new();
        for message in self.request.messages.iter() {
            let last = ends.last().copied().unwrap_or(0);
            ends.push(last + length(serde_json::to_vec(&**message).unwrap()));
        }
        PromptSize {
            tools: length(serde_json::to_vec(&*self.request.tools).unwrap()),
            system: self.request.system.iter().map(|section| section.len() as u64).sum(),
            messages: ends.into(),
        }
    }

    /// Sends the request; returns its sections and the expected cache content.
    fn send(&mut self, now: u64) -> (LedgerEntry, Vec<LedgerSection>) {
        let last = self.request.messages.len() - 1;
        self.request.breakpoints = vec![Breakpoint::Tools, Breakpoint::System(1), Breakpoint::Message(last)];
        let entry = self.ledger.begin_request(&self.request, &self.info, now);
        let all = self.tokens();
        let read = self
            .cache
            .iter()
            .rev()
            .find(|(held, _)| self.request.messages.starts_with(held));
        let read = read.map_or(0, |(_, tokens)| *tokens);
        self.cache.push((self.request.messages.to_vec(), all));
        let usage = match self.info.wire {
            Wire::AnthropicMessages => Usage {
                cache_read: read,
                cache_write: all - read,
                output: 5,
                ..Usage::default()
            },
            _ => Usage {
                input: all,
                ..Usage::default()
            },
        };
        let report = RequestReport {
            usage: &usage,
            sent: None,
            at: now,
        };
        let sections = self.ledger.finish_request(&entry, &self.info, &report);
        assert_eq!(
            sections.iter().map(|section| section.tokens).sum::<u64>(),
            all,
            "{sections:?}"
        );
        assert_eq!(sections.iter().map(|section| section.cached).sum::<u64>(), entry.cached);
        (entry, sections)
    }

    fn append(&mut self, more: impl IntoIterator<Item = Arc<Message>>) {
        Arc::make_mut(&mut self.request.messages).extend(more);
    }
}

fn part(entry: &LedgerEntry) -> String {
    match &entry.difference {
        PromptDifference::At { part, .. } => part.clone(),
        PromptDifference::First => "first".into(),
        PromptDifference::Extends => "extends".into(),
        PromptDifference::CacheExpired { reason: why } => why.clone(),
    }
}

#[test]
fn every_request_of_a_long_turn_extends_and_reuses_the_previous_one() {
    for wire in [Wire::AnthropicMessages, Wire::OpenaiResponses, Wire::Gemini] {
        let mut world = World::new(wire);
        let step = CachePolicy::of(&world.info).granularity;
        assert_eq!(part(&world.send(0).0), "first");
        for number in 0..60 {
            let before = world.tokens();
            world.append([call(number), result(number)]);
            let (entry, sections) = world.send(1_000 * number as u64);
            assert_eq!(entry.difference, PromptDifference::Extends, "{number}");
            assert_eq!(entry.shared, 1 + number * 2);
            assert_eq!(entry.cached, before - before % step, "{number} on {wire:?}");
            assert!(sections.iter().any(|section| section.name == "turn/results/shell"));
        }
    }
}

#[test]
fn sections_list_the_prompt_and_separate_the_last_turn() {
    let mut world = World::new(Wire::AnthropicMessages);
    world.send(0);
    world.append([call(1), result(1), Arc::new(Message::assistant("done"))]);
    let context = Message {
        role: Role::User,
        parts: vec![
            Part::text("and now?"),
            Part::with_origin("<context>\nA file.\n</context>", PartOrigin::Mention),
        ],
    };
    world.append([Arc::new(context)]);
    let (_, sections) = world.send(0);
    let names: Vec<&str> = sections.iter().map(|section| section.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "tools",
            "system/identity",
            "system/rules",
            "history/prompts",
            "history/replies",
            "history/calls/shell",
            "history/results/shell",
            "turn/prompts",
            "turn/mentions",
        ]
    );
    let is_cached = |name: &str| {
        sections
            .iter()
            .any(|section| section.name == name && section.cached == section.tokens)
    };
    assert!(is_cached("tools") && is_cached("system/rules") && is_cached("history/prompts"));
    assert!(!is_cached("turn/prompts"));
}

#[test]
fn a_cache_break_is_reported_with_the_first_differing_byte() {
    let mut world = World::new(Wire::AnthropicMessages);
    world.send(0);
    let tools = serde_json::to_vec(&*world.request.tools).unwrap().len() as u64;

    world.request.system[1] = "# Rules of this project\nUse blanks.".into();
    let (entry, _) = world.send(0);
    let same = "You are hew.".len() + "# Rules of this project\nUse ".len();
    assert_eq!(
        entry.difference,
        PromptDifference::At {
            byte: tools + same as u64,
            part: "system: rules changed".into()
        }
    );
    world.request.system.push("# Mode: ask".into());
    assert_eq!(part(&world.send(0).0), "system: mode added");

    world.request.tools = [tool("shell"), tool("read_file"), tool("mcp__github__issues")].into();
    assert_eq!(part(&world.send(0).0), "tools changed: mcp github issues added");
    world.request.tools = [tool("shell"), tool("mcp__github__issues"), tool("read_file")].into();
    assert_eq!(part(&world.send(0).0), "tools changed: order");

    world.append((0..20).flat_map(|number| [call(number), result(number)]));
    assert_eq!(part(&world.send(0).0), "extends");
    let kept = world.request.messages[39..].to_vec();
    world.request.messages = vec![summary()].into();
    world.append(kept);
    assert_eq!(part(&world.send(0).0), "summary replaced messages 1–39");
    Arc::make_mut(&mut world.request.messages).truncate(1);
    world.append([user_message("another")]);
    assert_eq!(part(&world.send(0).0), "message 2: calls/shell became prompts");
    Arc::make_mut(&mut world.request.messages).truncate(1);
    assert_eq!(part(&world.send(0).0), "messages 2–2 left out");

    world.info.id = "n".into();
    assert_eq!(part(&world.send(0).0), "model: p/m became p/n");
}

#[test]
fn rewinding_to_an_earlier_request_reuses_its_cache() {
    let mut world = World::new(Wire::AnthropicMessages);
    world.send(0);
    world.append([call(1), result(1)]);
    let then = world.tokens();
    world.send(0);
    world.append([call(2), result(2)]);
    world.send(0);
    Arc::make_mut(&mut world.request.messages).truncate(3);
    world.append([user_message("rather this")]);
    let (entry, _) = world.send(0);
    assert_eq!(entry.cached, then);
}

#[test]
fn an_expired_cache_is_not_expected() {
    let mut world = World::new(Wire::AnthropicMessages);
    world.send(0);
    world.append([call(1), result(1)]);
    let (entry, _) = world.send(301_000);
    assert_eq!(
        (entry.cached, part(&entry).as_str()),
        (0, "cache entries expire after 5 minutes")
    );
}

#[test]
fn a_rebuilt_message_with_the_same_content_is_the_same() {
    let mut world = World::new(Wire::OpenaiResponses);
    world.append([call(1), result(1)]);
    world.send(0);
    let again: Vec<_> = world
        .request
        .messages
        .iter()
        .map(|message| Arc::new(Message::clone(message)))
        .collect();
    world.request.messages = again.into();
    let (entry, _) = world.send(0);
    assert_eq!((entry.shared, entry.difference), (3, PromptDifference::Extends));
}

/// A server's report: the size of the previous request and of this one, in bytes and tokens.
struct Counts {
    before: u64,
    all: u64,
}

impl Counts {
    fn tokens(bytes: u64) -> u64 {
        bytes.div_ceil(4)
    }

    /// Figures that add up.
    fn exact(&self) -> Usage {
        let (read, all) = (Counts::tokens(self.before), Counts::tokens(self.all));
        Usage {
            cache_read: read,
            input: all - read,
            ..Usage::default()
        }
    }

    /// Figures of breakpoints, rounded separately.
    fn apart(&self) -> Usage {
        Usage {
            cache_read: Counts::tokens(self.before),
            cache_write: Counts::tokens(self.all - self.before),
            ..Usage::default()
        }
    }
}

/// Whether the size of requests is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    Known,
    Unknown,
}

/// Sends requests that extend each other to a provider that reads the previous request and reports in its own way.
/// Returns the expected and the read tokens of each.
fn reported(wire: Wire, caching: bool, length: Length, usage: impl Fn(Counts) -> Usage) -> Vec<(u64, u64, CountBasis)> {
    let mut world = World::new(wire);
    world.info.features.caching = caching;
    let mut before = 0;
    let mut seen = Vec::new();
    for number in 0..12 {
        // All have different remainders.
        world.append([call(number), user_message(&"x".repeat(401 + number * 7))]);
        let last = world.request.messages.len() - 1;
        world.request.breakpoints = vec![Breakpoint::Message(last)];
        let (sent, now) = (world.sent(), number as u64);
        let entry = world.ledger.begin_request(&world.request, &world.info, now);
        let usage = usage(Counts {
            before,
            all: sent.total(),
        });
        let report = RequestReport {
            usage: &usage,
            sent: Some(&sent).filter(|_| length == Length::Known),
            at: now,
        };
        world.ledger.finish_request(&entry, &world.info, &report);
        seen.push((entry.cached, usage.cache_read, entry.certainty));
        before = sent.total();
    }
    seen
}

#[test]
fn exact_hit_counts_are_used_from_the_first_report_on() {
    for (wire, caching) in [
        (Wire::OpenaiChat, true),
        (Wire::Gemini, true),
        (Wire::OpenaiChat, false),
    ] {
        let seen = reported(wire, caching, Length::Unknown, |counts| counts.exact());
        assert!(
            seen[2..].iter().all(|(expected, read, _)| expected == read),
            "{wire:?} {caching}: {seen:?}"
        );
    }
    // A step size is handled as well.
    let rough = |counts: Counts| {
        let usage = counts.exact();
        let rest = usage.cache_read % 128;
        Usage {
            cache_read: usage.cache_read - rest,
            input: usage.input + rest,
            ..usage
        }
    };
    let seen = reported(Wire::OpenaiChat, true, Length::Unknown, rough);
    assert!(seen.iter().all(|(expected, read, _)| expected == read), "{seen:?}");
}

#[test]
fn separately_rounded_counts_are_estimates() {
    let seen = reported(Wire::AnthropicMessages, true, Length::Unknown, |counts| counts.apart());
    let off = |(expected, read, _): &(u64, u64, CountBasis)| expected.abs_diff(*read);
    assert!(seen.iter().all(|seen| off(seen) <= 1), "{seen:?}");
    let first = seen.iter().position(|seen| off(seen) > 0).unwrap();
    for (index, (_, _, certainty)) in seen.iter().enumerate() {
        let is_estimate = *certainty == CountBasis::Estimated;
        assert_eq!(is_estimate, index > first, "request {index}: {seen:?}");
    }
}

#[test]
fn hits_of_a_byte_counting_server_are_predicted_exactly() {
    let seen = reported(Wire::AnthropicMessages, true, Length::Known, |counts| counts.apart());
    let exact =
        |(expected, read, certainty): &(u64, u64, CountBasis)| expected == read && *certainty == CountBasis::Counted;
    assert!(seen.iter().all(exact), "{seen:?}");
    for wire in [Wire::OpenaiChat, Wire::OpenaiResponses, Wire::Gemini] {
        let seen = reported(wire, true, Length::Known, |counts| counts.exact());
        assert!(seen.iter().all(exact), "{wire:?}: {seen:?}");
    }
}

#[test]
fn token_counts_of_a_provider_override_byte_estimates() {
    // A sixth more than the bytes suggest, so that only reports allow a prediction.
    let more = |bytes: u64| bytes + bytes / 6;
    let counts = |Counts { before, all }: Counts| {
        let (read, all) = (more(Counts::tokens(before)), more(Counts::tokens(all)));
        Usage {
            cache_read: read,
            cache_write: all - read,
            ..Usage::default()
        }
    };
    let seen = reported(Wire::AnthropicMessages, true, Length::Known, counts);
    assert!(seen.iter().all(|(expected, read, _)| expected == read), "{seen:?}");

    // A coincidence is dropped at the first figure that contradicts it.
    let chance = |given: Counts| match given.before {
        0 => given.apart(),
        _ => counts(given),
    };
    let seen = reported(Wire::AnthropicMessages, true, Length::Known, chance);
    assert!(seen[2..].iter().all(|(expected, read, _)| expected == read), "{seen:?}");
}

#[test]
fn after_a_summary_the_cached_frame_size_is_exact_when_only_the_frame_was_read() {
    let mut world = World::new(Wire::AnthropicMessages);
    world.request.system[0] = "You are hew. ".repeat(200).into();
    // Another session has just sent the same tools and system prompt; they have a few tokens more than estimated.
    let frame = world.sent().prefix().div_ceil(4) + 7;
    let send = |world: &mut World, read: u64| {
        let last = world.request.messages.len() - 1;
        world.request.breakpoints = vec![Breakpoint::Tools, Breakpoint::System(1), Breakpoint::Message(last)];
        let entry = world.ledger.begin_request(&world.request, &world.info, 0);
        let usage = Usage {
            cache_read: read,
            cache_write: world.tokens() + 7 - read,
            ..Usage::default()
        };
        let report = RequestReport {
            usage: &usage,
            sent: None,
            at: 0,
        };
        world.ledger.finish_request(&entry, &world.info, &report);
        (entry.cached, entry.certainty)
    };
    assert_eq!(send(&mut world, frame).0, 0);
    world.append([call(1), result(1)]);
    let before = world.tokens() + 7;
    send(&mut world, before - 100);
    world.request.messages = vec![summary()].into();
    assert_eq!(send(&mut world, frame), (frame, CountBasis::Counted));
}
