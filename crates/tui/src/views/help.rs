//! Keys and their actions, from the key map.

use super::list::{ListItems, ListResponse, ListSource};
use crate::action::AppAction;
use crate::keys::{BINDINGS, KeyBinding, KeyContext};
use crate::row::StyledRow;
use crate::view::{ViewContext, ViewPlacement};

/// All keys.
pub(crate) struct HelpPicker;

impl ListSource for HelpPicker {
    type Item = &'static KeyBinding;

    fn title(&self) -> String {
        "Keys".into()
    }

    fn placement(&self) -> ViewPlacement {
        ViewPlacement::Full
    }

    fn load(&mut self, _: &ViewContext<'_>) -> ListItems<&'static KeyBinding> {
        ListItems::Ready(BINDINGS.iter().collect())
    }

    fn name(&self, binding: &&'static KeyBinding) -> String {
        binding.description.replace('`', "")
    }

    fn columns(&self, binding: &&'static KeyBinding, cx: &ViewContext<'_>) -> (StyledRow, StyledRow) {
        let place = binding.context.title();
        let keys = cx.keys.keys(binding.action).join("  ");
        (
            StyledRow::new(keys, cx.theme.accent),
            StyledRow::new(place, cx.theme.dim),
        )
    }

    fn choose_label(&self) -> &'static str {
        "run"
    }

    fn choose(&mut self, binding: &&'static KeyBinding, _: &ViewContext<'_>) -> ListResponse {
        match binding.context {
            KeyContext::Everywhere | KeyContext::Composer | KeyContext::Conversation => {
                ListResponse::close_and(AppAction::Key(binding.action))
            }
            KeyContext::Completion | KeyContext::Approval | KeyContext::List | KeyContext::Changes => {
                ListResponse::close()
            }
        }
    }
}
