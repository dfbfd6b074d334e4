//! The tools of other agents: names that are accepted as aliases, and hints for those without an equivalent.

use tool::{PeerAgent, Registry, fold_name};

use PeerAgent::{ClaudeCode, Codex, ContextPilot, Copilot, Crush, GeminiCli, OpenCode, RooCode, Zed};

use crate::registry::TOOLS;

const MCP: &str = "`access_mcp_resource`, if a server has resources; their tools are found with `find_tools`";
const NOTEBOOK: &str = "`edit_file` on the notebook's JSON, or `terminal` with `jupyter`";
const PLAN: &str = "`switch_mode`, with the mode for the next step, such as `plan` or `code`";
const LSP: &str = "`definition`, `references`, `hover` or `code_definitions`";
const SUBTASKS: &str = "`new_task`: its report is the result of the call, and `resume` continues a task";
const WORKTREE: &str = "`terminal` with `git worktree`";
const NO_EDITOR: &str = "nothing: hew is not an editor";
const NO_BUFFERS: &str = "nothing: there are no buffers, every change is on disk";
const STDIN: &str = "`terminal`: stdin is closed, pass input on the command line";
const GIT: &str = "`terminal` with `git status` and `git diff`";
const PROJECT: &str = "`terminal` and `write_file`: a project consists of its files";
const SESSIONS: &str = "the session's log: `hew sessions show`";
const COMPACTION: &str = "automatic compaction, and `hew compact`";
const BATCHES: &str = "several calls in one reply: mutating calls run in order";
const CONFIG: &str = "`tools.disabled` and `tools.enabled` in the configuration";
const SCHEDULE: &str = "`remind`, or `watch` for a command that runs repeatedly";
const NO_TEAMS: &str = "`new_task`, several calls of which in one reply run concurrently";
const APPROVAL: &str = "no call: an action that needs approval is asked about when its tool is called";
const WATCH: &str = "`watch`, which runs a command repeatedly and notifies about failures";

