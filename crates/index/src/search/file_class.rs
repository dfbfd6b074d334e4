//! The class of a file, by its path and its first bytes: tests, examples, generated and vendored code rank lower.

/// The class of a file, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FileClass(pub u8);

impl FileClass {
    /// Tests, fixtures and benchmarks.
    pub const TEST: Self = Self(1);
    /// Examples, demos and samples.
    pub const EXAMPLE: Self = Self(2);
    /// Generated or minified code, and lock files.
    pub const GENERATED: Self = Self(4);
    /// Copies of other projects.
    pub const VENDORED: Self = Self(8);
    /// Documentation.
    pub const PROSE: Self = Self(16);
    /// Configuration and data.
    pub const DATA: Self = Self(32);
    /// Re-exports: package and module index files.
    pub const ENTRY: Self = Self(64);
    /// Compatibility layers, old versions and type stubs.
    pub const LEGACY: Self = Self(128);

    /// The names of the bits.
    const NAMES: [(Self, &'static str); 8] = [
        (Self::TEST, "test"),
        (Self::EXAMPLE, "example"),
        (Self::GENERATED, "generated"),
        (Self::VENDORED, "vendored"),
        (Self::PROSE, "documentation"),
        (Self::DATA, "data"),
        (Self::ENTRY, "entry"),
        (Self::LEGACY, "compatibility"),
    ];

    /// Whether a bit is set.
    pub fn is(self, bit: Self) -> bool {
        self.0 & bit.0 != 0
    }

    /// Whether it is a test, an example, generated, vendored, documentation or data.
    pub fn is_secondary(self) -> bool {
        self.0 & 0b0011_1111 != 0
    }

    /// The names of the set bits.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        Self::NAMES
            .into_iter()
            .filter(move |(bit, _)| self.is(*bit))
            .map(|(_, name)| name)
    }

    /// The class of a file with this path, relative to the project and with forward slashes.
    pub fn detect(path: &str, text: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let folder = |names: &[&str]| folders.split('/').any(|folder| names.contains(&folder));
        let mut bits = 0;
        let mut set = |bit: Self, is_set: bool| bits |= if is_set { bit.0 } else { 0 };
        let in_tests = folder(&[
            "test",
            "tests",
            "testing",
            "spec",
            "specs",
            "__tests__",
            "fixtures",
            "testdata",
            "bench",
            "benches",
            "benchmark",
            "benchmarks",
            "e2e",
            "test_suite",
            "mocks",
            "__mocks__",
        ]);
        let original = path.rsplit('/').next().unwrap_or(path);
        let original = original.split('.').next().unwrap_or(original);
        let named_test = stem.starts_with("test_")
            || [
                "_test",
                "_tests",
                ".test",
                ".spec",
                "_spec",
                "-test",
                "-spec",
                "_benchmark",
                "_bench",
                "_unittest",
            ]
            .iter()
            .any(|end| stem.ends_with(end))
            || ["Test", "Tests", "Spec", "TestCase"]
                .iter()
                .any(|end| original.ends_with(end) && original.len() > end.len())
            || ["test", "tests", "conftest"].contains(&stem);
        set(Self::TEST, in_tests || named_test);
        set(
            Self::EXAMPLE,
            folder(&[
                "example",
                "examples",
                "sample",
                "samples",
                "demo",
                "demos",
                "tutorial",
                "tutorials",
                "playground",
            ]) || stem.contains("example"),
        );
        set(Self::GENERATED, is_generated(stem, extension, text));
        set(
            Self::VENDORED,
            folder(&[
                "vendor",
                "vendored",
                "third_party",
                "thirdparty",
                "third-party",
                "node_modules",
                "external",
                "deps",
                "extern",
                "bower_components",
            ]),
        );
        let prose = ["md", "markdown", "mdx", "rst", "txt", "adoc", "org", "tex"].contains(&extension);
        set(
            Self::PROSE,
            prose || ["readme", "license", "changelog", "authors", "contributing"].contains(&stem),
        );
        set(
            Self::DATA,
            [
                "json",
                "yaml",
                "yml",
                "toml",
                "ini",
                "cfg",
                "conf",
                "xml",
                "csv",
                "tsv",
                "svg",
                "lock",
                "properties",
                "plist",
            ]
            .contains(&extension),
        );
        set(
            Self::ENTRY,
            [
                "index", "mod", "__init__", "lib", "main", "init", "prelude", "package", "exports", "all",
            ]
            .contains(&stem),
        );
        set(
            Self::LEGACY,
            folder(&[
                "compat",
                "legacy",
                "deprecated",
                "old",
                "v1",
                "v2",
                "v3",
                "polyfill",
                "polyfills",
                "shim",
                "shims",
            ]) || ["compat", "_compat", "legacy", "deprecated"]
                .iter()
                .any(|word| stem.contains(word))
                || extension == "pyi"
                || name.ends_with(".d.ts"),
        );
        Self(bits)
    }
}

fn is_generated(stem: &str, extension: &str, text: &str) -> bool {
    let names = [
        ".min",
        ".pb",
        "_pb2",
        ".generated",
        ".g",
        "_generated",
        ".designer",
        "-lock",
        ".lock",
    ];
    if names.iter().any(|end| stem.ends_with(end)) || extension == "lock" || extension == "map" {
        return true;
    }
    let head = &text[..text.floor_char_boundary(600)];
    let marks = [
        "@generated",
        "DO NOT EDIT",
        "Do not edit",
        "do not edit",
        "auto-generated",
        "autogenerated",
        "Code generated by",
        "automatically generated",
    ];
    if marks.iter().any(|mark| head.contains(mark)) {
        return true;
    }
    // Minified code has very long lines.
    text.len() > 5_000 && text.len() / text.bytes().filter(|byte| *byte == b'\n').count().max(1) > 500
}
