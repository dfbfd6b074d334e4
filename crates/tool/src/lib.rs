//! The tool contract: typed input, required approvals, output, and the registry.
//!
//! To add a tool, implement [`Tool`] for a type and derive `Deserialize` and `JsonSchema` for its `Input`: the doc comment of the
//! input is the description that the model reads. Then add the tool to the [`Registry`].

mod approved_actions;
mod change;
mod coerce;
mod context;
mod context_source;
mod decode;
mod dynamic_tools;
mod error;
mod facts;
mod host;
mod input;
mod notification;
mod output;
mod preview;
mod registry;
mod terminals;
mod tool;
mod usage;

pub use approved_actions::ApprovedActions;
pub use change::{ChangeReporter, UnsavedChange, UnsavedVersion};
pub use context::{CallContext, ProgressSender};
pub use context_source::{
    ContextContent, ContextError, ContextFound, ContextOutput, ContextRequest, ContextRunner, ContextSource,
    SymbolDefinition,
};
pub use decode::{InputDecodeError, PathSegment, decode};
pub use dynamic_tools::DynamicTools;
pub use error::Error;
pub use facts::{Availability, ModelClass, OutputCap, PeerAgent, ToolFacts, ToolKind, ToolListing, ToolSet};
pub use host::{
    AnswerChoice, ChoiceLimit, DetachedHost, EscalationGrant, SubtaskModel, SubtaskReport, SubtaskRequest, SubtaskWait,
    ToolHost, UserQuestion,
};
pub use input::{CallInput, optional_text};
pub use notification::{NotificationSender, PendingNotification, ToolNotification};
pub use output::{NextStep, Output};
pub use preview::CallPreview;
pub use registry::{Registry, adapted, fold_letters, fold_name};
pub use terminals::{ClientTerminals, TerminalCommand, TerminalResult};
pub use tool::{DynTool, RebuiltTool, Tool, ToolEffect, erase};
pub use usage::{UsageReport, UsageReporter};
