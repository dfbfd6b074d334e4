//! Facts that a tool declares about itself, so that other parts of the program need no tables of tool names.

/// Facts about a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolFacts {
    /// Whether it is part of every request.
    pub listing: ToolListing,
    /// The category shown by front ends.
    pub kind: ToolKind,
    /// Size limits of results.
    pub cap: OutputCap,
    /// The sets of tools that it belongs to.
    pub sets: &'static [ToolSet],
    /// Models that get it in another way.
    pub exceptions: &'static [(ModelClass, Availability)],
    /// Its names in other agents.
    pub peers: &'static [(PeerAgent, &'static [&'static str])],
}

impl ToolFacts {
    /// A deferred tool without any special treatment.
    pub const DEFAULT: ToolFacts = ToolFacts {
        listing: ToolListing::Deferred,
        kind: ToolKind::Other,
        cap: OutputCap::DEFAULT,
        sets: &[],
        exceptions: &[],
        peers: &[],
    };
}

/// Whether a tool is part of every request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolListing {
    /// Its specification is sent with every request.
    Listed,
    /// The model finds it with a search.
    Deferred,
}

/// The category of a tool, as in the Agent Client Protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolKind {
    /// Reads files or data.
    Read,
    /// Changes files.
    Edit,
    /// Deletes files.
    Delete,
    /// Moves or copies files.
    Move,
    /// Searches.
    Search,
    /// Runs commands.
    Execute,
    /// Plans, or delegates work.
    Think,
    /// Loads external data.
    Fetch,
    /// Switches the mode.
    SwitchMode,
    /// Anything else.
    Other,
}

/// Size limits of a result. `usize::MAX` where a limit does not apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputCap {
    /// Maximum number of lines, results or entries.
    pub entries: usize,
    /// Maximum bytes of one line.
    pub line: usize,
    /// Maximum bytes of one file, page or result.
    pub bytes: usize,
    /// Maximum bytes of the whole result; longer results are saved to a file.
    pub result: usize,
}

impl OutputCap {
    /// The limits of tools without special ones.
    pub const DEFAULT: OutputCap = OutputCap {
        entries: usize::MAX,
        line: usize::MAX,
        bytes: 32_000,
        result: 48_000,
    };
}

/// A set of tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSet {
    /// Enabled in the profile `ask`.
    AskProfile,
    /// Offered to other agents by `hew mcp serve`.
    McpServer,
    /// Reads or changes files itself: the language server is notified, and new diagnostics are reported.
    FileAccess,
    /// Its input names one file that the model has read after the call.
    FileReader,
    /// Not available to subtasks, because its effects outlive a subtask.
    MainSession,
    /// Listed for models with few parameters, which get few tools.
    SmallModel,
}

/// Models with common properties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelClass {
    /// Models with a reasoning mode.
    Reasoning,
    /// Models with a very small context window.
    SmallWindow,
    /// Models with few parameters.
    Small,
}

/// How a tool is available to a class of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Availability {
    /// It is removed.
    Hidden,
    /// It is deferred.
    Deferred,
}

/// Another coding agent. Models know its tools by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerAgent {
    /// Zed.
    Zed,
    /// Roo Code.
    RooCode,
    /// Crush.
    Crush,
    /// Copilot agent mode.
    Copilot,
    /// Context Pilot.
    ContextPilot,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// Gemini CLI.
    GeminiCli,
    /// opencode.
    OpenCode,
}

impl PeerAgent {
    /// All of them.
    pub const ALL: [PeerAgent; 9] = [
        PeerAgent::Zed,
        PeerAgent::RooCode,
        PeerAgent::Crush,
        PeerAgent::Copilot,
        PeerAgent::ContextPilot,
        PeerAgent::ClaudeCode,
        PeerAgent::Codex,
        PeerAgent::GeminiCli,
        PeerAgent::OpenCode,
    ];

    /// The agent's name.
    pub fn name(self) -> &'static str {
        match self {
            PeerAgent::Zed => "Zed",
            PeerAgent::RooCode => "Roo Code",
            PeerAgent::Crush => "Crush",
            PeerAgent::Copilot => "Copilot agent mode",
            PeerAgent::ContextPilot => "Context Pilot",
            PeerAgent::ClaudeCode => "Claude Code",
            PeerAgent::Codex => "Codex",
            PeerAgent::GeminiCli => "Gemini CLI",
            PeerAgent::OpenCode => "opencode",
        }
    }
}
