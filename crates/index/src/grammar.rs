//! The grammars: linked without their parse tables, which are decompressed on first use of a language.

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
                // SAFETY: the lengths are those of the C definitions, which the build script generated together with
                // these declarations. The tables are read only through the language, which is returned after this, and
                // are written nowhere else.
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

/// The only grammar that is linked uncompressed, because commands are parsed with it constantly.
pub(crate) fn bash() -> Language {
    tree_sitter_bash::LANGUAGE.into()
}

/// Fills both tables. A table that fails to decompress stays zero, and a parser without actions accepts nothing; the
/// build script created the data, so a binary that passes its tests cannot fail here.
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
