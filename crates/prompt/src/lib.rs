//! Transcript, rules and a budget become one cache-friendly request.
