//! What is usual in the text of a type of file.

use std::path::Path;

use crate::placeholder::{OmissionPolicy, omissions_in};

/// A file's name and what follows from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextKind<'p> {
    pub(crate) path: &'p Path,
    pub(crate) omissions: OmissionPolicy,
}

impl<'p> TextKind<'p> {
    pub(crate) fn of(path: &'p Path) -> Self {
        let omissions = omissions_in(path);
        Self { path, omissions }
    }

    pub(crate) fn is_document(self) -> bool {
        self.omissions == OmissionPolicy::Document
    }

    fn has_extension(self, extensions: &[&str]) -> bool {
        let extension = self.path.extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    }

    /// Whether `\_` is no way to write an underscore.
    pub(crate) fn is_without_markdown(self) -> bool {
        !self.is_document() && !self.has_extension(&["tex", "sty", "cls", "bib", "txt"])
    }

    /// Whether an entity such as `&lt;` outside a string or comment cannot be code.
    pub(crate) fn is_without_entities(self) -> bool {
        self.has_extension(&[
            "rs", "py", "js", "mjs", "cjs", "ts", "go", "java", "kt", "kts", "c", "h", "cc", "cpp", "hpp", "cs",
            "swift", "rb", "lua", "dart", "sh", "bash", "hs", "tf", "gradle", "ps1", "ml", "erl", "clj", "sql", "css",
            "scss", "toml", "yml", "yaml", "json", "pl", "zig", "scala", "ex", "exs", "nix",
        ])
    }

    /// Whether a statement between two indented lines is indented, apart from labels, directives and the like.
    pub(crate) fn is_indented(self) -> bool {
        self.has_extension(&[
            "rs", "py", "js", "mjs", "cjs", "jsx", "ts", "tsx", "go", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs",
            "swift", "php", "scss", "json", "yml", "yaml", "lua", "rb", "dart",
        ])
    }

    pub(crate) fn is_shell(self) -> bool {
        self.has_extension(&["sh", "bash", "zsh", "ps1"])
    }

    pub(crate) fn is_markup(self) -> bool {
        self.has_extension(&["html", "htm", "xml", "svg", "vue", "svelte"])
    }

    pub(crate) fn is_yaml(self) -> bool {
        self.has_extension(&["yml", "yaml"])
    }

    /// Whether indentation shows which lines belong together. In the other languages, lines are aligned or templates change
    /// the structure.
    pub(crate) fn has_blocks(self) -> bool {
        let is_free = self.has_extension(&[
            "txt", "csv", "tsv", "diff", "patch", "sql", "hs", "lhs", "lisp", "clj", "cljs", "el", "scm", "pug",
            "haml", "s", "S", "asm", "tex", "j2", "jinja", "erb", "tmpl", "tpl", "hbs", "liquid",
        ]);
        !self.is_document() && !self.is_makefile() && !is_free
    }

    /// Whether a name with a colon is a label, which can have any indentation.
    pub(crate) fn has_labels(self) -> bool {
        self.has_extension(&[
            "c", "h", "cc", "cpp", "cxx", "hpp", "m", "go", "java", "kt", "js", "mjs", "cjs", "jsx", "ts", "tsx", "cs",
            "swift", "dart", "pl", "zig",
        ])
    }

    pub(crate) fn is_makefile(self) -> bool {
        let name = self.path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let stem = name.split('.').next().unwrap_or_default();
        matches!(stem, "Makefile" | "makefile" | "GNUmakefile") && !name.ends_with(".toml")
            || self.has_extension(&["mk", "mak", "am"])
    }

    /// Whether lines are indented by tabs, whatever the file has so far.
    pub(crate) fn is_tab_usual(self) -> bool {
        self.is_makefile() || self.has_extension(&["tsv", "go"])
    }
}
