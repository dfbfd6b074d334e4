//! Which parts are removed, and in which order.

use super::*;
use model::{Features, Role, TokenLimits, ToolOutcome, Wire};

fn info(window: u64) -> Info {
    Info {
        provider: "p".into(),
        id: "gpt-5".into(),
        wire: Wire::OpenaiChat,
        limits: TokenLimits { window, output: 1_000 },
        parameters: 0,
        features: Features {
            tools: true,
            parallel_tools: true,
            images: false,
            pdf: false,
            reasoning: false,
            caching: false,
        },
        prices: None,
        deprecated_on: None,
        options: Default::default(),
    }
}

#[test]
fn the_budget_is_the_smaller_of_threshold_and_window_less_the_tools_times_0_85() {
    for (window, threshold, tools, budget) in [
        (200_000, None, 10_000, Some(161_500)),
        (200_000, Some(100_000), 10_000, Some(76_500)),
        (200_000, Some(900_000), 10_000, Some(161_500)),
        (0, Some(100_000), 10_000, Some(76_500)),
        (0, None, 10_000, None),
        // Without tools nothing is subtracted.
        (200_000, None, 0, Some(200_000)),
        (1_000, None, 5_000, Some(0)),
    ] {
        let made = TokenBudget::of(&info(window), threshold, tools).map(|budget| budget.tokens);
        assert_eq!(made, budget, "{window} {threshold:?} {tools}");
    }
}

fn result(text: &str) -> Arc<Message> {
    let part = Part::ToolResult {
        id: "1".into(),
        name: "f".into(),
        content: vec![Block::text(text)],
        outcome: ToolOutcome::Ok,
    };
    Arc::new(Message {
        role: Role::User,
        parts: vec![part],
    })
}

#[test]
fn a_tool_result_takes_at_most_half_of_the_budget_40_percent_its_head_and_60_its_tail() {
    let budget = TokenBudget {
        family: TokenizerFamily::O200k,
        tokens: 2_000,
    };
    assert_eq!(budget.bound_result(&result(&"word ".repeat(900))), None);
    let text: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let cut = budget.bound_result(&result(&text)).unwrap();
    let text = result_texts(&cut.parts[0]).next().unwrap();
    assert!(
        TokenizerFamily::O200k.estimate(text) <= 1_040,
        "{}",
        TokenizerFamily::O200k.estimate(text)
    );
    let (head, rest) = text.split_once("\n[… ").unwrap();
    let (note, tail) = rest.split_once(" …]\n").unwrap();
    assert!(text.starts_with(head) && text.ends_with(tail));
    assert!(note.ends_with("of 98890 bytes omitted"), "{note}");
    let percent = head.len() * 100 / (head.len() + tail.len());
    assert_eq!(percent, 39, "{} {}", head.len(), tail.len());
}

#[test]
fn cuts_are_at_character_boundaries() {
    let text = "äöü".repeat(100);
    for bytes in 0..40 {
        let short = cut_middle(&text, bytes);
        assert!(short.contains("bytes omitted"), "{short}");
    }
    assert_eq!(cut_middle("short", 5), "short");
}

fn flex(grow: Option<u32>, requested: u64) -> SizeRequest {
    SizeRequest {
        grow,
        ..SizeRequest::of_size(requested)
    }
}

#[test]
fn parts_with_higher_rank_are_served_first_and_unranked_ones_before_them() {
    let parts = [flex(Some(1), 500), flex(Some(7), 500), flex(None, 500)];
    assert_eq!(allocate(&parts, 1_200), [200, 500, 500]);
    assert_eq!(allocate(&parts, 700), [0, 200, 500]);
}

#[test]
fn a_reservation_holds_while_earlier_parts_are_served() {
    let reserved = |reserve| {
        [
            flex(Some(7), 1_000),
            SizeRequest {
                reserve,
                ..flex(Some(1), 1_000)
            },
        ]
    };
    assert_eq!(allocate(&reserved(Reservation::Tokens(300)), 1_000), [700, 300]);
    assert_eq!(allocate(&reserved(Reservation::Part(4)), 1_000), [750, 250]);
    assert_eq!(allocate(&reserved(Reservation::None), 1_000), [1_000, 0]);
}

