//! The items of a session, and everything derived from them.

use crate::compaction::CompactionState;
use crate::panels::PanelTracker;
use crate::project_context::DeliveredNotesCache;
use crate::session::Environment;
use crate::titles::SessionTitle;
use crate::todos::newest_todos;
use futures::FutureExt as _;
use futures::future::Shared;
use model::Message;
use session::{Body, Error, Item, ItemId, QueuedPromptId, Receipt, Todo};
use std::sync::Arc;
use tool::ToolNotification;

/// The items of a session, and everything derived from them.
pub(crate) struct Conversation {
    /// From the first item to the head.
    pub(crate) items: Vec<Arc<Item>>,
    /// Changes whenever earlier results become invisible to the model.
    pub(crate) view: u64,
    pub(crate) title: SessionTitle,
    pub(crate) todos: Vec<Todo>,
    /// The items already rendered for the model.
    pub(crate) layout: prompt::LayoutCache,
    pub(crate) notes: DeliveredNotesCache,
    /// Texts of hooks for the next prompt.
    pub(crate) hook_context: Vec<String>,
    pub(crate) compaction: CompactionState,
    pub(crate) panels: PanelTracker,
    /// Effects of the newest result that are not applied yet.
    pub(crate) effects: PendingEffects,
    /// The pending write of the newest item.
    write: Option<Shared<Receipt>>,
    /// The number of items sent to the front end.
    sent: usize,
}

/// Effects of a result. They are applied when the result is stored, even if the turn is interrupted meanwhile.
#[derive(Default)]
pub(crate) struct PendingEffects {
    pub(crate) todos: Option<Vec<Todo>>,
    pub(crate) mode: Option<String>,
}

impl Conversation {
    pub(crate) fn new(items: Vec<Arc<Item>>, title: Option<String>) -> Self {
        Conversation {
            view: 0,
            title: SessionTitle::new(title),
            todos: newest_todos(&items),
            layout: prompt::LayoutCache::default(),
            notes: DeliveredNotesCache::default(),
            hook_context: Vec::new(),
            compaction: CompactionState::default(),
            panels: PanelTracker::default(),
            effects: PendingEffects::default(),
            write: None,
            sent: items.len(),
            items,
        }
    }

    /// The newest item.
    pub(crate) fn head(&self) -> Option<ItemId> {
        self.items.last().map(|item| item.id)
    }

    /// Appends an item, waits until it is durable, and sends it to the front end.
    ///
    /// The write starts at the first poll: the item is part of the conversation from then on, even if this future is
    /// dropped before the item is durable. [`Conversation::confirm`] then waits for the write.
    pub(crate) async fn append(&mut self, env: &Environment, id: ItemId, body: Body) -> Result<(), Error> {
        self.append_queued(env, id, body, None).await
    }

    /// Appends an item and removes the queued prompt it was made from.
    pub(crate) async fn append_queued(
        &mut self,
        env: &Environment,
        id: ItemId,
        body: Body,
        queued: Option<QueuedPromptId>,
    ) -> Result<(), Error> {
        let item = Arc::new(Item {
            id,
            parent: self.head(),
            at: env.now(),
            body,
        });
        match &item.body {
            Body::Summary { .. } => {
                self.view += 1;
                self.compaction.reset();
            }
            Body::Panels {
                elision: Some(elision), ..
            } if *elision != prompt::current_elision(&self.items) => {
                self.view += 1;
                self.compaction.invalidate_count();
            }
            _ => {}
        }
        let (store, added) = (&env.config.store, Arc::clone(&item));
        let receipt = match queued {
            Some(queued) => store.append_queued(env.session, added, queued),
            None => store.append(env.session, added),
        };
        self.write = Some(receipt.shared());
        self.compaction.add_item(&item);
        self.items.push(item);
        self.confirm().await?;
        self.send_finished_items(env).await;
        Ok(())
    }

    /// Waits until the newest item is durable, and removes it if it cannot be stored.
    pub(crate) async fn confirm(&mut self) -> Result<(), Error> {
        let Some(receipt) = self.write.clone() else {
            return Ok(());
        };
        let stored = receipt.await;
        self.write = None;
        if stored.is_err() {
            self.items.pop();
            self.view += 1;
            self.effects = PendingEffects::default();
        }
        stored
    }

    /// Sends the items that the front end has not received.
    pub(crate) async fn send_finished_items(&mut self, env: &Environment) {
        env.events.send_items(&self.items, &mut self.sent).await;
    }

    /// Appends a prompt.
    pub(crate) async fn append_prompt(&mut self, env: &Environment, message: Message) -> Result<(), Error> {
        let message = Arc::new(message);
        self.append(env, ItemId::new(), Body::Prompt { message }).await
    }

    /// Appends notifications of background work as one item.
    pub(crate) async fn append_notifications(
        &mut self,
        env: &Environment,
        notifications: Vec<ToolNotification>,
    ) -> Result<(), Error> {
        let texts = notifications.iter().map(|it| (it.source.as_str(), it.text.as_str()));
        let message = Arc::new(prompt::notification_message(texts));
        let sources: Vec<String> = notifications.into_iter().map(|it| it.source).collect();
        let source = sources.join(", ");
        self.append(env, ItemId::new(), Body::Notification { message, source })
            .await
    }

    /// Removes the items after the first `len` ones.
    pub(crate) fn rewind(&mut self, len: usize) {
        self.items.truncate(len);
        self.compaction.reset();
        self.view += 1;
        self.sent = self.sent.min(len);
        self.todos = newest_todos(&self.items);
    }
}
