//! What a definition defines.

/// What a definition defines. The words are those of the queries' captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// A module, namespace or package.
    Module,
    /// A class or object.
    Class,
    /// A structure or union.
    Struct,
    /// An enumeration.
    Enum,
    /// An interface, trait or protocol.
    Interface,
    /// An implementation or extension of something defined elsewhere.
    Impl,
    /// A type by another name.
    Type,
    /// A function.
    Function,
    /// A function of a type.
    Method,
    /// A property with code of its own.
    Property,
    /// A constant.
    Constant,
    /// A variable outside of functions.
    Variable,
    /// A macro.
    Macro,
    /// A test with a title.
    Test,
    /// A chapter: a heading and what follows, a stage of an image.
    Section,
    /// A key of a data file.
    Key,
    /// A rule: a style, a make target.
    Rule,
    /// A block of a configuration.
    Block,
    /// An element of a document.
    Element,
    /// A step of a recipe.
    Step,
}

impl Kind {
    const ALL: [(Self, &'static str); 20] = [
        (Self::Module, "module"),
        (Self::Class, "class"),
        (Self::Struct, "struct"),
        (Self::Enum, "enum"),
        (Self::Interface, "interface"),
        (Self::Impl, "impl"),
        (Self::Type, "type"),
        (Self::Function, "function"),
        (Self::Method, "method"),
        (Self::Property, "property"),
        (Self::Constant, "constant"),
        (Self::Variable, "variable"),
        (Self::Macro, "macro"),
        (Self::Test, "test"),
        (Self::Section, "section"),
        (Self::Key, "key"),
        (Self::Rule, "rule"),
        (Self::Block, "block"),
        (Self::Element, "element"),
        (Self::Step, "step"),
    ];

    /// The kind in one word.
    pub fn word(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("definition", |(_, word)| word)
    }

    /// The kind that a capture names.
    pub(crate) fn of_capture(capture: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, word)| *word == capture)
            .map(|(kind, _)| *kind)
    }

    /// Whether the name is made here. An implementation only takes one up.
    pub fn introduces(self) -> bool {
        self != Self::Impl
    }
}
