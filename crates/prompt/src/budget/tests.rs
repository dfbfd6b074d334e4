//! What is left out, and in which order.

use super::*;
use model::{Features, Limits, Outcome, Role, Wire};

fn info(window: u64) -> Info {
    Info {
        provider: "p".into(),
        id: "gpt-5".into(),
        wire: Wire::OpenaiChat,
        limits: Limits { window, output: 1_000 },
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
        // Without tools nothing is taken off.
        (200_000, None, 0, Some(200_000)),
        (1_000, None, 5_000, Some(0)),
    ] {
        let made = Budget::of(&info(window), threshold, tools).map(|budget| budget.tokens);
        assert_eq!(made, budget, "{window} {threshold:?} {tools}");
    }
}

fn result(text: &str) -> Arc<Message> {
    let part = Part::ToolResult {
        id: "1".into(),
        name: "f".into(),
        content: vec![Block::text(text)],
        outcome: Outcome::Ok,
    };
    Arc::new(Message {
        role: Role::User,
        parts: vec![part],
    })
}

#[test]
fn a_tool_result_takes_at_most_half_of_the_budget_40_percent_its_head_and_60_its_tail() {
    let budget = Budget {
        family: Family::O200k,
        tokens: 2_000,
    };
    assert_eq!(budget.bound_result(&result(&"word ".repeat(900))), None);
    let text: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
    let cut = budget.bound_result(&result(&text)).unwrap();
    let said = result_text(&cut.parts[0]).unwrap();
    assert!(
        Family::O200k.estimate(said) <= 1_040,
        "{}",
        Family::O200k.estimate(said)
    );
    let (head, rest) = said.split_once("\n[… ").unwrap();
    let (note, tail) = rest.split_once(" …]\n").unwrap();
    assert!(text.starts_with(head) && text.ends_with(tail));
    assert!(note.ends_with("of 98890 bytes left out for lack of room"), "{note}");
    let percent = head.len() * 100 / (head.len() + tail.len());
    assert_eq!(percent, 39, "{} {}", head.len(), tail.len());
}

#[test]
fn what_is_cut_is_cut_between_characters() {
    let text = "äöü".repeat(100);
    for bytes in 0..40 {
        let short = cut(&text, bytes);
        assert!(short.contains("left out"), "{short}");
    }
    assert_eq!(cut("short", 5), "short");
}

fn flex(grow: Option<u32>, wants: u64) -> Flex {
    Flex {
        grow,
        ..Flex::wanting(wants)
    }
}

#[test]
fn parts_that_grow_more_are_seen_to_first_and_those_without_a_figure_before_them() {
    let parts = [flex(Some(1), 500), flex(Some(7), 500), flex(None, 500)];
    assert_eq!(lay_out(&parts, 1_200), [200, 500, 500]);
    assert_eq!(lay_out(&parts, 700), [0, 200, 500]);
}

#[test]
fn a_reserve_is_put_aside_while_earlier_parts_are_seen_to() {
    let reserved = |reserve| {
        [
            flex(Some(7), 1_000),
            Flex {
                reserve,
                ..flex(Some(1), 1_000)
            },
        ]
    };
    assert_eq!(lay_out(&reserved(Reserve::Tokens(300)), 1_000), [700, 300]);
    assert_eq!(lay_out(&reserved(Reserve::Part(4)), 1_000), [750, 250]);
    assert_eq!(lay_out(&reserved(Reserve::None), 1_000), [1_000, 0]);
}

#[test]
fn parts_that_grow_alike_share_by_their_basis_and_a_limited_one_leaves_the_rest_to_the_others() {
    let basis = |basis, limit| Flex {
        basis,
        limit,
        ..Flex::wanting(10_000)
    };
    assert_eq!(lay_out(&[basis(1, None), basis(3, None)], 1_000), [250, 750]);
    assert_eq!(
        lay_out(&[basis(1, Some(100)), basis(1, None), basis(1, None)], 1_000),
        [100, 450, 450]
    );
    assert_eq!(lay_out(&[Flex::wanting(10), basis(1, None)], 1_000), [10, 990]);
}

fn pruned(parts: Vec<Node>, budget: u64) -> Result<Vec<usize>, Exceeded> {
    Tree { parts }.prune(budget)
}

#[test]
fn pruning_order_the_lowest_priority_leaves_first() {
    let parts = vec![Node::leaf(3, 0, 10), Node::leaf(1, 1, 10), Node::leaf(2, 2, 10)];
    assert_eq!(pruned(parts.clone(), 30), Ok(vec![]));
    assert_eq!(pruned(parts.clone(), 25), Ok(vec![1]));
    assert_eq!(pruned(parts, 10), Ok(vec![1, 2]));
}

#[test]
fn pruning_order_priorities_are_compared_among_siblings_only() {
    let low_inside = Node::branch(9, vec![Node::leaf(1, 0, 10)]);
    assert_eq!(pruned(vec![low_inside, Node::leaf(5, 1, 10)], 10), Ok(vec![1]));
}

#[test]
fn pruning_order_parts_of_a_passing_container_compete_with_its_siblings() {
    let passing = Node::passing(vec![Node::leaf(6, 0, 10), Node::leaf(1, 1, 10)]);
    assert_eq!(pruned(vec![Node::leaf(5, 2, 10), passing], 10), Ok(vec![1, 2]));
}

