//! Which panels are shown when, and what they look like.

use super::*;
use crate::tokens::Family;
use crate::{Frame, Kept, assemble, budget::Budget};
use model::{Message, Role};
use session::{Fold, ItemId};

fn snapshot(name: &str, volatility: Volatility, text: &str) -> Snapshot {
    Snapshot {
        name: name.into(),
        volatility,
        told: Told::Here,
        text: text.into(),
    }
}

const WARM: Cache = Cache::Warm { worth: 1_000 };

/// The names of the panels that are shown, request by request, when a panel of this volatility says something else each time.
fn changing(volatility: Volatility, requests: usize) -> Vec<bool> {
    let mut board = Board::default();
    let mut last: Option<Shown> = None;
    let mut seen = Vec::new();
    for number in 0..requests {
        let panel = snapshot("p", volatility, &format!("state {number}"));
        let shown: BTreeMap<&str, &Shown> = last.iter().map(|shown| ("p", shown)).collect();
        let fresh = board.choose(&[panel], &shown, WARM, Time(number as u64), |_| 1);
        seen.push(!fresh.is_empty());
        if let Some(fresh) = fresh.first() {
            last = Some(fresh.shown());
        }
    }
    seen
}

#[test]
fn max_freezes_a_live_panel_is_never_held_back() {
    assert_eq!(Volatility::Live.max_freezes(), Some(0));
    assert_eq!(changing(Volatility::Live, 4), [true, true, true, true]);
}

#[test]
fn max_freezes_a_turn_panel_is_held_back_for_two_requests() {
    assert_eq!(
        changing(Volatility::Turn, 7),
        [true, false, false, true, false, false, true]
    );
}

#[test]
fn max_freezes_a_session_panel_is_held_back_for_three_requests() {
    assert_eq!(
        changing(Volatility::Session, 6),
        [true, false, false, false, true, false]
    );
}

#[test]
fn max_freezes_a_fixed_panel_is_held_back_until_the_cache_breaks() {
    assert_eq!(
        changing(Volatility::Fixed, 30).iter().filter(|shown| **shown).count(),
        1
    );
    let mut board = Board::default();
    let shown = Shown {
        panel: "p".into(),
        hash: 7,
        since: Time(0),
    };
    let shown = BTreeMap::from([("p", &shown)]);
    let panels = [snapshot("p", Volatility::Fixed, "new")];
    assert_eq!(board.choose(&panels, &shown, WARM, Time(1), |_| 1), []);
    assert_eq!(board.choose(&panels, &shown, Cache::Broken, Time(2), |_| 1).len(), 1);
}

#[test]
fn max_freezes_the_panels_of_the_seed_have_its_constants() {
    for (own, most) in [
        (Own::Todo, 0),
        (Own::Statistics, 2),
        (Own::Notifications, 2),
        (Own::Tools, 3),
        (Own::Logs, 3),
    ] {
        assert_eq!(own.volatility().max_freezes(), Some(most), "{own:?}");
    }
}

#[test]
fn a_panel_that_changed_back_was_never_away() {
    let mut board = Board::default();
    let first = board.choose(
        &[snapshot("p", Volatility::Turn, "a")],
        &BTreeMap::new(),
        WARM,
        Time(1),
        |_| 1,
    );
    let shown = first[0].shown();
    let shown = BTreeMap::from([("p", &shown)]);
    for (text, at) in [("b", 2), ("a", 3), ("b", 4), ("b", 5)] {
        let fresh = board.choose(&[snapshot("p", Volatility::Turn, text)], &shown, WARM, Time(at), |_| 1);
        assert_eq!(fresh, [], "{text} at {at}");
    }
    let fresh = board.choose(&[snapshot("p", Volatility::Turn, "b")], &shown, WARM, Time(6), |_| 1);
    assert_eq!(fresh.len(), 1);
    assert_eq!(
        fresh[0].since,
        Time(4),
        "the time counts from the change, not from the request"
    );
}

