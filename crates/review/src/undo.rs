//! Undo and redo: reverts the file changes of turns, or applies them again.

use crate::history::{RecordedTurn, undo_history};
use crate::restore::{VersionMove, reverted};
use crate::{ConflictPolicy, Error, RestorePlan, SessionHistory, VersionContents};
use model::Message;
use session::{Body, ItemId, RestoreKind, Time};
use std::sync::Arc;

/// An undo or redo of turns.
pub struct UndoOperation {
    kind: RestoreKind,
    /// The items with the reverted changes.
    items: Vec<ItemId>,
    turns: Vec<RecordedTurn>,
    moves: Vec<VersionMove>,
    /// The start of the note for the model.
    note: String,
}

impl UndoOperation {
    /// Undoes the last `count` turns with changes; `None` if there are none.
    pub fn undo(history: &SessionHistory, count: usize) -> Option<Self> {
        let mut turns = undo_history(&history.items).applied;
        turns.retain(|turn| !turn.changes.is_empty());
        let turns = turns.split_off(turns.len().saturating_sub(count));
        let note = match turns.len() {
            0 => return None,
            1 => "The user undid the changes of the last turn".to_owned(),
            many => format!("The user undid the changes of the last {many} turns"),
        };
        Some(UndoOperation {
            kind: RestoreKind::Undo,
            items: turns.iter().map(|turn| turn.id).collect(),
            moves: reverted(turns.iter().flat_map(|turn| &turn.changes)),
            turns,
            note,
        })
    }

    /// Undoes the turns with changes from this prompt on; `None` if there are none.
    pub fn undo_since(history: &SessionHistory, prompt: ItemId) -> Option<Self> {
        let start = history.items.iter().position(|item| item.id == prompt)?;
        let later: Vec<ItemId> = history.items.iter().skip(start).map(|item| item.id).collect();
        let turns = undo_history(&history.items).applied;
        let count = turns
            .iter()
            .filter(|turn| !turn.changes.is_empty() && later.contains(&turn.id))
            .count();
        (count > 0).then(|| UndoOperation::undo(history, count)).flatten()
    }

    /// Redoes the last `count` undos; `None` if there are none.
    pub fn redo(history: &SessionHistory, count: usize) -> Option<Self> {
        let mut undone = undo_history(&history.items).undone;
        let undone = undone.split_off(undone.len().saturating_sub(count));
        if undone.is_empty() {
            return None;
        }
        Some(UndoOperation {
            kind: RestoreKind::Redo,
            items: undone.iter().map(|undone| undone.id).collect(),
            moves: reverted(undone.iter().flat_map(|undone| &undone.changes)),
            turns: undone.into_iter().flat_map(|undone| undone.turns).collect(),
            note: "The user redid changes that had been undone".to_owned(),
        })
    }

    /// The items with the reverted changes.
    pub fn items(&self) -> &[ItemId] {
        &self.items
    }

    /// The prompts of the turns.
    pub fn prompts(&self) -> Vec<&str> {
        self.turns.iter().map(|turn| turn.prompt.as_str()).collect()
    }

    /// Computes the steps, and the contents that they need.
    pub async fn plan(
        &self,
        history: &SessionHistory,
        policy: ConflictPolicy,
    ) -> Result<(RestorePlan, VersionContents), Error> {
        history.plan(&self.moves, policy).await
    }

    /// Changes the files and returns the item that records it.
    pub fn apply(
        self,
        history: &SessionHistory,
        mut plan: RestorePlan,
        contents: &VersionContents,
    ) -> Result<(RestorePlan, Body), Error> {
        history.apply(&mut plan, contents)?;
        let body = Body::Restored {
            message: Arc::new(Message::user(plan.model_note(&self.note))),
            kind: self.kind,
            items: self.items,
            changes: plan.changes(),
        };
        Ok((plan, body))
    }

    /// Changes the files and appends the item that records it.
    pub async fn apply_and_record(
        self,
        history: &mut SessionHistory,
        plan: RestorePlan,
        contents: &VersionContents,
        now: Time,
    ) -> Result<RestorePlan, Error> {
        let (plan, body) = self.apply(history, plan, contents)?;
        history.append(body, now).await?;
        Ok(plan)
    }
}

#[cfg(test)]
mod tests;
