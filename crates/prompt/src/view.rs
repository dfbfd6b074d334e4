//! What the model sees of a log: after a summary, the summary stands for what came before; after a fold, older parts are shown
//! in the form that the fold says.

use crate::budget::cut_message;
use crate::history;
use session::{Body, Fold, Item, ItemId};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The items that the model sees, oldest first, folds left aside.
///
/// The newest summary comes first, then the items before it that it left as they are, then all that came after it.
pub fn view(items: &[Arc<Item>]) -> impl Iterator<Item = &Arc<Item>> + Clone {
    let at = items.iter().rposition(|item| matches!(item.body, Body::Summary { .. }));
    let (summary, kept, after) = match at {
        None => (None, &items[..0], items),
        Some(at) => (Some(&items[at]), &items[kept_from(items, at)..at], &items[at + 1..]),
    };
    // Panels that were shown before a summary are shown anew after it.
    let kept = kept
        .iter()
        .filter(|item| !matches!(item.body, Body::Summary { .. } | Body::Panels { .. }));
    summary.into_iter().chain(kept).chain(after)
}

/// Whether the model sees everything before this item in another form than before.
pub(crate) fn is_boundary(item: &Item) -> bool {
    matches!(item.body, Body::Summary { .. } | Body::Panels { fold: Some(_), .. })
}

/// What the model sees, oldest first, each item in the form in which it sees it.
///
/// After a fold: the summary, the panels of history, the panels, what came before the fold, what came after it.
pub fn folded(items: &[Arc<Item>]) -> Vec<Arc<Item>> {
    let seen: Vec<&Arc<Item>> = view(items).collect();
    let at = seen.iter().rposition(|item| is_fold(item));
    let fold = at.and_then(|at| match &seen[at].body {
        Body::Panels { fold: Some(fold), .. } => Some(fold),
        _ => None,
    });
    match (at, fold) {
        (Some(at), Some(fold)) => lay_out(&seen[..at], Some(seen[at]), fold, &seen[at + 1..]),
        _ => seen.into_iter().cloned().collect(),
    }
}

/// What the model would see if everything up to now were folded so. Panels would be shown anew and are left out.
pub fn folded_so(items: &[Arc<Item>], fold: &Fold) -> Vec<Arc<Item>> {
    let seen: Vec<&Arc<Item>> = view(items).collect();
    lay_out(&seen, None, fold, &[])
}

/// The fold in force; one that changes nothing where there is none.
pub fn fold_in_force(items: &[Arc<Item>]) -> Fold {
    let newest = items.iter().rev().find(|item| is_boundary(item));
    match newest.map(|item| &item.body) {
        Some(Body::Panels { fold: Some(fold), .. }) => fold.clone(),
        _ => Fold::default(),
    }
}

fn is_fold(item: &Item) -> bool {
    matches!(item.body, Body::Panels { fold: Some(_), .. })
}

fn lay_out(before: &[&Arc<Item>], panels: Option<&Arc<Item>>, fold: &Fold, after: &[&Arc<Item>]) -> Vec<Arc<Item>> {
    let form = Forms::of(fold);
    let mut out: Vec<Arc<Item>> = Vec::with_capacity(before.len() + after.len() + 1);
    let summary = before.iter().filter(|item| matches!(item.body, Body::Summary { .. }));
    out.extend(summary.map(|item| Arc::clone(item)));
    let mut rest = Vec::new();
    let mut chunk: Option<(ItemId, Vec<&Arc<Item>>)> = None;
    for &item in before {
        if matches!(item.body, Body::Summary { .. } | Body::Panels { .. }) {
            continue;
        }
        if chunk.is_none()
            && let Some(last) = form.chunks.get(&item.id)
        {
            chunk = Some((*last, Vec::new()));
        }
        match chunk.take() {
            Some((last, mut members)) => {
                members.push(item);
                match item.id == last {
                    true if members.first().is_some_and(|first| form.gone.contains(&first.id)) => {}
                    true => out.push(history::panel(&members, &form.brief)),
                    false => chunk = Some((last, members)),
                }
            }
            None => rest.extend(form.shown(item)),
        }
    }
    // A chunk whose end is not there any more, as after going back.
    if let Some((_, members)) = chunk {
        rest.extend(members.into_iter().filter_map(|item| form.shown(item)));
    }
    out.extend(panels.cloned());
    out.extend(rest);
    out.extend(after.iter().map(|item| Arc::clone(item)));
    out
}

/// A fold, for looking up.
struct Forms {
    chunks: HashMap<ItemId, ItemId>,
    brief: HashSet<ItemId>,
    gone: HashSet<ItemId>,
    cut: HashMap<ItemId, u64>,
}

impl Forms {
    fn of(fold: &Fold) -> Self {
        Forms {
            chunks: fold.history.iter().copied().collect(),
            brief: fold.brief.iter().copied().collect(),
            gone: fold.gone.iter().copied().collect(),
            cut: fold.cut.iter().copied().collect(),
        }
    }

    /// The item in its form; `None` where it is not shown.
    fn shown(&self, item: &Arc<Item>) -> Option<Arc<Item>> {
        if self.gone.contains(&item.id) {
            return None;
        }
        if self.brief.contains(&item.id) {
            return Some(history::brief(item));
        }
        match self.cut.get(&item.id) {
            Some(bytes) => Some(cut(item, *bytes)),
            None => Some(Arc::clone(item)),
        }
    }
}

fn cut(item: &Arc<Item>, bytes: u64) -> Arc<Item> {
    let mut short = Item::clone(item);
    if let Body::Prompt { message }
    | Body::Reply { message, .. }
    | Body::Result { message, .. }
    | Body::Restored { message, .. }
    | Body::Summary { message, .. }
    | Body::Wake { message, .. } = &mut short.body
    {
        *message = Arc::new(cut_message(message, usize::try_from(bytes).unwrap_or(usize::MAX)));
    }
    Arc::new(short)
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
