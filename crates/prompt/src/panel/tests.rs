//! When panels are shown, and how they look.

use super::*;
use crate::tokens::TokenizerFamily;
use crate::{LayoutCache, RequestFrame, assemble, budget::TokenBudget};
use model::{Message, Role};
use session::{HistoryElision, ItemId};

fn snapshot(name: &str, volatility: Volatility, text: &str) -> PanelSnapshot {
    PanelSnapshot {
        name: name.into(),
        volatility,
        change_channel: ChangeChannel::Panel,
        text: text.into(),
    }
}

const WARM: CacheStatus = CacheStatus::Warm { worth: 1_000 };

/// The names of the shown panels per request, if a panel of this volatility changes each time.
fn changing(volatility: Volatility, requests: usize) -> Vec<bool> {
    let mut board = PanelScheduler::default();
    let mut last: Option<ShownPanel> = None;
    let mut seen = Vec::new();
    for number in 0..requests {
        let panel = snapshot("p", volatility, &format!("state {number}"));
        let shown: BTreeMap<&str, &ShownPanel> = last.iter().map(|shown| ("p", shown)).collect();
        let fresh = board.select_updates(&[panel], &shown, WARM, Time(number as u64), |_| 1);
        seen.push(!fresh.is_empty());
        if let Some(fresh) = fresh.first() {
            last = Some(fresh.shown());
        }
    }
    seen
}

#[test]
fn max_freezes_a_live_panel_is_never_delayed() {
    assert_eq!(Volatility::Live.max_freezes(), Some(0));
    assert_eq!(changing(Volatility::Live, 4), [true, true, true, true]);
}

#[test]
fn max_freezes_a_turn_panel_is_delayed_for_two_requests() {
    assert_eq!(
        changing(Volatility::Turn, 7),
        [true, false, false, true, false, false, true]
    );
}

#[test]
fn max_freezes_a_session_panel_is_delayed_for_three_requests() {
    assert_eq!(
        changing(Volatility::Session, 6),
        [true, false, false, false, true, false]
    );
}

#[test]
fn max_freezes_a_fixed_panel_is_delayed_until_the_cache_breaks() {
    assert_eq!(
        changing(Volatility::Fixed, 30).iter().filter(|shown| **shown).count(),
        1
    );
    let mut board = PanelScheduler::default();
    let shown = ShownPanel {
        panel: "p".into(),
        hash: 7,
        since: Time(0),
    };
    let shown = BTreeMap::from([("p", &shown)]);
    let panels = [snapshot("p", Volatility::Fixed, "new")];
    assert_eq!(board.select_updates(&panels, &shown, WARM, Time(1), |_| 1), []);
    assert_eq!(
        board
            .select_updates(&panels, &shown, CacheStatus::Broken, Time(2), |_| 1)
            .len(),
        1
    );
}

#[test]
fn max_freezes_the_panels_of_the_seed_have_its_constants() {
    for (own, most) in [
        (BuiltinPanel::Todo, 0),
        (BuiltinPanel::Statistics, 2),
        (BuiltinPanel::Notifications, 2),
        (BuiltinPanel::Tools, 3),
        (BuiltinPanel::Logs, 3),
    ] {
        assert_eq!(own.volatility().max_freezes(), Some(most), "{own:?}");
    }
}

#[test]
fn a_panel_that_changed_back_counts_as_unchanged() {
    let mut board = PanelScheduler::default();
    let first = board.select_updates(
        &[snapshot("p", Volatility::Turn, "a")],
        &BTreeMap::new(),
        WARM,
        Time(1),
        |_| 1,
    );
    let shown = first[0].shown();
    let shown = BTreeMap::from([("p", &shown)]);
    for (text, at) in [("b", 2), ("a", 3), ("b", 4), ("b", 5)] {
        let fresh = board.select_updates(&[snapshot("p", Volatility::Turn, text)], &shown, WARM, Time(at), |_| 1);
        assert_eq!(fresh, [], "{text} at {at}");
    }
    let fresh = board.select_updates(&[snapshot("p", Volatility::Turn, "b")], &shown, WARM, Time(6), |_| 1);
    assert_eq!(fresh.len(), 1);
    assert_eq!(
        fresh[0].since,
        Time(4),
        "the time counts from the change, not from the request"
    );
}