#[test]
fn pruning_order_nothing_before_the_last_breakpoint_leaves() {
    let parts = vec![
        Node::leaf(1, 0, 10),
        Node::breakpoint(),
        Node::leaf(9, 1, 10),
        Node::leaf(8, 2, 10),
    ];
    assert_eq!(pruned(parts.clone(), 15), Ok(vec![2, 1]));
    assert_eq!(pruned(parts, 5), Err(Exceeded { tokens: 10, limit: 5 }));
    let inside = vec![
        Node::leaf(1, 0, 10),
        Node::branch(5, vec![Node::leaf(1, 1, 10), Node::breakpoint()]),
    ];
    assert_eq!(pruned(inside, 15), Err(Exceeded { tokens: 20, limit: 15 }));
}

#[test]
fn pruning_order_of_equals_the_one_with_the_lower_parts_leaves_then_the_first() {
    let one = Node::branch(5, vec![Node::leaf(7, 0, 10)]);
    let other = Node::branch(5, vec![Node::leaf(3, 1, 10)]);
    assert_eq!(pruned(vec![one, other.clone()], 10), Ok(vec![1]));
    assert_eq!(pruned(vec![other, Node::leaf(5, 2, 10)], 10), Ok(vec![2]));
    assert_eq!(
        pruned(vec![Node::leaf(5, 3, 10), Node::leaf(5, 4, 10)], 10),
        Ok(vec![3])
    );
}

#[test]
fn pruning_order_a_chunk_leaves_whole_and_other_parts_lose_their_lowest() {
    let parts = || vec![Node::leaf(2, 0, 10), Node::leaf(1, 1, 10)];
    assert_eq!(pruned(vec![Node::chunk(5, parts())], 15), Ok(vec![0, 1]));
    assert_eq!(pruned(vec![Node::branch(5, parts())], 15), Ok(vec![1]));
}

#[test]
fn pruning_order_what_is_kept_with_something_leaves_with_it() {
    let parts = vec![
        Node::branch(9, vec![Node::kept_with(1, 0, 10, 7), Node::leaf(1, 1, 10)]),
        Node::kept_with(2, 2, 10, 7),
    ];
    assert_eq!(pruned(parts, 20), Ok(vec![2, 0]));
}

#[test]
fn pruning_order_inner_limits_come_first() {
    let limited = Node::limited(9, vec![Node::leaf(2, 0, 10), Node::leaf(1, 1, 10)], 10);
    assert_eq!(pruned(vec![limited.clone(), Node::leaf(1, 2, 10)], 20), Ok(vec![1]));
    // A limit beyond the whole budget is none.
    let beyond = Node::limited(9, vec![Node::leaf(2, 0, 10), Node::leaf(1, 1, 10)], 100);
    assert_eq!(pruned(vec![beyond], 20), Ok(vec![]));
}

#[test]
fn pruning_order_older_turns_of_an_ascending_list_leave_first() {
    let turns = (0..4).map(|id| Node::leaf(0, id, 10)).collect();
    let parts = vec![Node::ascending(700, turns), Node::leaf(900, 9, 10)];
    assert_eq!(pruned(parts.clone(), 30), Ok(vec![0, 1]));
    assert_eq!(pruned(parts, 5), Ok(vec![0, 1, 2, 3, 9]));
}

#[test]
fn pruning_order_a_part_that_lost_all_its_parts_is_gone_too() {
    let parts = vec![Node::branch(1, vec![Node::leaf(1, 0, 10)]), Node::leaf(5, 1, 10)];
    let mut tree = Tree { parts };
    assert_eq!(tree.prune(10), Ok(vec![0]));
    assert_eq!(tree.parts.len(), 1);
}

fn grown(parts: Vec<Node>, budget: u64) -> Vec<(usize, u64)> {
    Tree { parts }.grow(budget)
}

#[test]
fn expandable_parts_take_what_is_left_over_in_the_order_in_which_they_are_sent() {
    let parts = vec![
        Node::expandable(1, 0, 10, 50),
        Node::leaf(9, 1, 20),
        Node::expandable(9, 2, 10, 100),
    ];
    assert_eq!(grown(parts.clone(), 200), [(0, 50), (2, 100)]);
    assert_eq!(grown(parts.clone(), 100), [(0, 50), (2, 30)]);
    assert_eq!(grown(parts.clone(), 60), [(0, 30), (2, 10)]);
    // Where nothing is left over, nobody grows.
    assert_eq!(grown(parts, 30), [(0, 10), (2, 10)]);
}

#[test]
fn expandable_parts_grow_neither_beyond_an_inner_limit_nor_before_a_breakpoint() {
    let limited = Node::limited(9, vec![Node::expandable(1, 0, 10, 100)], 40);
    let parts = vec![limited, Node::expandable(9, 1, 10, 100)];
    assert_eq!(grown(parts.clone(), 100), [(0, 40), (1, 60)]);
    // A limit beyond the whole budget is none.
    assert_eq!(grown(parts, 30), [(0, 20), (1, 10)]);
    let cached = vec![
        Node::expandable(9, 0, 10, 100),
        Node::branch(9, vec![Node::breakpoint()]),
        Node::expandable(9, 1, 10, 100),
    ];
    assert_eq!(grown(cached, 60), [(1, 50)]);
}

#[test]
fn after_pruning_the_rest_may_grow_and_the_whole_still_fits() {
    let mut tree = Tree {
        parts: vec![
            Node::leaf(1, 0, 60),
            Node::expandable(5, 1, 10, 500),
            Node::leaf(9, 2, 30),
        ],
    };
    assert_eq!(tree.prune(50), Ok(vec![0]));
    assert_eq!(tree.grow(50), [(1, 20)]);
    assert_eq!(tree.tokens(), 50);
}
