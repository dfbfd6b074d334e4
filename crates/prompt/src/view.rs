//! The items that the model sees: after a summary, the summary stands for what came before.

use session::{Body, Item};
use std::sync::Arc;

/// The items that the model sees, oldest first.
///
/// The newest summary comes first, then the items before it that it left as they are, then all that came after it.
pub fn view(items: &[Arc<Item>]) -> impl Iterator<Item = &Arc<Item>> + Clone {
    let at = items.iter().rposition(|item| matches!(item.body, Body::Summary { .. }));
    let (summary, kept, after) = match at {
        None => (None, &items[..0], items),
        Some(at) => (Some(&items[at]), &items[kept_from(items, at)..at], &items[at + 1..]),
    };
    let kept = kept.iter().filter(|item| !matches!(item.body, Body::Summary { .. }));
    summary.into_iter().chain(kept).chain(after)
}

/// Where the items begin that the summary at this place left as they are.
fn kept_from(items: &[Arc<Item>], at: usize) -> usize {
    match &items[at].body {
        Body::Summary { kept: Some(kept), .. } => items[..at].iter().rposition(|item| item.id == *kept).unwrap_or(at),
        Body::Summary { kept: None, .. }
        | Body::Prompt { .. }
        | Body::Reply { .. }
        | Body::Result { .. }
        | Body::Notice { .. }
        | Body::Wake { .. }
        | Body::Todos { .. }
        | Body::Panels { .. }
        | Body::Mode { .. }
        | Body::Review { .. }
        | Body::Restored { .. } => at,
    }
}
