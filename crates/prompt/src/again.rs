//! How the messages of a request are found again: what it shares with the one before it is found there.

use model::Message;
use session::{BlobId, Item, ItemId, Prompt, Record, RequestId, Said};
use std::collections::HashMap;
use std::sync::Arc;

/// Where the messages and the frame of this request are found; nothing where one that it builds on is not known.
pub fn laid_out(records: &[Record], request: RequestId) -> Option<(Vec<Said>, BlobId)> {
    let by_id: HashMap<RequestId, &Prompt> = records
        .iter()
        .filter_map(|record| Some((record.id, record.prompt.as_ref()?)))
        .collect();
    let mut chain = vec![*by_id.get(&request)?];
    while let Some(base) = chain.last()?.base {
        // A chain that is longer than there are requests bites its own tail.
        let before = by_id.get(&base).filter(|_| chain.len() < by_id.len())?;
        chain.push(before);
    }
    let (mut said, mut frame) = (Vec::new(), None);
    for prompt in chain.into_iter().rev() {
        said.truncate(usize::try_from(prompt.shared).ok()?);
        said.extend(prompt.said.iter().cloned());
        frame = prompt.frame.clone().or(frame);
    }
    Some((said, frame?))
}

/// The messages themselves; nothing where one is missing. `made` finds those that stand in no item.
pub fn messages(
    said: &[Said],
    items: &[Arc<Item>],
    made: impl Fn(&BlobId) -> Option<Message>,
) -> Option<Vec<Arc<Message>>> {
    let by_id: HashMap<ItemId, &Arc<Item>> = items.iter().map(|item| (item.id, item)).collect();
    let find = |said: &Said| match said {
        Said::Item(id, place) => by_id.get(id)?.messages().get(*place).cloned(),
        Said::Made(blob) => made(blob).map(Arc::new),
    };
    said.iter().map(find).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Usage;
    use session::{Body, Difference, Time};

    #[test]
    fn a_request_is_found_again_through_those_that_it_builds_on() {
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
        let record = |base: Option<RequestId>, shared: u64, said: Vec<Said>| Record {
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
            outcome: String::new(),
            sections: Vec::new(),
            prompt: Some(Prompt {
                cached: 0,
                is_estimate: false,
                difference: Difference::Extends,
                base,
                frame: base.is_none().then(|| BlobId("f".into())),
                frame_parts: Vec::new(),
                shared,
                said,
                marks: Vec::new(),
                paid: None,
            }),
        };
        let item = |place: usize| Said::Item(items[place].id, 0);
        let first = record(None, 0, vec![item(0), Said::Made(BlobId("go".into()))]);
        let second = record(Some(first.id), 1, vec![item(1), item(2)]);
        let records = [first, second];
        let (said, frame) = laid_out(&records, records[1].id).unwrap();
        assert_eq!(
            (said.as_slice(), frame),
            (&[item(0), item(1), item(2)][..], BlobId("f".into()))
        );
        let texts = |said: &[Said]| -> Option<Vec<String>> {
            let made = |_: &BlobId| Some(Message::user("go on"));
            Some(
                messages(said, &items, made)?
                    .iter()
                    .map(|message| message.text())
                    .collect(),
            )
        };
        assert_eq!(texts(&said).unwrap(), ["a", "b", "c"]);
        let (said, _) = laid_out(&records, records[0].id).unwrap();
        assert_eq!(texts(&said).unwrap(), ["a", "go on"]);
        assert_eq!(
            laid_out(&records[1..], records[1].id),
            None,
            "what it builds on is not known"
        );
        assert_eq!(texts(&[Said::Item(ItemId::new(), 0)]), None);
    }
}