#[test]
fn a_changed_panel_that_is_longer_than_it_is_worth_waits_until_the_cache_breaks() {
    let mut board = Board::default();
    let long = snapshot("p", Volatility::Live, &"word ".repeat(1_000));
    let count = |text: &str| text.len() as u64 / 5;
    let worth = Cache::Warm { worth: 100 };
    assert_eq!(
        board.choose(std::slice::from_ref(&long), &BTreeMap::new(), worth, Time(1), count),
        []
    );
    assert_eq!(
        board
            .choose(&[long], &BTreeMap::new(), Cache::Broken, Time(2), count)
            .len(),
        1
    );
}

#[test]
fn panels_are_sorted_from_the_oldest_change_to_the_newest() {
    let mut board = Board::default();
    let panel = |name, text| snapshot(name, Volatility::Live, text);
    board.choose(
        &[panel("a", "1"), panel("b", "1")],
        &BTreeMap::new(),
        WARM,
        Time(1),
        |_| 1,
    );
    board.choose(
        &[panel("a", "2"), panel("b", "1")],
        &BTreeMap::new(),
        WARM,
        Time(2),
        |_| 1,
    );
    let names = |fresh: Vec<Fresh>| fresh.into_iter().map(|fresh| fresh.name).collect::<Vec<_>>();
    let all = board.choose(
        &[panel("a", "2"), panel("b", "1"), panel("c", "1")],
        &BTreeMap::new(),
        Cache::Broken,
        Time(3),
        |_| 1,
    );
    assert_eq!(names(all), ["b", "a", "c"]);
}

#[test]
fn a_panel_that_the_conversation_tells_of_is_shown_only_where_everything_is_laid_out_anew() {
    let mut board = Board::default();
    let told = Snapshot {
        told: Told::InConversation,
        ..snapshot("todo", Volatility::Live, "pending: x")
    };
    assert_eq!(
        board.choose(std::slice::from_ref(&told), &BTreeMap::new(), WARM, Time(1), |_| 1),
        []
    );
    assert_eq!(
        board
            .choose(&[told], &BTreeMap::new(), Cache::Broken, Time(1), |_| 1)
            .len(),
        1
    );
}

#[test]
fn a_panel_that_is_closed_is_told_of_once() {
    let mut board = Board::default();
    let state = Shown {
        panel: "p".into(),
        hash: 7,
        since: Time(0),
    };
    let shown_now = BTreeMap::from([("p", &state)]);
    let fresh = board.choose(&[], &shown_now, WARM, Time(5), |_| 1);
    assert_eq!((fresh[0].text.as_deref(), fresh[0].shown().hash), (None, 0));
    let items = [
        item(vec![], vec![state], None),
        item(vec![], vec![fresh[0].shown()], None),
    ];
    assert_eq!(shown(&items), BTreeMap::new());
}

fn item(messages: Vec<Arc<Message>>, shown: Vec<Shown>, fold: Option<Fold>) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(0),
        body: Body::Panels { messages, shown, fold },
    })
}

fn prompt(text: &str) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(0),
        body: Body::Prompt {
            message: Arc::new(Message::user(text)),
        },
    })
}

fn two() -> Vec<Fresh> {
    let fresh = |name: &str, text: Option<&str>, since| Fresh {
        name: name.into(),
        text: text.map(Into::into),
        since: Time(since),
    };
    vec![
        fresh("tree", Some("src/\n  main.rs\n"), 1_794_820_740_000),
        fresh("console", None, 1_794_824_400_000),
    ]
}

#[test]
fn the_texts_around_panels_are_in_a_file() {
    assert!(Texts::load().open.contains("{name}"), "{:?}", Texts::load());
}

#[test]
fn panels_look_like_this_as_text_and_as_calls() {
    let at = Time(1_794_824_460_000);
    let show = |all, form| {
        let messages = render(&two(), all, form, Family::O200k, None, at);
        serde_json::to_string_pretty(&messages).unwrap()
    };
    insta::assert_snapshot!(
        [
            show(true, Form::Text),
            show(false, Form::Text),
            show(true, Form::Calls),
            show(false, Form::Calls)
        ]
        .join("\n\n")
    );
}

