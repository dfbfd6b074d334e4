//! A scripted model server speaking real HTTP and SSE.
