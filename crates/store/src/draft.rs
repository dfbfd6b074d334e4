//! Streaming replies, buffered until they are written.

use model::Chunk;
use session::{ItemId, ReplyDraft, SessionId};

/// Chunks of a reply that are not written yet.
#[derive(Debug)]
pub(crate) struct DraftPiece {
    pub(crate) session: SessionId,
    pub(crate) draft: ReplyDraft,
    pub(crate) chunks: Vec<Chunk>,
}

/// The unwritten pieces, one per reply.
#[derive(Debug, Default)]
pub(crate) struct DraftPieces(Vec<DraftPiece>);

impl DraftPieces {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds received chunks.
    pub(crate) fn add(&mut self, session: SessionId, draft: ReplyDraft, chunks: Vec<Chunk>) {
        match self.0.iter_mut().find(|piece| piece.draft.id == draft.id) {
            Some(piece) => chunks.into_iter().for_each(|chunk| join(&mut piece.chunks, chunk)),
            None => {
                let mut piece = DraftPiece {
                    session,
                    draft,
                    chunks: Vec::with_capacity(chunks.len()),
                };
                chunks.into_iter().for_each(|chunk| join(&mut piece.chunks, chunk));
                self.0.push(piece);
            }
        }
    }

    /// Puts back a piece that could not be written, before the chunks received since.
    pub(crate) fn requeue(&mut self, mut failed: DraftPiece) {
        match self.0.iter_mut().find(|piece| piece.draft.id == failed.draft.id) {
            Some(piece) => {
                for chunk in std::mem::take(&mut piece.chunks) {
                    join(&mut failed.chunks, chunk);
                }
                piece.chunks = failed.chunks;
            }
            None => self.0.push(failed),
        }
    }

    /// Removes the piece of a reply.
    pub(crate) fn take_reply(&mut self, reply: ItemId) -> Option<DraftPiece> {
        let index = self.0.iter().position(|piece| piece.draft.id == reply)?;
        Some(self.0.remove(index))
    }

    /// Removes the pieces of a session.
    pub(crate) fn take_session(&mut self, session: SessionId) -> Vec<DraftPiece> {
        self.0.extract_if(.., |piece| piece.session == session).collect()
    }

    /// Removes all pieces.
    pub(crate) fn take(&mut self) -> Vec<DraftPiece> {
        std::mem::take(&mut self.0)
    }
}

/// Appends a chunk; consecutive deltas of one kind are joined.
fn join(chunks: &mut Vec<Chunk>, next: Chunk) {
    match (chunks.last_mut(), next) {
        (Some(Chunk::Text(text)), Chunk::Text(delta)) => text.push_str(&delta),
        (Some(Chunk::Thinking(text)), Chunk::Thinking(delta)) => text.push_str(&delta),
        (Some(Chunk::ToolInput { id, delta: input }), Chunk::ToolInput { id: same, delta }) if *id == same => {
            input.push_str(&delta);
        }
        (Some(Chunk::Usage(usage)), Chunk::Usage(newer)) => *usage = newer,
        (_, next) => chunks.push(next),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Usage;
    use session::RequestId;

    fn joined(chunks: Vec<Chunk>) -> Vec<Chunk> {
        let mut all = Vec::new();
        chunks.into_iter().for_each(|chunk| join(&mut all, chunk));
        all
    }

    fn input(id: &str, delta: &str) -> Chunk {
        Chunk::ToolInput {
            id: id.into(),
            delta: delta.into(),
        }
    }

    fn usage(output: u64) -> Chunk {
        Chunk::Usage(Usage {
            output,
            ..Usage::default()
        })
    }

    #[test]
    fn consecutive_deltas_are_joined_and_the_order_is_kept() {
        let arrived = vec![
            Chunk::Thinking("a".into()),
            Chunk::Thinking("b".into()),
            Chunk::Text("c".into()),
            Chunk::Text("d".into()),
            input("1", "{"),
            input("1", "}"),
            input("2", "{"),
            usage(1),
            usage(2),
            Chunk::Text("e".into()),
        ];
        let kept = vec![
            Chunk::Thinking("ab".into()),
            Chunk::Text("cd".into()),
            input("1", "{}"),
            input("2", "{"),
            usage(2),
            Chunk::Text("e".into()),
        ];
        assert_eq!(joined(arrived), kept);
    }

    #[test]
    fn requeued_chunks_precede_later_ones() {
        let session = SessionId::new();
        let draft = ReplyDraft {
            id: ItemId::new(),
            parent: None,
            model: "a/b".into(),
            request: RequestId::new(),
        };
        let mut pieces = DraftPieces::default();
        pieces.add(session, draft.clone(), vec![Chunk::Text("one ".into())]);
        let failed = pieces.take();
        pieces.add(session, draft, vec![Chunk::Text("two".into())]);
        failed.into_iter().for_each(|piece| pieces.requeue(piece));
        let all: Vec<Vec<Chunk>> = pieces.take().into_iter().map(|piece| piece.chunks).collect();
        assert_eq!(all, vec![vec![Chunk::Text("one two".into())]]);
    }
}