#[test]
fn parts_of_the_same_rank_share_by_basis_and_limited_ones_leave_the_rest() {
    let basis = |basis, limit| SizeRequest {
        basis,
        limit,
        ..SizeRequest::of_size(10_000)
    };
    assert_eq!(allocate(&[basis(1, None), basis(3, None)], 1_000), [250, 750]);
    assert_eq!(
        allocate(&[basis(1, Some(100)), basis(1, None), basis(1, None)], 1_000),
        [100, 450, 450]
    );
    assert_eq!(allocate(&[SizeRequest::of_size(10), basis(1, None)], 1_000), [10, 990]);
}

fn pruned(parts: Vec<PriorityNode>, budget: u64) -> Result<Vec<usize>, BudgetExceeded> {
    PriorityTree { parts }.prune(budget)
}

#[test]
fn pruning_order_the_lowest_priority_is_removed_first() {
    let parts = vec![
        PriorityNode::leaf(3, 0, 10),
        PriorityNode::leaf(1, 1, 10),
        PriorityNode::leaf(2, 2, 10),
    ];
    assert_eq!(pruned(parts.clone(), 30), Ok(vec![]));
    assert_eq!(pruned(parts.clone(), 25), Ok(vec![1]));
    assert_eq!(pruned(parts, 10), Ok(vec![1, 2]));
}

#[test]
fn pruning_order_priorities_are_compared_among_siblings_only() {
    let low_inside = PriorityNode::branch(9, vec![PriorityNode::leaf(1, 0, 10)]);
    assert_eq!(pruned(vec![low_inside, PriorityNode::leaf(5, 1, 10)], 10), Ok(vec![1]));
}

#[test]
fn pruning_order_children_of_a_transparent_node_compete_with_its_siblings() {
    let passing = PriorityNode::transparent(vec![PriorityNode::leaf(6, 0, 10), PriorityNode::leaf(1, 1, 10)]);
    assert_eq!(pruned(vec![PriorityNode::leaf(5, 2, 10), passing], 10), Ok(vec![1, 2]));
}

#[test]
fn pruning_order_nothing_before_the_last_breakpoint_is_removed() {
    let parts = vec![
        PriorityNode::leaf(1, 0, 10),
        PriorityNode::breakpoint(),
        PriorityNode::leaf(9, 1, 10),
        PriorityNode::leaf(8, 2, 10),
    ];
    assert_eq!(pruned(parts.clone(), 15), Ok(vec![2, 1]));
    assert_eq!(pruned(parts, 5), Err(BudgetExceeded { tokens: 10, limit: 5 }));
    let inside = vec![
        PriorityNode::leaf(1, 0, 10),
        PriorityNode::branch(5, vec![PriorityNode::leaf(1, 1, 10), PriorityNode::breakpoint()]),
    ];
    assert_eq!(pruned(inside, 15), Err(BudgetExceeded { tokens: 20, limit: 15 }));
}

#[test]
fn pruning_order_equal_priorities_compare_children_then_position() {
    let one = PriorityNode::branch(5, vec![PriorityNode::leaf(7, 0, 10)]);
    let other = PriorityNode::branch(5, vec![PriorityNode::leaf(3, 1, 10)]);
    assert_eq!(pruned(vec![one, other.clone()], 10), Ok(vec![1]));
    assert_eq!(pruned(vec![other, PriorityNode::leaf(5, 2, 10)], 10), Ok(vec![2]));
    assert_eq!(
        pruned(vec![PriorityNode::leaf(5, 3, 10), PriorityNode::leaf(5, 4, 10)], 10),
        Ok(vec![3])
    );
}

#[test]
fn pruning_order_a_chunk_is_removed_whole_and_others_lose_their_lowest() {
    let parts = || vec![PriorityNode::leaf(2, 0, 10), PriorityNode::leaf(1, 1, 10)];
    assert_eq!(pruned(vec![PriorityNode::chunk(5, parts())], 15), Ok(vec![0, 1]));
    assert_eq!(pruned(vec![PriorityNode::branch(5, parts())], 15), Ok(vec![1]));
}

