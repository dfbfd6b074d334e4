//! What is allowed: the rules, the answers that are remembered, and taking one back.

use super::list::{Act, Fetch, Source};
use crate::house::Rule;
use crate::keys::Deed;
use crate::row::Row;
use crate::view::{Cx, Place};

/// Rules and remembered answers.
pub(crate) struct Permissions;

impl Source for Permissions {
    type Entry = Rule;

    fn title(&self) -> String {
        "Permissions".into()
    }

    fn place(&self) -> Place {
        Place::Full
    }

    fn fetch(&mut self, cx: &Cx<'_>) -> Fetch<Rule> {
        Fetch::Later(cx.fetch(cx.house.rules()))
    }

    fn name(&self, rule: &Rule) -> String {
        rule.rule.clone()
    }

    fn sign(&self, rule: &Rule, cx: &Cx<'_>) -> Option<Row> {
        let style = match rule.effect.as_str() {
            "allow" => cx.theme.good,
            "deny" => cx.theme.bad,
            _ => cx.theme.warn,
        };
        Some(Row::of(format!("{:<6}", rule.effect), style))
    }

    fn about(&self, rule: &Rule, cx: &Cx<'_>) -> (Row, Row) {
        (Row::empty(), Row::of(&*rule.origin, cx.theme.dim))
    }

    fn choose(&mut self, _: &Rule, _: &Cx<'_>) -> Act {
        Act::Stay
    }

    fn act(&mut self, deed: Deed, rule: &Rule, cx: &Cx<'_>) -> Option<Act> {
        (deed == Deed::Revoke && rule.revocable).then(|| Act::Await(cx.fetch(cx.house.revoke(rule.rule.clone()))))
    }

    fn hints(&self) -> &'static [Deed] {
        &[Deed::Close, Deed::Revoke]
    }

    fn empty(&self) -> &'static str {
        "no rules and no remembered answers; the permission level decides alone"
    }
}
