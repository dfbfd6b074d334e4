//! Splits text into words, stems them and hashes them to terms.

use std::borrow::Cow;

/// A term of the inverted index: the hash of a stemmed word.
pub(crate) type Term = u32;

/// Longer words are data, not language.
pub(crate) const MAX_WORD: usize = 40;

/// What replaces the characters from U+00C0 to U+017F; `-` separates words.
const FOLD: &[u8] = b"AAAAAA-CEEEEIIII-NOOOOO--UUUUY--aaaaaa-ceeeeiiii-nooooo--uuuuy-yAaAaAaCcCcCcCcDd--EeEeEeEeEeGgGgGgGgHh--IiIiIiIiI---JjKk-LlLlLl----NnNnNn---OoOoOo--RrRrRrSsSsSsSsTtTt--UuUuUuUuUuUuWwYyYZzZzZz-";
const FOLD_FIRST: u32 = 0xC0;

/// The text in ASCII: accents are removed, other characters separate words.
pub(crate) fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.into();
    }
    let folded = text.chars().map(|letter| {
        if letter.is_ascii() {
            return letter;
        }
        let place = (letter as u32).checked_sub(FOLD_FIRST).map(|place| place as usize);
        match place.and_then(|place| FOLD.get(place)).copied() {
            None | Some(b'-') => ' ',
            Some(folded) => char::from(folded),
        }
    });
    folded.collect::<String>().into()
}

/// A word of a text, with its case, and whether it continues the identifier of the preceding word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<'t> {
    pub(crate) text: &'t str,
    pub(crate) continues: bool,
}

/// The words of folded text. `HTTPServer_2` has the words `HTTP`, `Server` and `2`, which form one identifier.
pub(crate) fn words(text: &str) -> impl Iterator<Item = Word<'_>> {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut joined = false;
    std::iter::from_fn(move || {
        loop {
            let byte = *bytes.get(at)?;
            if byte.is_ascii_alphanumeric() {
                break;
            }
            joined = joined && byte == b'_';
            at += 1;
        }
        let end = word_end(bytes, at);
        let word = Word {
            text: text.get(at..end).unwrap_or_default(),
            continues: joined,
        };
        at = end;
        joined = true;
        Some(word)
    })
}

/// The end of the word that starts at a letter or digit.
fn word_end(bytes: &[u8], start: usize) -> usize {
    let is = |at: usize, test: fn(&u8) -> bool| bytes.get(at).is_some_and(test);
    let run = |mut at: usize, test: fn(&u8) -> bool| {
        while is(at, test) {
            at += 1;
        }
        at
    };
    if is(start, u8::is_ascii_digit) {
        return run(start, u8::is_ascii_digit);
    }
    let capitals = run(start, u8::is_ascii_uppercase);
    let length = capitals - start;
    // `URLs` is one word, `HTTPServer` is two.
    if length >= 2 && bytes.get(capitals) == Some(&b's') && !is(capitals + 1, u8::is_ascii_lowercase) {
        return capitals + 1;
    }
    match is(capitals, u8::is_ascii_lowercase) {
        true if length >= 2 => capitals - 1,
        true => run(capitals, u8::is_ascii_lowercase),
        false => capitals,
    }
}

/// The stem of a lower-case word. Only endings are removed.
pub(crate) fn stem(word: &str) -> &str {
    if word.len() < 4 || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
        return word;
    }
    let keep = |word: &str, ending: &str, least: usize| word.ends_with(ending) && word.len() >= ending.len() + least;
    let cut = |word: &'_ str, count: usize| word.len() - count;
    let mut end = word.len();
    if keep(word, "ies", 3) {
        return &word[..cut(word, 3)];
    }
    if keep(word, "s", 3) && !word.ends_with("ss") && !word.ends_with("us") && !word.ends_with("is") {
        end -= 1;
    }
    let base = &word[..end];
    for ending in ["ing", "ed", "er", "or", "ion"] {
        if keep(base, ending, 3)
            && (ending != "ion" && ending != "or" || base[..cut(base, ending.len())].ends_with(['t', 's']))
        {
            return without_at(undouble(&base[..cut(base, ending.len())]));
        }
    }
    match keep(base, "e", 3) || keep(base, "y", 3) {
        true => without_at(&base[..cut(base, 1)]),
        false => base,
    }
}

/// `configurat` of `configuration` becomes `configur`, as `configure` does.
fn without_at(word: &str) -> &str {
    word.strip_suffix("at").filter(|rest| rest.len() >= 4).unwrap_or(word)
}

/// `runn` becomes `run`.
fn undouble(word: &str) -> &str {
    let bytes = word.as_bytes();
    match bytes {
        [.., b'a', b't', b't'] => word,
        [.., before, last] if before == last && bytes.len() > 3 && !b"lsz".contains(last) => &word[..word.len() - 1],
        _ => word,
    }
}

/// The term of a stemmed word or identifier.
pub(crate) fn term(stemmed: &str) -> Term {
    let mixed = hash64(stemmed.as_bytes());
    (mixed ^ (mixed >> 32)) as u32
}

/// A 64-bit hash that is stable between releases; it is stored.
pub(crate) fn hash64(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;
    let mut hash: u64 = (bytes.len() as u64).wrapping_mul(FACTOR) ^ 0x1234_5678_9ABC_DEF1;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(FACTOR);
        hash ^= hash >> 29;
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    hash = (hash ^ u64::from_le_bytes(last)).wrapping_mul(FACTOR);
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0xD6E8_FEB8_6659_FD93);
    hash ^ (hash >> 32)
}

/// Terms of the text that [`fold`] drops: runs of letters outside Latin, single ideographs.
pub(crate) fn foreign_terms(text: &str, mut add: impl FnMut(Term)) {
    let mut run = String::new();
    let mut flush = |run: &mut String| {
        if !run.is_empty() {
            add(term(run));
            run.clear();
        }
    };
    for letter in text.chars() {
        let is_latin = (letter as u32) < 0x180;
        if is_latin || !letter.is_alphanumeric() {
            flush(&mut run);
        } else if is_ideograph(letter) {
            flush(&mut run);
            run.push(letter);
            flush(&mut run);
        } else if run.len() < 4 * MAX_WORD {
            run.extend(letter.to_lowercase());
        }
    }
    flush(&mut run);
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter as u32, 0x3040..=0x30FF | 0x3400..=0x9FFF | 0xAC00..=0xD7AF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_split_at_case_and_underscores() {
        let split = |text| words(text).map(|word| (word.text, word.continues)).collect::<Vec<_>>();
        assert_eq!(
            split("HTTPServer_2 parseURLs"),
            [
                ("HTTP", false),
                ("Server", true),
                ("2", true),
                ("parse", false),
                ("URLs", true)
            ]
        );
        assert_eq!(split("a.b"), [("a", false), ("b", false)]);
    }

    #[test]
    fn forms_of_a_word_share_a_stem() {
        for forms in [
            &["parse", "parses", "parsed", "parsing", "parser"][..],
            &["query", "queries"],
            &["validate", "validation", "validator", "validates"],
            &["run", "running", "runs", "runner"],
            &["class", "classes"],
            &["route", "routes", "routing", "router"],
            &["configure", "configuration", "configured"],
            &["serialize", "serialization", "serializer"],
        ] {
            for form in forms {
                assert_eq!(stem(form), stem(forms[0]), "{form}");
            }
        }
        assert_eq!(stem("status"), "status");
        assert_eq!(stem("bus"), "bus");
    }

    #[test]
    fn accents_are_folded() {
        assert_eq!(fold("Größe žluť ×"), "Gro-e zlut  ".replace('-', " "));
    }
}
