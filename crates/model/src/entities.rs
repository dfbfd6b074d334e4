//! XML entities that models write instead of characters.

/// The entities and their characters. `&amp;` comes last, so that decoding in this order decodes once.
pub const ENTITIES: [(&str, &str); 7] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&amp;", "&"),
];

/// The text with characters instead of entities.
pub fn decode(text: &str) -> String {
    ENTITIES
        .iter()
        .fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entities_are_decoded_once() {
        assert_eq!(decode("a &lt; b &amp;&amp; &apos;c&#39; &amp;lt;"), "a < b && 'c' &lt;");
    }
}