#[test]
fn a_changed_panel_above_its_worth_is_marked_as_outdated_until_the_cache_breaks() {
    let mut board = PanelScheduler::default();
    let long = |text: &str| [snapshot("p", Volatility::Live, &text.repeat(1_000))];
    let count = |text: &str| text.len() as u64 / 5;
    let worth = CacheStatus::Warm { worth: 100 };
    let texts = |updates: &[PanelUpdate]| updates.iter().map(|update| update.text.clone()).collect::<Vec<_>>();
    let opened = board.select_updates(&long("word "), &BTreeMap::new(), worth, Time(1), count);
    assert_eq!(
        texts(&opened),
        [Some("word ".repeat(1_000))],
        "an opened panel is shown"
    );
    let state = opened[0].shown();
    let shown = BTreeMap::from([("p", &state)]);
    let changed = board.select_updates(&long("text "), &shown, worth, Time(2), count);
    assert_eq!(texts(&changed), [Some(PanelTexts::load().outdated)]);
    let state = changed[0].shown();
    let shown = BTreeMap::from([("p", &state)]);
    let again = board.select_updates(&long("other "), &shown, worth, Time(3), count);
    assert_eq!(again, [], "the note still applies");
    let broken = board.select_updates(&long("other "), &shown, CacheStatus::Broken, Time(4), count);
    assert_eq!(texts(&broken), [Some("other ".repeat(1_000))]);
    let short = [snapshot("p", Volatility::Live, "short")];
    let short = board.select_updates(&short, &shown, worth, Time(5), count);
    assert_eq!(texts(&short), [Some("short".into())]);
}

#[test]
fn the_order_by_last_change_survives_a_restart_and_a_summary() {
    let mut board = PanelScheduler::default();
    let panels = |a: &str, b: &str| [snapshot("a", Volatility::Live, a), snapshot("b", Volatility::Live, b)];
    board.select_updates(&panels("1", "1"), &BTreeMap::new(), WARM, Time(1), |_| 1);
    let all = board.select_updates(&panels("2", "1"), &BTreeMap::new(), CacheStatus::Broken, Time(2), |_| 1);
    let states: Vec<ShownPanel> = all.iter().map(PanelUpdate::shown).collect();
    let summary = Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(3),
        body: Body::Summary {
            message: Arc::new(Message::user("notes")),
            first_kept: None,
        },
    });
    let items = [item(vec![], states, Some(HistoryElision::default())), summary];
    let mut resumed = PanelScheduler::default();
    resumed.restore(&items);
    let shown = shown_states(&items);
    assert!(shown.is_empty());
    let all = resumed.select_updates(&panels("2", "1"), &shown, CacheStatus::Broken, Time(9), |_| 1);
    let order: Vec<(&str, Time)> = all.iter().map(|update| (update.name.as_str(), update.since)).collect();
    assert_eq!(order, [("b", Time(1)), ("a", Time(2))]);
}

#[test]
fn panels_are_sorted_from_the_oldest_change_to_the_newest() {
    let mut board = PanelScheduler::default();
    let panel = |name, text| snapshot(name, Volatility::Live, text);
    board.select_updates(
        &[panel("a", "1"), panel("b", "1")],
        &BTreeMap::new(),
        WARM,
        Time(1),
        |_| 1,
    );
    board.select_updates(
        &[panel("a", "2"), panel("b", "1")],
        &BTreeMap::new(),
        WARM,
        Time(2),
        |_| 1,
    );
    let names = |fresh: Vec<PanelUpdate>| fresh.into_iter().map(|fresh| fresh.name).collect::<Vec<_>>();
    let all = board.select_updates(
        &[panel("a", "2"), panel("b", "1"), panel("c", "1")],
        &BTreeMap::new(),
        CacheStatus::Broken,
        Time(3),
        |_| 1,
    );
    assert_eq!(names(all), ["b", "a", "c"]);
}

#[test]
fn a_panel_covered_by_the_conversation_is_shown_only_in_a_full_layout() {
    let mut board = PanelScheduler::default();
    let snapshot = PanelSnapshot {
        change_channel: ChangeChannel::Conversation,
        ..snapshot("todo", Volatility::Live, "pending: x")
    };
    assert_eq!(
        board.select_updates(std::slice::from_ref(&snapshot), &BTreeMap::new(), WARM, Time(1), |_| 1),
        []
    );
    assert_eq!(
        board
            .select_updates(&[snapshot], &BTreeMap::new(), CacheStatus::Broken, Time(1), |_| 1)
            .len(),
        1
    );
}

#[test]
fn a_closed_panel_is_reported_once() {
    let mut board = PanelScheduler::default();
    let state = ShownPanel {
        panel: "p".into(),
        hash: 7,
        since: Time(0),
    };
    let shown_now = BTreeMap::from([("p", &state)]);
    let fresh = board.select_updates(&[], &shown_now, WARM, Time(5), |_| 1);
    assert_eq!((fresh[0].text.as_deref(), fresh[0].shown().hash), (None, 0));
    let items = [
        item(vec![], vec![state], None),
        item(vec![], vec![fresh[0].shown()], None),
    ];
    assert_eq!(shown_states(&items), BTreeMap::new());
}

