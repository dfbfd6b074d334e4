//! Rebuilds the messages of a recorded request. Messages shared with an earlier request are taken from there.

use model::Message;
use session::{BlobId, Item, ItemId, MessageRef, PromptRecord, RequestId, RequestRecord};
use std::collections::HashMap;
use std::sync::Arc;

/// Returns the message references and the frame of a request, or `None` if a request that it builds on is unknown.
pub fn request_layout(records: &[RequestRecord], request: RequestId) -> Option<(Vec<MessageRef>, BlobId)> {
    let by_id: HashMap<RequestId, &PromptRecord> = records
        .iter()
        .filter_map(|record| Some((record.id, record.prompt.as_ref()?)))
        .collect();
    let mut chain = vec![*by_id.get(&request)?];
    while let Some(base) = chain.last()?.base {
        // A chain longer than the number of requests is a cycle.
        let before = by_id.get(&base).filter(|_| chain.len() < by_id.len())?;
        chain.push(before);
    }
    let (mut references, mut frame) = (Vec::new(), None);
    for prompt in chain.into_iter().rev() {
        references.truncate(usize::try_from(prompt.shared_messages).ok()?);
        references.extend(prompt.messages.iter().cloned());
        frame = prompt.frame.clone().or(frame);
    }
    Some((references, frame?))
}

/// Returns the messages, or `None` if one is missing. `made` looks up messages that are in no item.
pub fn replay_messages(
    references: &[MessageRef],
    items: &[Arc<Item>],
    made: impl Fn(&BlobId) -> Option<Arc<Message>>,
) -> Option<Vec<Arc<Message>>> {
    let by_id: HashMap<ItemId, &Arc<Item>> = items.iter().map(|item| (item.id, item)).collect();
    let find = |references: &MessageRef| match references {
        MessageRef::Item(id, place) => by_id.get(id)?.messages().get(*place).cloned(),
        MessageRef::Blob(blob) => made(blob),
    };
    references.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Usage;
    use session::{Body, PromptDifference, Time};

    #[test]
    fn a_request_is_rebuilt_from_the_requests_it_extends() {
        let items: Vec<Arc<Item>> = ["a", "b", "c"]
            .map(|text| {
                Arc::new(Item {
                    id: ItemId::new(),
                    parent: None,
                    at: Time(0),
                    body: Body::Prompt {
                        message: Arc::new(Message::user(text)),
                    },
                })
            })
            .into();
        let record = |base: Option<RequestId>, shared: u64, references: Vec<MessageRef>| RequestRecord {
            id: RequestId::new(),
            item: None,
            purpose: "turn".into(),
            model: "m".into(),
            attempt: 1,
            at: Time(0),
            first_chunk: None,
            total: 0,
            usage: Usage::default(),
            cost: None,
            outcome: session::RequestEnd::Applied,
            sections: Vec::new(),
            facts: Default::default(),
            prompt: Some(PromptRecord {
                cached: 0,
                is_estimate: false,
                difference: PromptDifference::Extends,
                base,
                frame: base.is_none().then(|| BlobId("f".into())),
                frame_parts: Vec::new(),
                shared_messages: shared,
                messages: references,
                breakpoints: Vec::new(),
                cost: None,
            }),
        };
        let item = |place: usize| MessageRef::Item(items[place].id, 0);
        let first = record(None, 0, vec![item(0), MessageRef::Blob(BlobId("go".into()))]);
        let second = record(Some(first.id), 1, vec![item(1), item(2)]);
        let records = [first, second];
        let (references, frame) = request_layout(&records, records[1].id).unwrap();
        assert_eq!(
            (references.as_slice(), frame),
            (&[item(0), item(1), item(2)][..], BlobId("f".into()))
        );
        let texts = |references: &[MessageRef]| -> Option<Vec<String>> {
            let made = |_: &BlobId| Some(Arc::new(Message::user("continue")));
            Some(
                replay_messages(references, &items, made)?
                    .iter()
                    .map(|message| message.text())
                    .collect(),
            )
        };
        assert_eq!(texts(&references).unwrap(), ["a", "b", "c"]);
        let (references, _) = request_layout(&records, records[0].id).unwrap();
        assert_eq!(texts(&references).unwrap(), ["a", "continue"]);
        assert_eq!(
            request_layout(&records[1..], records[1].id),
            None,
            "what it builds on is not known"
        );
        assert_eq!(texts(&[MessageRef::Item(ItemId::new(), 0)]), None);
    }
}