#[test]
fn pruning_order_a_group_is_removed_together() {
    let parts = vec![
        PriorityNode::branch(
            9,
            vec![PriorityNode::grouped(1, 0, 10, 7), PriorityNode::leaf(1, 1, 10)],
        ),
        PriorityNode::grouped(2, 2, 10, 7),
    ];
    assert_eq!(pruned(parts, 20), Ok(vec![2, 0]));
}

#[test]
fn pruning_order_inner_limits_come_first() {
    let limited = PriorityNode::limited(9, vec![PriorityNode::leaf(2, 0, 10), PriorityNode::leaf(1, 1, 10)], 10);
    assert_eq!(
        pruned(vec![limited.clone(), PriorityNode::leaf(1, 2, 10)], 20),
        Ok(vec![1])
    );
    // A limit above the whole budget has no effect.
    let beyond = PriorityNode::limited(9, vec![PriorityNode::leaf(2, 0, 10), PriorityNode::leaf(1, 1, 10)], 100);
    assert_eq!(pruned(vec![beyond], 20), Ok(vec![]));
}

#[test]
fn pruning_order_older_turns_are_removed_first() {
    let turns = (0..4).map(|id| PriorityNode::leaf(0, id, 10)).collect();
    let parts = vec![PriorityNode::ascending(700, turns), PriorityNode::leaf(900, 9, 10)];
    assert_eq!(pruned(parts.clone(), 30), Ok(vec![0, 1]));
    assert_eq!(pruned(parts, 5), Ok(vec![0, 1, 2, 3, 9]));
}

#[test]
fn pruning_order_an_empty_branch_is_removed() {
    let parts = vec![
        PriorityNode::branch(1, vec![PriorityNode::leaf(1, 0, 10)]),
        PriorityNode::leaf(5, 1, 10),
    ];
    let mut tree = PriorityTree { parts };
    assert_eq!(tree.prune(10), Ok(vec![0]));
    assert_eq!(tree.parts.len(), 1);
}

fn grown(parts: Vec<PriorityNode>, budget: u64) -> Vec<(usize, u64)> {
    PriorityTree { parts }.grow(budget)
}

#[test]
fn expandable_parts_take_remaining_tokens_in_sending_order() {
    let parts = vec![
        PriorityNode::expandable(1, 0, 10, 50),
        PriorityNode::leaf(9, 1, 20),
        PriorityNode::expandable(9, 2, 10, 100),
    ];
    assert_eq!(grown(parts.clone(), 200), [(0, 50), (2, 100)]);
    assert_eq!(grown(parts.clone(), 100), [(0, 50), (2, 30)]);
    assert_eq!(grown(parts.clone(), 60), [(0, 30), (2, 10)]);
    // Without remaining tokens, nothing grows.
    assert_eq!(grown(parts, 30), [(0, 10), (2, 10)]);
}

#[test]
fn expandable_parts_grow_neither_beyond_an_inner_limit_nor_before_a_breakpoint() {
    let limited = PriorityNode::limited(9, vec![PriorityNode::expandable(1, 0, 10, 100)], 40);
    let parts = vec![limited, PriorityNode::expandable(9, 1, 10, 100)];
    assert_eq!(grown(parts.clone(), 100), [(0, 40), (1, 60)]);
    // A limit above the whole budget has no effect.
    assert_eq!(grown(parts, 30), [(0, 20), (1, 10)]);
    let cached = vec![
        PriorityNode::expandable(9, 0, 10, 100),
        PriorityNode::branch(9, vec![PriorityNode::breakpoint()]),
        PriorityNode::expandable(9, 1, 10, 100),
    ];
    assert_eq!(grown(cached, 60), [(1, 50)]);
}

#[test]
fn after_pruning_the_rest_may_grow_and_the_whole_still_fits() {
    let mut tree = PriorityTree {
        parts: vec![
            PriorityNode::leaf(1, 0, 60),
            PriorityNode::expandable(5, 1, 10, 500),
            PriorityNode::leaf(9, 2, 30),
        ],
    };
    assert_eq!(tree.prune(50), Ok(vec![0]));
    assert_eq!(tree.grow(50), [(1, 20)]);
    assert_eq!(tree.tokens(), 50);
}
