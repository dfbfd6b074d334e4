//! The tools of five other agents, and what stands for each of them in hew. Their names are understood as aliases.

use tool::Registry;

use Answer::{Otherwise, Tool};

/// Another agent and its tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed {
    /// The agent.
    pub agent: &'static str,
    /// Its tools by name, with what stands for them.
    pub tools: &'static [(&'static str, Answer)],
}

/// What stands for a tool of another agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// A tool, which is called under the other name too.
    Tool(&'static str),
    /// Something that is no tool.
    Otherwise(&'static str),
}

const MCP: Answer =
    Otherwise("MCP servers: each of their tools and resources is a tool of its own, found with `find_tools`");
const NO_EDITOR: Answer = Otherwise("nothing: hew is no editor");
const STDIN: Answer = Otherwise("`terminal`, whose commands get their input with the command line: stdin is closed");
const GIT: Answer = Otherwise("`terminal` with `git status` and `git diff`");
const SESSIONS: Answer = Otherwise("the session's log: `hew sessions show`");
const COMPACTION: Answer = Otherwise("summaries that are made by themselves when room is short, and `hew compact`");
const BATCHES: Answer = Otherwise("several calls in one reply: those that change things run in order");
const CONFIG: Answer = Otherwise("`tools.disabled` and `tools.enabled` in the configuration");

/// The five agents.
pub const SEEDS: &[Seed] = &[
    Seed {
        agent: "Zed",
        tools: &[
            (
                "apply_code_action",
                Otherwise("the edit tool, with what `diagnostics` suggests"),
            ),
            ("ask_user", Tool("ask_question")),
            ("copy_path", Tool("copy_path")),
            ("create_directory", Tool("create_directory")),
            ("create_thread", Tool("new_task")),
            ("delete_path", Tool("delete_path")),
            ("diagnostics", Tool("diagnostics")),
            ("edit_file", Tool("edit_file")),
            ("fetch", Tool("fetch")),
            ("find_path", Tool("find_path")),
            ("find_references", Tool("references")),
            (
                "get_code_actions",
                Otherwise("`diagnostics`, which shows what a compiler suggests"),
            ),
            ("go_to_definition", Tool("definition")),
            ("grep", Tool("grep")),
            (
                "list_agents_and_models",
                Otherwise("`hew models`; the modes are part of `new_task`"),
            ),
            ("list_directory", Tool("list_directory")),
            ("move_path", Tool("move_path")),
            ("now", Tool("now")),
            ("open", Tool("open")),
            ("read_file", Tool("read_file")),
            ("rename_symbol", Tool("rename_symbol")),
            (
                "restore_file_from_disk",
                Otherwise("nothing: there are no buffers, every change is on disk"),
            ),
            (
                "save_file",
                Otherwise("nothing: there are no buffers, every change is on disk"),
            ),
            ("search_web", Tool("web_search")),
            ("skill", Tool("skill")),
            ("spawn_agent", Tool("new_task")),
            ("terminal", Tool("terminal")),
            ("thinking", Tool("thinking")),
            ("update_plan", Tool("todo")),
            (
                "update_title",
                Otherwise("a title that the small model gives to each session"),
            ),
            ("web_search", Tool("web_search")),
            ("write_file", Tool("write_file")),
        ],
    },
    Seed {
        agent: "Roo Code",
        tools: &[
            ("access_mcp_resource", MCP),
            ("apply_diff", Tool("edit_file")),
            ("apply_patch", Tool("edit_file")),
            ("ask_followup_question", Tool("ask_question")),
            ("attempt_completion", Tool("attempt_completion")),
            ("browser_action", Tool("browser_action")),
            ("codebase_search", Tool("search_agent")),
            ("edit", Tool("edit_file")),
            ("edit_file", Tool("edit_file")),
            ("execute_command", Tool("terminal")),
            ("fetch_instructions", Tool("skill")),
            ("generate_image", Tool("generate_image")),
            ("insert_content", Tool("edit_file")),
            ("list_code_definition_names", Tool("code_definitions")),
            ("list_files", Tool("list_directory")),
            ("new_task", Tool("new_task")),
            ("read_command_output", Tool("job_output")),
            ("read_file", Tool("read_file")),
            ("run_slash_command", Tool("skill")),
            ("search_and_replace", Tool("edit_file")),
            ("search_files", Tool("grep")),
            ("search_replace", Tool("edit_file")),
            ("skill", Tool("skill")),
            ("switch_mode", Tool("switch_mode")),
            ("update_todo_list", Tool("todo")),
            ("use_mcp_tool", MCP),
            ("write_file", Tool("write_file")),
            ("write_to_file", Tool("write_file")),
        ],
    },
    Seed {
        agent: "Crush",
        tools: &[
            ("agent", Tool("new_task")),
            ("agentic_fetch", Tool("fetch")),
            ("bash", Tool("terminal")),
            ("crush_info", Otherwise("`hew doctor` and `hew config show`")),
            ("crush_logs", SESSIONS),
            ("download", Tool("download")),
            ("edit", Tool("edit_file")),
            ("fetch", Tool("fetch")),
            ("glob", Tool("find_path")),
            ("grep", Tool("grep")),
            ("job_kill", Tool("job_kill")),
            ("job_output", Tool("job_output")),
            ("list_mcp_resources", MCP),
            ("ls", Tool("list_directory")),
            ("lsp_call_hierarchy", Tool("references")),
            ("lsp_definition", Tool("definition")),
            ("lsp_diagnostics", Tool("diagnostics")),
            ("lsp_references", Tool("references")),
            ("lsp_rename", Tool("rename_symbol")),
            ("lsp_replace_symbol", Tool("edit_file")),
            (
                "lsp_restart",
                Otherwise("nothing: a server that hangs or dies is started again by itself"),
            ),
            ("lsp_symbols", Tool("code_definitions")),
            ("multiedit", Tool("edit_file")),
            ("question", Tool("ask_question")),
            ("read_mcp_resource", MCP),
            ("sourcegraph", Tool("sourcegraph")),
            ("todos", Tool("todo")),
            ("view", Tool("read_file")),
            ("web_fetch", Tool("fetch")),
            ("web_search", Tool("web_search")),
            ("write", Tool("write_file")),
        ],
    },
    Seed {
        agent: "Copilot agent mode",
        tools: &[
            ("apply_patch", Tool("edit_file")),
            ("await_terminal", Tool("job_output")),
            ("copilot_getNotebookSummary", Tool("read_file")),
            ("create_and_run_task", Tool("terminal")),
            ("create_directory", Tool("create_directory")),
            ("create_file", Tool("write_file")),
            ("create_new_jupyter_notebook", Tool("write_file")),
            (
                "create_new_workspace",
                Otherwise("`terminal` and `write_file`: a project is its files"),
            ),
            ("edit_notebook_file", Tool("edit_file")),
            ("execution_subagent", Tool("new_task")),
            ("fetch_webpage", Tool("fetch")),
            ("file_search", Tool("find_path")),
            ("get_changed_files", GIT),
            ("get_errors", Tool("diagnostics")),
            (
                "get_project_setup_info",
                Otherwise("`terminal` and `write_file`: a project is its files"),
            ),
            ("get_search_view_results", NO_EDITOR),
            ("get_task_output", Tool("job_output")),
            ("get_terminal_output", Tool("job_output")),
            ("get_vscode_api", NO_EDITOR),
            ("github_repo", Tool("sourcegraph")),
            ("grep_search", Tool("grep")),
            ("insert_edit_into_file", Tool("edit_file")),
            ("install_extension", NO_EDITOR),
            ("kill_terminal", Tool("job_kill")),
            ("list_dir", Tool("list_directory")),
            ("manage_todo_list", Tool("todo")),
            ("memory", Tool("memory")),
            ("multi_replace_string_in_file", Tool("edit_file")),
            ("open_simple_browser", Tool("open")),
            ("read_file", Tool("read_file")),
            ("read_notebook_cell_output", Tool("read_file")),
            ("replace_string_in_file", Tool("edit_file")),
            ("runSubagent", Tool("new_task")),
            ("runTests", Tool("terminal")),
            ("run_in_terminal", Tool("terminal")),
            ("run_notebook_cell", Otherwise("`terminal` with `jupyter execute`")),
            ("run_task", Tool("terminal")),
            ("run_vscode_command", NO_EDITOR),
            ("search_subagent", Tool("search_agent")),
            ("search_workspace_symbols", Tool("definition")),
            ("semantic_search", Tool("search_agent")),
            ("send_to_terminal", STDIN),
            ("switch_agent", Tool("switch_mode")),
            ("task_complete", Tool("attempt_completion")),
            ("terminal_last_command", Tool("job_list")),
            ("terminal_selection", NO_EDITOR),
            (
                "test_failure",
                Otherwise("`terminal`, which shows what a test run printed"),
            ),
            ("test_search", Tool("find_path")),
            ("tool_search", Tool("find_tools")),
            ("view_image", Tool("read_file")),
            ("vscode_askQuestions", Tool("ask_question")),
            ("vscode_listCodeUsages", Tool("references")),
            ("vscode_renameSymbol", Tool("rename_symbol")),
        ],
    },
    Seed {
        agent: "Context Pilot",
        tools: &[
            (
                "Behaviour_create",
                Otherwise("`write_file` of a `SKILL.md`, which `skill` then finds"),
            ),
            (
                "Callback_close_editor",
                Otherwise("`watch`, which runs a command again and again and tells when it fails"),
            ),
            (
                "Callback_open_editor",
                Otherwise("`watch`, which runs a command again and again and tells when it fails"),
            ),
            (
                "Callback_upsert",
                Otherwise("`watch`, which runs a command again and again and tells when it fails"),
            ),
            ("Close_conversation_history", COMPACTION),
            ("Close_panel", Tool("panel")),
            ("Edit", Tool("edit_file")),
            ("Open", Tool("read_file")),
            ("Queue_execute", BATCHES),
            ("Queue_pause", BATCHES),
            ("Queue_undo", BATCHES),
            (
                "Read",
                Otherwise("the conversation itself: what others say comes as a message"),
            ),
            (
                "Send",
                Otherwise("the conversation itself: what is said to others is a reply"),
            ),
            ("Think", Tool("thinking")),
            ("Write", Tool("write_file")),
            ("agent_load", Tool("switch_mode")),
            ("brave_llm_context", Tool("web_search")),
            ("brave_search", Tool("web_search")),
            ("console_create", Tool("terminal")),
            ("console_easy_bash", Tool("terminal")),
            ("console_send_keys", STDIN),
            ("console_wait", Tool("job_output")),
            ("console_watch", Tool("watch")),
            ("coucou", Tool("remind")),
            ("create_cell", Tool("scratchpad")),
            ("dynamic_panel", Tool("panel")),
            ("edit_cell", Tool("scratchpad")),
            ("entity_sql", Otherwise("`terminal` with the database's own client")),
            ("firecrawl_crawl", Tool("fetch")),
            ("firecrawl_map", Tool("fetch")),
            ("firecrawl_scrape", Tool("fetch")),
            ("firecrawl_search", Tool("web_search")),
            ("gh_execute", Tool("terminal")),
            ("git_execute", Tool("terminal")),
            ("log_create", SESSIONS),
            ("memory_create", Tool("memory")),
            ("memory_update", Tool("memory")),
            ("module_toggle", CONFIG),
            (
                "notification_mark_processed",
                Otherwise("nothing: news counts as read once it was sent"),
            ),
            ("ocr", Tool("read_file")),
            ("optimize_context", COMPACTION),
            ("panel_goto_page", Otherwise("`read_file` with `start_line`")),
            ("reverie_report", COMPACTION),
            ("search", Tool("grep")),
            ("set_identity", Otherwise("modes: each has a role of its own")),
            ("skill_load", Tool("skill")),
            ("spine_configure", Otherwise("limits in the configuration")),
            (
                "system_reload",
                Otherwise("`hew resume`: a session goes on where it was"),
            ),
            ("todo_create", Tool("todo")),
            ("todo_move", Tool("todo")),
            ("todo_update", Tool("todo")),
            ("tool_manage", CONFIG),
            ("tree_describe", Tool("memory")),
            ("tree_filter", Otherwise("`.hewignore`, in the syntax of `.gitignore`")),
            ("tree_toggle", Tool("list_directory")),
            ("wipe", Tool("scratchpad")),
        ],
    },
];

/// What stands for a tool of another agent that hew has no tool for.
pub fn otherwise(name: &str) -> Option<&'static str> {
    let all = SEEDS.iter().flat_map(|seed| seed.tools);
    all.filter(|(known, _)| *known == name)
        .find_map(|(_, answer)| match answer {
            Otherwise(what) => Some(*what),
            Tool(_) => None,
        })
}

/// Makes the tools known under the names that they have elsewhere. A name that a tool has itself stays its own.
pub(crate) fn name(tools: &mut Registry) {
    for (alias, answer) in SEEDS.iter().flat_map(|seed| seed.tools) {
        if let Tool(of) = answer {
            tools.alias(alias, of);
        }
    }
}
