//! Runs turns as a stream of events.
