//! Keys and what they do, made from the key map.

use super::list::{Act, Fetch, Source};
use crate::keys::{BINDINGS, Binding, Context};
use crate::row::Row;
use crate::view::{Cx, Place, Wish};

/// Every key.
pub(crate) struct Help;

impl Source for Help {
    type Entry = &'static Binding;

    fn title(&self) -> String {
        "Keys".into()
    }

    fn place(&self) -> Place {
        Place::Full
    }

    fn fetch(&mut self, _: &Cx<'_>) -> Fetch<&'static Binding> {
        Fetch::Now(BINDINGS.iter().collect())
    }

    fn name(&self, binding: &&'static Binding) -> String {
        binding.says.replace('`', "")
    }

    fn about(&self, binding: &&'static Binding, cx: &Cx<'_>) -> (Row, Row) {
        let place = binding.context.title();
        let keys = cx.keys.keys(binding.deed).join("  ");
        (Row::of(keys, cx.theme.accent), Row::of(place, cx.theme.dim))
    }

    fn verb(&self) -> &'static str {
        "do it"
    }

    fn choose(&mut self, binding: &&'static Binding, _: &Cx<'_>) -> Act {
        match binding.context {
            Context::Everywhere | Context::Composer | Context::Conversation => Act::CloseAnd(Wish::Act(binding.deed)),
            Context::Completion | Context::Approval | Context::List | Context::Changes => Act::Close,
        }
    }
}
