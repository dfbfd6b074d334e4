//! The grammars: linked without their parse tables, which are unpacked when a language is first needed.

#![allow(unsafe_code, reason = "grammars are C, and their tables are memory of that C")]

use std::sync::LazyLock;

use tree_sitter::Language;
use tree_sitter_language::LanguageFn;

/// Declares a grammar that the build script has packed.
macro_rules! grammar {
    ($name:ident, $language:ident, $large:ident, $small:ident, $large_length:expr, $small_length:expr, $tables:expr) => {
        pub(crate) fn $name() -> Language {
            unsafe extern "C" {
                fn $language() -> *const ();
                static mut $large: [u16; $large_length];
                static mut $small: [u16; $small_length];
            }
            static READY: LazyLock<LanguageFn> = LazyLock::new(|| {
                let packed = include_bytes!(concat!(env!("OUT_DIR"), "/", $tables));
                // SAFETY: the lengths are those of the C definitions, which the build script wrote together with these
                // declarations. Nobody reads the tables before the language is handed out, which is after this, and
                // nobody else writes to them.
                unsafe {
                    unpack(packed, &mut *(&raw mut $large), &mut *(&raw mut $small));
                    LanguageFn::from_raw($language)
                }
            });
            Language::new(*READY)
        }
    };
}

include!(concat!(env!("OUT_DIR"), "/grammars.rs"));

/// The one grammar that is linked whole, because commands are parsed with it all the time.
pub(crate) fn bash() -> Language {
    tree_sitter_bash::LANGUAGE.into()
}

/// Fills both tables. A table that does not unpack stays zero, and a parser without actions accepts nothing; the build
/// script packed it, so that cannot happen to a binary that passes its tests.
fn unpack(packed: &[u8], large: &mut [u16], small: &mut [u16]) {
    let size = 2 * (large.len() + small.len());
    let bytes = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, size).unwrap_or_default();
    let (numbers, _) = bytes.as_chunks::<2>();
    for (slot, number) in large.iter_mut().chain(small).zip(numbers) {
        *slot = u16::from_le_bytes(*number);
    }
}
