//! Replies that still stream, gathered until they are written.

use model::Chunk;
use session::{Draft, ItemId, SessionId};

/// What has arrived of a reply since it was last written.
#[derive(Debug)]
pub(crate) struct Piece {
    pub(crate) session: SessionId,
    pub(crate) draft: Draft,
    pub(crate) chunks: Vec<Chunk>,
}

/// The pieces that wait to be written, one for each reply.
#[derive(Debug, Default)]
pub(crate) struct Pieces(Vec<Piece>);

impl Pieces {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what has arrived.
    pub(crate) fn add(&mut self, session: SessionId, draft: Draft, chunks: Vec<Chunk>) {
        match self.0.iter_mut().find(|piece| piece.draft.id == draft.id) {
            Some(piece) => chunks.into_iter().for_each(|chunk| join(&mut piece.chunks, chunk)),
            None => {
                let mut piece = Piece {
                    session,
                    draft,
                    chunks: Vec::with_capacity(chunks.len()),
                };
                chunks.into_iter().for_each(|chunk| join(&mut piece.chunks, chunk));
                self.0.push(piece);
            }
        }
    }

    /// Puts back what could not be written, before what has arrived since.
    pub(crate) fn put_back(&mut self, mut failed: Piece) {
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

    /// Hands over the piece of a reply.
    pub(crate) fn take_reply(&mut self, reply: ItemId) -> Option<Piece> {
        let index = self.0.iter().position(|piece| piece.draft.id == reply)?;
        Some(self.0.remove(index))
    }

    /// Hands over the pieces of a session.
    pub(crate) fn take_session(&mut self, session: SessionId) -> Vec<Piece> {
        self.0.extract_if(.., |piece| piece.session == session).collect()
    }

    /// Hands all pieces over.
    pub(crate) fn take(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.0)
    }
}

/// Adds a chunk to those before it; deltas of one kind become one.
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
    fn deltas_of_one_kind_become_one_and_others_keep_their_order() {
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
    fn what_could_not_be_written_comes_before_what_arrived_since() {
        let session = SessionId::new();
        let draft = Draft {
            id: ItemId::new(),
            parent: None,
            model: "a/b".into(),
            request: RequestId::new(),
        };
        let mut pieces = Pieces::default();
        pieces.add(session, draft.clone(), vec![Chunk::Text("one ".into())]);
        let failed = pieces.take();
        pieces.add(session, draft, vec![Chunk::Text("two".into())]);
        failed.into_iter().for_each(|piece| pieces.put_back(piece));
        let all: Vec<Vec<Chunk>> = pieces.take().into_iter().map(|piece| piece.chunks).collect();
        assert_eq!(all, vec![vec![Chunk::Text("one two".into())]]);
    }
}
