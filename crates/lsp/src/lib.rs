//! Talks to language servers: starts the right one for a file, keeps its documents in step, and asks it about code.
