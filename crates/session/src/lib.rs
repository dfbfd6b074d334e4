//! The vocabulary of a conversation: items, commands, events, and the store that keeps it.
