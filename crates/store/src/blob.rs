//! Blob ids: SHA-256, hexadecimal in the API and 32 bytes in the database.

use ring::digest::{SHA256, digest};
use session::BlobId;
use std::fmt::Write;

/// The id of these bytes.
pub(crate) fn name(bytes: &[u8]) -> BlobId {
    hex(digest(&SHA256, bytes).as_ref())
}

/// The id for a database key.
pub(crate) fn hex(key: &[u8]) -> BlobId {
    let mut name = String::with_capacity(key.len() * 2);
    for byte in key {
        // Writing to a string cannot fail.
        write!(name, "{byte:02x}").unwrap_or_default();
    }
    BlobId(name.into())
}

/// The database key; `None` if the id is not a SHA-256.
pub(crate) fn key(id: &BlobId) -> Option<Vec<u8>> {
    let text = id.0.as_bytes();
    if text.len() != 64 {
        return None;
    }
    text.chunks_exact(2)
        .map(|pair| {
            let digits = std::str::from_utf8(pair).ok()?;
            u8::from_str_radix(digits, 16).ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_the_sha256_and_round_trips() {
        let id = name(b"abc");
        assert_eq!(
            &*id.0,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
        assert_eq!(hex(&key(&id).unwrap()), id);
    }

    #[test]
    fn ids_that_are_not_a_sha256_have_no_key() {
        for text in ["", "abc", &"g".repeat(64), &"é".repeat(32), &"a".repeat(66)] {
            assert_eq!(key(&BlobId((*text).into())), None, "{text}");
        }
    }
}