/// Tools of other agents without an equivalent tool, and what to use instead.
const HINTS: &[(PeerAgent, &str, &str)] = &[
    (
        Zed,
        "apply_code_action",
        "the edit tool, with the suggestions of `diagnostics`",
    ),
    (
        Zed,
        "get_code_actions",
        "`diagnostics`, which shows the suggestions of the compiler",
    ),
    (
        Zed,
        "list_agents_and_models",
        "`hew models`; the modes are part of `new_task`",
    ),
    (Zed, "restore_file_from_disk", NO_BUFFERS),
    (Zed, "save_file", NO_BUFFERS),
    (Zed, "update_title", "titles that the small model gives to each session"),
    (RooCode, "access_mcp_resource", MCP),
    (
        RooCode,
        "fetch_instructions",
        "`skill`, if there are skills; a mode is an entry of `.hew/modes.yaml`, and `hew mcp add` adds an MCP server",
    ),
    (Crush, "crush_info", "`hew doctor` and `hew config show`"),
    (Crush, "crush_logs", SESSIONS),
    (Crush, "list_mcp_resources", MCP),
    (
        Crush,
        "lsp_restart",
        "nothing: a server that hangs or dies is restarted automatically",
    ),
    (
        Crush,
        "lsp_replace_symbol",
        "`edit_file`, with the lines that `code_definitions` shows",
    ),
    (Crush, "read_mcp_resource", MCP),
    (
        Copilot,
        "create_new_jupyter_notebook",
        "`write_file` with the notebook's JSON",
    ),
    (Copilot, "create_new_workspace", PROJECT),
    (Copilot, "edit_notebook_file", NOTEBOOK),
    (Copilot, "get_changed_files", GIT),
    (Copilot, "get_doc_info", "`code_definitions` and `hover`"),
    (Copilot, "get_project_setup_info", PROJECT),
    (Copilot, "get_search_view_results", NO_EDITOR),
    (Copilot, "get_vscode_api", NO_EDITOR),
    (
        Copilot,
        "renderMermaidDiagram",
        "a code block with the language `mermaid` in the reply",
    ),
    (Copilot, "install_extension", NO_EDITOR),
    (Copilot, "runTests", "`terminal` with the project's test command"),
    (Copilot, "run_notebook_cell", "`terminal` with `jupyter execute`"),
    (Copilot, "run_task", "`terminal` with the command of the task"),
    (Copilot, "run_vscode_command", NO_EDITOR),
    (Copilot, "send_to_terminal", STDIN),
    (Copilot, "terminal_selection", NO_EDITOR),
    (
        Copilot,
        "test_failure",
        "`terminal`, which shows the output of a test run",
    ),
    (Copilot, "update_user_preferences", "`memory`, with a note in `user/`"),
    (Copilot, "vscode_searchExtensions_internal", NO_EDITOR),
    (Copilot, "test_search", "`find_path` with a glob such as `*test*`"),
    (
        ContextPilot,
        "Behaviour_create",
        "`write_file` with a `SKILL.md`, for `skill`",
    ),
    (ContextPilot, "Callback_close_editor", WATCH),
    (ContextPilot, "Callback_open_editor", WATCH),
    (ContextPilot, "Callback_upsert", WATCH),
    (ContextPilot, "Close_conversation_history", COMPACTION),
    (ContextPilot, "Queue_execute", BATCHES),
    (ContextPilot, "Queue_pause", BATCHES),
    (ContextPilot, "Queue_undo", BATCHES),
    (ContextPilot, "Send", "the conversation: a reply is sent to others"),
    (ContextPilot, "console_send_keys", STDIN),
    (
        ContextPilot,
        "console_watch",
        "nothing: you are notified when a job ends; `job_output` waits for it",
    ),
    (ContextPilot, "entity_sql", "`terminal` with the database's client"),
    (ContextPilot, "log_create", SESSIONS),
    (ContextPilot, "memory_edit", "`memory`, with `create` or `str_replace`"),
    (
        ContextPilot,
        "memory_update",
        "`memory`, with `view`, then `str_replace` or `delete`",
    ),
    (ContextPilot, "module_toggle", CONFIG),
    (
        ContextPilot,
        "notification_mark_processed",
        "nothing: notifications count as read once they are sent",
    ),
    (ContextPilot, "optimize_context", COMPACTION),
    (ContextPilot, "panel_goto_page", "`read_file` with `start_line`"),
    (ContextPilot, "reverie_report", COMPACTION),
    (ContextPilot, "set_identity", "modes: each has its own role"),
    (ContextPilot, "spine_configure", "limits in the configuration"),
    (
        ContextPilot,
        "system_reload",
        "`hew resume`: a session continues where it was",
    ),
    (ContextPilot, "tool_manage", CONFIG),
    (
        ContextPilot,
        "tree_filter",
        "`.hewignore`, in the syntax of `.gitignore`",
    ),
    (ClaudeCode, "CronCreate", SCHEDULE),
    (ClaudeCode, "CronDelete", SCHEDULE),
    (ClaudeCode, "CronList", SCHEDULE),
    (ClaudeCode, "EnterPlanMode", PLAN),
    (ClaudeCode, "EnterWorktree", WORKTREE),
    (ClaudeCode, "ExitPlanMode", PLAN),
    (ClaudeCode, "ExitWorktree", WORKTREE),
    (ClaudeCode, "LSP", LSP),
    (ClaudeCode, "ListMcpResourcesTool", MCP),
    (ClaudeCode, "Monitor", WATCH),
    (ClaudeCode, "NotebookEdit", NOTEBOOK),
    (
        ClaudeCode,
        "PushNotification",
        "nothing: the user sees the end of the turn",
    ),
    (ClaudeCode, "ReadMcpResourceTool", MCP),
    (ClaudeCode, "ScheduleWakeup", SCHEDULE),
    (ClaudeCode, "SendMessage", SUBTASKS),
    (ClaudeCode, "TeamCreate", NO_TEAMS),
    (ClaudeCode, "TeamDelete", NO_TEAMS),
    (Codex, "close_agent", SUBTASKS),
    (Codex, "list_mcp_resource_templates", MCP),
    (Codex, "list_mcp_resources", MCP),
    (Codex, "multi_tool_use.parallel", BATCHES),
    (Codex, "js_repl", "`terminal` with `node`"),
    (Codex, "read_mcp_resource", MCP),
    (Codex, "request_permissions", APPROVAL),
    (Codex, "resume_agent", SUBTASKS),
    (Codex, "send_input", SUBTASKS),
    (Codex, "spawn_agents_on_csv", NO_TEAMS),
    (Codex, "wait", SUBTASKS),
    (Codex, "wait_agent", SUBTASKS),
    (GeminiCli, "cli_help", "`hew --help`"),
    (GeminiCli, "enter_plan_mode", PLAN),
    (GeminiCli, "exit_plan_mode", PLAN),
    (GeminiCli, "get_internal_docs", "`hew --help`"),
    (
        GeminiCli,
        "update_topic",
        "titles that the small model gives to each session",
    ),
    (OpenCode, "batch", BATCHES),
    (OpenCode, "lsp", LSP),
    (OpenCode, "plan_enter", PLAN),
    (OpenCode, "plan_exit", PLAN),
];

/// What to use instead of a tool of another agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeerEquivalent {
    /// A tool, which the other name is an alias of.
    Tool(&'static str),
    /// A hint: there is no equivalent tool.
    Hint(&'static str),
}

/// The tools of another agent by name, in order.
pub fn peer_tools(agent: PeerAgent) -> Vec<(&'static str, PeerEquivalent)> {
    let aliases = aliases().filter(|(peer, ..)| *peer == agent);
    let aliases = aliases.map(|(_, alias, tool)| (alias, PeerEquivalent::Tool(tool)));
    let hints = HINTS.iter().filter(|(peer, ..)| *peer == agent);
    let hints = hints.map(|(_, name, hint)| (*name, PeerEquivalent::Hint(hint)));
    let mut tools: Vec<_> = aliases.chain(hints).collect();
    tools.sort_unstable();
    tools
}

/// What to use instead of a tool of another agent that has no equivalent.
pub fn peer_tool_hint(name: &str) -> Option<&'static str> {
    let folded = fold_name(name);
    let found = HINTS.iter().find(|(_, known, _)| fold_name(known) == folded);
    found.map(|(.., hint)| *hint)
}

/// Registers the names of other agents' tools as aliases. The name of an existing tool is not changed.
pub(crate) fn register_peer_aliases(tools: &mut Registry) {
    for (_, alias, tool) in aliases() {
        tools.alias(alias, tool);
    }
    for (_, name, hint) in HINTS {
        tools.hint(name, hint);
    }
}

/// Agent, name there, and name of the tool.
fn aliases() -> impl Iterator<Item = (PeerAgent, &'static str, &'static str)> {
    TOOLS.iter().flat_map(|tool| {
        let peers = tool.facts.peers.iter();
        peers.flat_map(|(agent, names)| names.iter().map(|name| (*agent, *name, tool.name)))
    })
}
