//! The kinds of definitions.

/// The kind of a definition. The names are those of the queries' captures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SymbolKind {
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
    /// A type alias.
    Type,
    /// A function.
    Function,
    /// A method of a type.
    Method,
    /// A property with code.
    Property,
    /// A constant.
    Constant,
    /// A variable outside of functions.
    Variable,
    /// A macro.
    Macro,
    /// A test with a title.
    Test,
    /// A section: a heading with its text, or a stage of an image.
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

impl SymbolKind {
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

    /// The name of the kind.
    pub fn name(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("definition", |(_, word)| word)
    }

    /// The kind of a capture.
    pub(crate) fn of_capture(capture: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, word)| *word == capture)
            .map(|(kind, _)| *kind)
    }

    /// Whether the definition introduces its name. An implementation refers to an existing one.
    pub fn introduces_name(self) -> bool {
        self != Self::Impl
    }
}
