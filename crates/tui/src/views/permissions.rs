//! Permission rules and saved answers.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::backend::{PermissionRow, Revocation};
use crate::keys::KeyAction;
use crate::row::StyledRow;
use crate::view::{ViewContext, ViewPlacement};
use session::Command;

/// Permission rules and saved answers.
pub(crate) struct PermissionPicker;

impl ListSource for PermissionPicker {
    type Item = PermissionRow;

    fn title(&self) -> String {
        "Permissions".into()
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, cx: &ViewContext<'_>) -> ListItems<PermissionRow> {
        ListItems::Pending(cx.start(cx.backend.permission_rules()))
    }

    fn name(&self, rule: &PermissionRow) -> String {
        rule.rule.clone()
    }

    fn marker(&self, rule: &PermissionRow, cx: &ViewContext<'_>) -> Option<StyledRow> {
        let style = match rule.effect.as_str() {
            "allow" => cx.theme.good,
            "deny" => cx.theme.bad,
            _ => cx.theme.warn,
        };
        Some(StyledRow::new(format!("{:<6}", rule.effect), style))
    }

    fn columns(&self, rule: &PermissionRow, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        (StyledRow::empty(), StyledRow::new(&*rule.origin, cx.theme.dim))
    }

    fn choose(&mut self, _: &PermissionRow, _: &ViewContext<'_>) -> ListResponse {
        ListResponse::Stay
    }

    fn perform(&mut self, action: KeyAction, rule: &PermissionRow, cx: &ViewContext<'_>) -> Option<ListResponse> {
        if action != KeyAction::Revoke {
            return None;
        }
        let rule_text = rule.rule.clone();
        match rule.revocation {
            Revocation::None => None,
            Revocation::Stored => Some(ListResponse::Await(cx.start(cx.backend.revoke_rule(rule_text)))),
            Revocation::Session => Some(ListResponse::Act(AppAction::Send(Command::Revoke { rule: rule_text }))),
        }
    }

    fn key_hints(&self) -> &'static [KeyAction] {
        &[KeyAction::Close, KeyAction::Revoke]
    }

    fn is_live(&self) -> bool {
        true
    }

    fn empty_text(&self) -> &'static str {
        "no rules or saved answers; `hew permissions add` adds rules"
    }
}