fn item(messages: Vec<Arc<Message>>, shown: Vec<ShownPanel>, fold: Option<HistoryElision>) -> Arc<Item> {
    Arc::new(Item {
        id: ItemId::new(),
        parent: None,
        at: Time(0),
        body: Body::Panels {
            messages,
            states: shown,
            elision: fold,
        },
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

fn two() -> Vec<PanelUpdate> {
    let fresh = |name: &str, text: Option<&str>, since| PanelUpdate {
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
    assert!(PanelTexts::load().open.contains("{name}"), "{:?}", PanelTexts::load());
}

#[test]
fn panels_as_text_and_as_calls() {
    let at = Time(1_794_824_460_000);
    let show = |all, form| {
        let messages = render(&two(), all, form, TokenizerFamily::O200k, None, at);
        serde_json::to_string_pretty(&messages).unwrap()
    };
    insta::assert_snapshot!(
        [
            show(true, PanelForm::Text),
            show(false, PanelForm::Text),
            show(true, PanelForm::Calls),
            show(false, PanelForm::Calls)
        ]
        .join("\n\n")
    );
}

#[test]
fn panels_stay_within_their_budget_and_note_cuts() {
    let long = |name: &str, words: usize| PanelUpdate {
        name: name.into(),
        text: Some("word ".repeat(words)),
        since: Time(0),
    };
    let budget = TokenBudget {
        family: TokenizerFamily::O200k,
        tokens: 4_000,
    };
    let fresh = [long("a", 5_000), long("b", 100), long("c", 5_000)];
    let messages = render(
        &fresh,
        true,
        PanelForm::Text,
        TokenizerFamily::O200k,
        Some(budget),
        Time(0),
    );
    let text = messages[0].text();
    let tokens = TokenizerFamily::O200k.estimate(&text);
    assert!((900..1_200).contains(&tokens), "{tokens}");
    assert_eq!(text.matches("bytes omitted").count(), 2);
    assert!(text.contains(&"word ".repeat(100).trim_end().to_owned()));
}

#[test]
fn a_late_panel_extends_the_request_and_an_elision_puts_all_panels_first() {
    let frame = RequestFrame::default();
    let message = |text: &str| vec![Arc::new(Message::user(text))];
    let mut items = vec![
        item(message("panels"), vec![], Some(HistoryElision::default())),
        prompt("do it"),
    ];
    let mut kept = LayoutCache::default();
    let texts = |items: &[Arc<Item>], kept: &mut LayoutCache| -> Vec<String> {
        let request = assemble(&frame, items, kept).request;
        request.messages.iter().map(|message| message.text()).collect()
    };
    let first = texts(&items, &mut kept);
    items.push(item(message("late"), vec![], None));
    let second = texts(&items, &mut kept);
    assert_eq!(second, ["panels", "do it", "late"]);
    assert_eq!(second[..2], first);
    items.push(item(message("anew"), vec![], Some(HistoryElision::default())));
    assert_eq!(texts(&items, &mut kept), ["anew", "do it"]);
}

#[test]
fn a_breakpoint_follows_the_panels_and_there_are_at_most_four() {
    let frame = RequestFrame {
        system: vec!["s".into()],
        tools: [model::ToolSpec {
            name: "t".into(),
            description: String::new(),
            input_schema: serde_json::json!({}),
        }]
        .into(),
        ..RequestFrame::default()
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
                end: session::ReplyEnd::Interrupted,
            },
        })
    };
    let panels = item(
        vec![Arc::new(Message::user("panels"))],
        vec![],
        Some(HistoryElision::default()),
    );
    let items = [panels, prompt("a"), reply("b"), prompt("c")];
    let request = assemble(&frame, &items, &mut LayoutCache::default()).request;
    assert_eq!(request.messages[0].role, Role::User);
    use model::Breakpoint::{Message as After, System};
    assert_eq!(request.breakpoints, [System(0), After(0), After(1), After(3)]);
}

#[test]
fn the_system_prompt_is_repeated_after_panels_of_many_tokens() {
    let frame = RequestFrame {
        system: vec!["Be good.".into()],
        ..RequestFrame::default()
    };
    let of = |words: usize| {
        let message = Arc::new(Message::user("word ".repeat(words)));
        let items = [
            item(vec![message], vec![], Some(HistoryElision::default())),
            prompt("a"),
        ];
        assemble(&frame, &items, &mut LayoutCache::default()).request.messages
    };
    assert_eq!(of(100).len(), 2);
    let long = of(25_000);
    assert!(long[1].text().ends_with("Be good."), "{}", long[1].text());
    assert_eq!(long[2].text(), "a");
}

#[test]
fn outdated_states_are_counted() {
    let state = |hash| ShownPanel {
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
    assert_eq!(outdated_bytes(&items), 5);
    assert_eq!(shown_states(&items)["p"].hash, 2);
}
