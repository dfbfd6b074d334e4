//! What is said to a language model and what it says back.
