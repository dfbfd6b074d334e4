//! Turns a transcript, rules and a system prompt into one cache-friendly request.
//!
//! Pure: the same inputs produce the same bytes, and no other crate builds messages for a model. [`system_prompt`] renders
//! the part that is constant within a session; [`assemble`] builds one request from it and the session's items.
//!
//! | module | content |
//! |---|---|
//! | `assembly` | items to requests: layout cache, view of the log, repair, snapshots and replay |
//! | `system_prompt` | sections from templates |
//! | [`budget`], [`tokens`] | token budgets, token counting |
//! | `compaction`, `elision` | replacing a conversation by notes, shortening old parts without a model |
//! | `ledger` | the composition of requests and the provider's cache |
//! | [`panel`] | live context next to the conversation |
//! | `text_calls` | tool calls in the text of a reply |
//! | `mentions`, `slash_command`, `front_matter` | user input: `@file`, `/command`, Markdown front matter |
//! | `notes`, `project_context` | rules and facts delivered during a session |
//! | `edit_request`, `subtask`, `title` | requests besides the conversation |

mod assembly;
pub mod budget;
mod compaction;
mod edit_request;
mod elision;
mod front_matter;
mod ledger;
mod mentions;
mod notes;
pub mod panel;
mod project_context;
mod slash_command;
mod small_models;
mod subtask;
mod system_prompt;
mod text_calls;
mod title;
pub mod tokens;

pub use assembly::{
    AssembledRequest, LayoutCache, RebuiltFrame, RequestFrame, RequestInputs, RequestOptions, RequestSnapshot,
    SystemPromptFacts, assemble, current_elision, differing_section, elided_items, preview_elision, replay_messages,
    request_layout, visible_items,
};
pub use budget::TokenBudget;
pub use compaction::{CompactionCut, ContextPressure, KeepRecent, NotesError, message_bytes, pressure_for_window};
pub use edit_request::{EditInstruction, EditReplyFormat, edit_request, edit_retry};
pub use elision::{
    DETACH_CHUNK_MIN_MESSAGES, DETACH_CHUNK_MIN_TOKENS, DETACH_KEEP_MIN_MESSAGES, DETACH_KEEP_MIN_TOKENS, FixedContent,
    fit_to_budget, plan_elision,
};
pub use front_matter::FrontMatter;
pub use ledger::{CacheForecast, CountBasis, Ledger, LedgerEntry, RequestReport, distribute_cached};
pub use mentions::{
    MentionCertainty, MentionContext, MentionedContent, PromptMention, mention_context, parse_mentions,
};
pub use notes::{DeliveredNotes, Fact, FactDelivery, reminder_note};
pub use project_context::{CommandLookup, NoContext, ProjectContext, UnknownPrompt};
pub use slash_command::{
    CommandOwner, ExpandedCommand, SlashCommand, SlashCommandKind, SlashInvocation, parse_invocation,
};
pub use small_models::{
    ProjectFiles, edits_of_only_file, failed_calls_message, repeats_task, shown_files_note, small_model_tools,
    unnamed_code_message,
};
pub use subtask::{SubtaskKind, notification_message, subtask_section};
pub use system_prompt::{
    MAX_RULES_FILE_BYTES, ModelFamily, PromptEnvironment, RulesFile, SectionPlace, SystemPrompt, SystemPromptInput,
    TemplateFile, TemplateOverrides, model_family, system_prompt,
};
pub use text_calls::{
    AMBIGUOUS_CALL, CallGrammar, CallPlacement, CallProtocol, TextCallParser, WrittenCall, WrittenChanges,
    direct_call_id, empty_reply_message, resembles_call, unusable_call_message, written_calls, written_changes,
};
pub use title::{clean_title, plain_title, title_request};
