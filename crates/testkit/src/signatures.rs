//! Signatures of thinking, derived from the text, so that a restarted server recognises them.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::script::Thinking;

/// A 64-bit FNV-1a hash with a salt.
pub(crate) fn hash(bytes: &[u8], salt: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325_u64 ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes.iter().fold(start, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The signature of thinking.
pub(crate) fn signature(thought: &Thinking) -> String {
    thought
        .signature
        .clone()
        .unwrap_or_else(|| derive_signature(&thought.text))
}

/// Hashes of the text, and a hash of those, which identifies derived signatures.
fn derive_signature(text: &str) -> String {
    let mut bytes: Vec<u8> = (1..=5)
        .flat_map(|salt| hash(text.as_bytes(), salt).to_be_bytes())
        .collect();
    bytes.extend_from_slice(&hash(&bytes, CHECKSUM_SALT).to_be_bytes());
    STANDARD.encode(bytes)
}

fn is_derived(signature: &str) -> bool {
    let bytes = STANDARD.decode(signature).unwrap_or_default();
    bytes
        .split_last_chunk::<8>()
        .is_some_and(|(hashes, seal)| *seal == hash(hashes, CHECKSUM_SALT).to_be_bytes())
}

const CHECKSUM_SALT: u64 = 99;

/// The issued signatures, for checking that they are sent back unchanged.
#[derive(Debug, Default)]
pub(crate) struct SignatureRegistry {
    thoughts: HashMap<String, String>,
    calls: HashMap<String, String>,
}

impl SignatureRegistry {
    /// Registers thinking and the calls that follow it.
    pub(crate) fn register(&mut self, thought: &Thinking, calls: impl Iterator<Item = String>) {
        let signature = signature(thought);
        self.calls.extend(calls.map(|call| (call, signature.clone())));
        self.thoughts.insert(signature, thought.text.clone());
    }

    /// Whether a signature belongs to this thinking.
    pub(crate) fn matches(&self, signature: &str, text: &str) -> bool {
        signature == derive_signature(text) || self.thoughts.get(signature).is_some_and(|known| known == text)
    }

    /// Whether a signature was issued here, for any thinking.
    pub(crate) fn contains(&self, signature: &str) -> bool {
        self.thoughts.contains_key(signature) || is_derived(signature)
    }

    /// The signature of the thinking before a call.
    pub(crate) fn before_call(&self, call: &str) -> Option<&str> {
        self.calls.get(call).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_signature_is_recognised_without_registration() {
        let thought = Thinking {
            text: "Hm.".to_owned(),
            ..Thinking::default()
        };
        let seals = SignatureRegistry::default();
        assert!(seals.matches(&signature(&thought), "Hm.") && seals.contains(&signature(&thought)));
        assert!(!seals.matches(&signature(&thought), "Hm!"));
        assert!(!seals.contains("forged") && !seals.contains("") && !seals.contains(&STANDARD.encode([7; 48])));
    }
}