#[test]
fn panels_take_no_more_than_their_part_of_the_budget_and_say_how_they_were_cut() {
    let long = |name: &str, words: usize| Fresh {
        name: name.into(),
        text: Some("word ".repeat(words)),
        since: Time(0),
    };
    let budget = Budget {
        family: Family::O200k,
        tokens: 4_000,
    };
    let fresh = [long("a", 5_000), long("b", 100), long("c", 5_000)];
    let messages = render(&fresh, true, Form::Text, Family::O200k, Some(budget), Time(0));
    let text = messages[0].text();
    let tokens = Family::O200k.estimate(&text);
    assert!((900..1_200).contains(&tokens), "{tokens}");
    assert_eq!(text.matches("left out for lack of room").count(), 2);
    assert!(text.contains(&"word ".repeat(100).trim_end().to_owned()));
}

#[test]
fn a_late_panel_extends_the_request_and_a_fold_puts_all_panels_first() {
    let frame = Frame::default();
    let message = |text: &str| vec![Arc::new(Message::user(text))];
    let mut items = vec![item(message("panels"), vec![], Some(Fold::default())), prompt("do it")];
    let mut kept = Kept::default();
    let texts = |items: &[Arc<Item>], kept: &mut Kept| -> Vec<String> {
        let request = assemble(&frame, items, kept).request;
        request.messages.iter().map(|message| message.text()).collect()
    };
    let first = texts(&items, &mut kept);
    items.push(item(message("late"), vec![], None));
    let second = texts(&items, &mut kept);
    assert_eq!(second, ["panels", "do it", "late"]);
    assert_eq!(second[..2], first);
    items.push(item(message("anew"), vec![], Some(Fold::default())));
    assert_eq!(texts(&items, &mut kept), ["anew", "do it"]);
}

#[test]
fn a_mark_stands_after_the_panels_and_there_are_never_more_than_four() {
    let frame = Frame {
        system: vec!["s".into()],
        tools: [model::ToolSpec {
            name: "t".into(),
            description: String::new(),
            input_schema: serde_json::json!({}),
        }]
        .into(),
        ..Frame::default()
    };
    let reply = |text: &str| {
        Arc::new(Item {
            id: ItemId::new(),
            parent: None,
            at: Time(0),
            body: Body::Reply {
                message: Arc::new(Message::assistant(text)),
                model: "m".into(),
                request: session::RequestId::new(),
                end: session::End::Interrupted,
            },
        })
    };
    let panels = item(vec![Arc::new(Message::user("panels"))], vec![], Some(Fold::default()));
    let items = [panels, prompt("a"), reply("b"), prompt("c")];
    let request = assemble(&frame, &items, &mut Kept::default()).request;
    assert_eq!(request.messages[0].role, Role::User);
    use model::Breakpoint::{Message as After, System};
    assert_eq!(request.breakpoints, [System(0), After(0), After(1), After(3)]);
}

#[test]
fn the_system_prompt_is_repeated_after_panels_of_many_tokens() {
    let frame = Frame {
        system: vec!["Be good.".into()],
        ..Frame::default()
    };
    let of = |words: usize| {
        let message = Arc::new(Message::user("word ".repeat(words)));
        let items = [item(vec![message], vec![], Some(Fold::default())), prompt("a")];
        assemble(&frame, &items, &mut Kept::default()).request.messages
    };
    assert_eq!(of(100).len(), 2);
    let long = of(25_000);
    assert!(long[1].text().ends_with("Be good."), "{}", long[1].text());
    assert_eq!(long[2].text(), "a");
}

#[test]
fn outdated_states_are_counted() {
    let state = |hash| Shown {
        panel: "p".into(),
        hash,
        since: Time(0),
    };
    let message = |text: &str| vec![Arc::new(Message::user(text))];
    let items = [
        item(message("first"), vec![state(1)], None),
        item(message("second!"), vec![state(2)], None),
        prompt("a"),
    ];
    assert_eq!(outdated(&items), 5);
    assert_eq!(shown(&items)["p"].hash, 2);
}
