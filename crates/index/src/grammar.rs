//! The grammars: linked without their parse tables, which are unpacked when a language is first needed.

#![allow(unsafe_code, reason = "grammars are C, and their tables are memory of that C")]

use std::io::Read as _;
use std::sync::LazyLock;

use lzma_rust2::LzmaReader;
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
    let Ok(mut reader) = LzmaReader::new_mem_limit(packed, u32::MAX, None) else {
        return;
    };
    let mut piece = [0; 1 << 14];
    for table in [large, small] {
        for part in table.chunks_mut(piece.len() / 2) {
            let (bytes, _) = piece.split_at_mut(2 * part.len());
            if reader.read_exact(bytes).is_err() {
                return;
            }
            for (slot, number) in part.iter_mut().zip(bytes.as_chunks::<2>().0) {
                *slot = u16::from_le_bytes(*number);
            }
        }
    }
}
