//! Numbers in the documentation are those of the code.
//!
//! Each entry is a sentence of a page and the declaration that it states. A change of either without the other fails.

use super::{File, Problem};

/// A page, a part of one of its sentences, a source file, and a part of that file.
type Statement = (&'static str, &'static str, &'static str, &'static str);

/// The statements with numbers that no other test compares with the code.
#[rustfmt::skip]
const STATEMENTS: &[Statement] = &[
    ("prompts.md", "A request may have 0.85 ×", "prompt/src/budget.rs", "USABLE_PERCENT: u64 = 85;"),
    ("prompts.md", "result gets at most half", "prompt/src/budget.rs", "RESULT_PERCENT: u64 = 50;"),
    ("prompts.md", "first 40 % and last 60 %", "prompt/src/budget.rs", "HEAD_PERCENT: usize = 40;"),
    ("prompts.md", "mentions get a sixth", "prompt/src/budget.rs", "MENTIONS_DIVISOR: u64 = 6;"),
    ("prompts.md", "all panels together a quarter", "prompt/src/budget.rs", "PANELS_DIVISOR: u64 = 4;"),
    ("prompts.md", "each at most 25,000 tokens", "prompt/src/panel/render.rs", "PAGE: u64 = 25_000;"),
    ("prompts.md", "more than 20,000 tokens of panels", "prompt/src/assembly/layout_cache.rs", "REPEAT_SYSTEM_AFTER: u64 = 20_000;"),
    ("prompts.md", "old states may take a tenth", "agent/src/panels.rs", "OUTDATED_PERCENT: u64 = 10;"),
    ("prompts.md", "takes more than a quarter of the budget", "agent/src/panels.rs", "ELIDE_PERCENT: u64 = 25;"),
    ("prompts.md", "elision would halve the conversation", "agent/src/compaction.rs", "ELIDED_PERCENT: u64 = 50;"),
    ("prompts.md", "chunks of at least 25 messages and 5,000 tokens", "prompt/src/elision.rs", "DETACH_CHUNK_MIN_MESSAGES: usize = 25;"),
    ("prompts.md", "chunks of at least 25 messages and 5,000 tokens", "prompt/src/elision.rs", "DETACH_CHUNK_MIN_TOKENS: u64 = 5_000;"),
    ("prompts.md", "at least 25 messages and 7,500 tokens remain", "prompt/src/elision.rs", "DETACH_KEEP_MIN_MESSAGES: usize = 25;"),
    ("prompts.md", "at least 25 messages and 7,500 tokens remain", "prompt/src/elision.rs", "DETACH_KEEP_MIN_TOKENS: u64 = 7_500;"),
    ("prompts.md", "up to three levels deep", "context/src/rules.rs", "MAX_IMPORTS: usize = 3;"),
    ("prompts.md", "At most 32 KiB per file", "prompt/src/system_prompt/quote.rs", "MAX_RULES_FILE_BYTES: usize = 32 * 1024;"),
    ("prompts.md", "128 KiB in total", "context/src/rules.rs", "MAX_TOTAL_BYTES: usize = 128 * 1024;"),
    ("prompts.md", "at most 16 KiB of each", "prompt/src/notes.rs", "NOTE_BYTES: usize = 16 * 1024;"),
    ("prompts.md", "up to three definitions", "toolbox/src/support/context_source.rs", "MAX_DEFINITIONS: usize = 3;"),
    ("prompts.md", "200,000 bytes: small pieces", "agent/src/mentions.rs", "MAX_BYTES: usize = 200_000;"),
    ("prompts.md", "folders and files in 1,000 bytes", "context/src/project.rs", "MAX_FILE_LIST_BYTES: usize = 1_000;"),
    ("prompts.md", "once per minute in the background", "toolbox/src/panels/repository.rs", "GITHUB_INTERVAL: Duration = Duration::from_secs(60);"),
    ("prompts.md", "Claude (1.22) and Gemini (1.05)", "prompt/src/tokens.rs", "TokenizerFamily::Claude => (&O200K, 122)"),
    ("prompts.md", "Claude (1.22) and Gemini (1.05)", "prompt/src/tokens.rs", "TokenizerFamily::Gemini => (&O200K, 105)"),
    ("acp.md", "Messages may have up to 32 MiB", "acp/src/wire.rs", "MAX_LINE: usize = 32 * 1024 * 1024;"),
    ("acp.md", "Of the diagnostics, 20 are sent", "agent/src/project_context.rs", "MAX_DIAGNOSTICS: usize = 20;"),
    ("hooks.md", "at most 8 times", "agent/src/turn/loop_guard.rs", "MAX_HOOK_CONTINUATIONS: u32 = 8;"),
    ("hooks.md", "60 s if absent", "host/src/hooks.rs", "DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);"),
    ("cli.md", "less than 20 % of the model's window is left", "prompt/src/compaction.rs", "SMALL_REST_PERCENT: u64 = 20;"),
    ("cli.md", "20,000 tokens of a window above 200,000", "prompt/src/compaction.rs", "LARGE_REST: u64 = 20_000;"),
    ("cli.md", "20,000 tokens of a window above 200,000", "prompt/src/compaction.rs", "LARGE_WINDOW: u64 = 200_000;"),
    ("cli.md", "From 75 % on", "prompt/src/compaction.rs", "PREPARE_PERCENT: u64 = 75;"),
    ("cli.md", "sends nothing for 90 seconds", "agent/src/compaction/summary.rs", "SILENCE_TIMEOUT: Duration = Duration::from_secs(90);"),
    ("cli.md", "to 75 %, 50 % and 25 %", "agent/src/compaction.rs", "REJECTED_PERCENTS: [u64; 3] = [75, 50, 25];"),
    ("cli.md", "diffs of at most 200 lines each", "backends/src/session_markdown.rs", "MAX_LINES: usize = 200;"),
    ("cli.md", "(at most 8 MiB of each)", "host/src/models/settings.rs", "MAX_RECORDED: usize = 8 << 20;"),
    ("cli.md", "at most 25,000 or 256 MiB are copied", "workspace/src/checkpoint/budget.rs", "files: 25_000, bytes: 256 << 20,"),
    ("cli.md", "covered up to 8 MiB each", "workspace/src/checkpoint/scan.rs", "MAX_IGNORED_FILE: u64 = 8 << 20;"),
    ("cli.md", "up to 5,000 files and 64 MiB in total", "workspace/src/checkpoint/scan.rs", "files: 5_000, bytes: 64 << 20,"),
    ("cli.md", "20,000 files and 256 MiB", "workspace/src/checkpoint/scan.rs", "files: 20_000, bytes: 256 << 20,"),
    ("cli.md", "files larger than 1 MiB, the largest first", "store/src/prune.rs", "LARGE: u64 = 1 << 20;"),
    ("cli.md", "files larger than 16 MiB", "review/src/diff/patch.rs", "MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;"),
    ("predict.md", "(40 to 300 ms)", "predict/src/gate.rs", "MIN_DELAY: u64 = 40;"),
    ("predict.md", "(40 to 300 ms)", "predict/src/gate.rs", "MAX_DELAY: u64 = 300;"),
    ("providers.md", "at most 4 billion parameters", "model/src/info.rs", "SMALL_PARAMETERS: u64 = 4_000_000_000;"),
    ("providers.md", "a project with at most 12", "agent/src/small_model_files.rs", "TINY_PROJECT: usize = 12;"),
    ("providers.md", "a quarter of the window, at most 16,384 tokens", "host/src/models/lookup.rs", "share.clamp(512, 16_384)"),
    ("providers.md", "A reply is stopped after an hour", "providers/src/reply_stream.rs", "MAX_DURATION: Duration = Duration::from_secs(60 * 60);"),
    ("providers.md", "16 bytes for each token", "providers/src/reply_stream.rs", "BYTES_PER_TOKEN: usize = 16;"),
    ("sandbox.md", "counted every 10 ms", "sandbox/src/guard/process_limit.rs", "COUNT_INTERVAL: Duration = Duration::from_millis(10);"),
    ("search.md", "up to about 1,000 characters", "index/src/search/chunks.rs", "TARGET: usize = 1_000;"),
    ("search.md", "files over 2 MB", "search/src/file_filter.rs", "MAX_FILE: u64 = 2 * 1024 * 1024;"),
    ("security.md", "(20,000 entries)", "host/src/denied_paths.rs", "MAX_EXAMINED: usize = 20_000;"),
    ("web.md", "valid once, for 10 minutes", "server/src/http/devices.rs", "PAIRING_LIFETIME_MS: u64 = 10 * 60_000;"),
    ("web.md", "replaced every 15 minutes", "server/src/http/devices.rs", "ROTATION_MS: u64 = 15 * 60_000;"),
    ("web.md", "closed after 15 minutes", "server/src/http/registry.rs", "IDLE_TIMEOUT: Duration = Duration::from_secs(15 * 60);"),
    ("web.md", "every 15 seconds", "server/src/http/stream.rs", "KEEP_ALIVE: Duration = Duration::from_secs(15);"),
    ("tui.md", "more than 10 lines or 1,000 characters", "tui/src/composer/paste.rs", "MAX_INLINE_LINES: usize = 10;"),
    ("tui.md", "more than 10 lines or 1,000 characters", "tui/src/composer/paste.rs", "MAX_INLINE_CHARS: usize = 1_000;"),
    ("sandbox.md", "if there are more than 1,000", "host/src/path_scan.rs", "MAX_HIDDEN: usize = 1_000;"),
    ("sandbox.md", "16384 processes", "host/src/config/sandbox.rs", "max_processes: NonZeroU32 = bounds::count(16_384)"),
    ("sandbox.md", "`terminal.foreground` (60 s)", "host/src/config/sandbox.rs", "HumanDuration(Duration::from_secs(60))"),
    ("mcp.md", "Up to 10 server tools", "host/src/config/schema.rs", "mcp_listed: u32 [project: Allow] = 10"),
    ("mcp.md", "cut to 64 characters", "mcp/src/tool_names.rs", "MAX_NAME: usize = 64;"),
    ("mcp.md", "`60s` by default", "mcp/src/definition.rs", "DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);"),
    ("cli.md", "a turn ends after 200 steps", "host/src/config/schema.rs", "DEFAULT_STEPS: u32 = 200;"),
    ("cli.md", "returned to the model with the errors, at most twice", "headless/src/driver.rs", "CORRECTIONS: u32 = 2;"),
    ("permissions.md", "201 requests by default (200 steps and the answer)", "host/src/config/schema.rs", "DEFAULT_STEPS: u32 = 200;"),
    ("config.md", "A temporary failure is retried twice", "toolbox/src/support/edits/edit_agent.rs", "MAX_RETRIES: u32 = 2;"),
    ("config.md", "A file above 32 KiB is truncated", "prompt/src/system_prompt/quote.rs", "MAX_RULES_FILE_BYTES: usize = 32 * 1024;"),
    ("prompts.md", "the third one in a row ends the turn", "agent/src/turn/loop_guard.rs", "MAX_CALL_ATTEMPTS: u32 = 2;"),
    ("prompts.md", "(5 minutes at Anthropic)", "model/src/caching.rs", "(CacheFamily::Anthropic, \"\", \"opus-4-5\", 4096, 1, 300)"),
    ("providers.md", "refreshed two minutes before they expire", "providers/src/sign_in/tokens.rs", "EXPIRY_MARGIN: u64 = 120;"),
    ("mcp.md", "waits up to five seconds", "host/src/mcp_servers.rs", "FIRST_START_TIMEOUT: Duration = Duration::from_secs(5);"),
    ("mcp.md", "wait for it, up to 20 seconds", "mcp/src/servers.rs", "ARRIVAL_TIMEOUT: Duration = Duration::from_secs(20);"),
    ("mcp.md", "at the earliest after one second", "mcp/src/server.rs", "BACKOFF: Duration = Duration::from_secs(1);"),
    ("mcp.md", "then two, up to a minute", "mcp/src/server.rs", "MAX_BACKOFF: Duration = Duration::from_secs(60);"),
    ("sandbox.md", "only 2,000 are read-only", "host/src/path_scan.rs", "MAX_RULES: usize = 2_000;"),
    ("sandbox.md", "32 GB for a single file", "host/src/config/sandbox.rs", "max_file: NonZeroU32 = bounds::count(32_768)"),
    ("search.md", "up to 50 of them", "search/src/embedding_order.rs", "CANDIDATES: usize = 50;"),
    ("search.md", "For up to 100 candidate files", "index/src/search/query.rs", "MAX_RANKED: usize = 100;"),
    ("search.md", "an update for ten seconds at most", "toolbox/src/tools/codebase_search.rs", "UPDATE_TIME: Duration = Duration::from_secs(10);"),
    ("search.md", "another process for ten seconds at most", "cli/src/commands/code_search.rs", "OTHER_UPDATE_TIME: Duration = Duration::from_secs(10);"),
    ("telemetry.md", "once a minute while a session is open", "host/src/survival.rs", "INTERVAL: Duration = Duration::from_secs(60);"),
    ("telemetry.md", "the edits of the last week", "host/src/survival.rs", "MAX_AGE: u64 = 7 * 24 * 60 * 60 * 1000;"),
    ("telemetry.md", "after 1, 5 and 15 minutes", "session/src/measurement.rs", "FifteenMinutes => Some(15 * 60_000),"),
    ("tui.md", "at most 20 turns", "tui/src/app/goal.rs", "MAX_TURNS: u32 = 20;"),
    ("web.md", "Ten wrong codes or tokens in a minute", "server/src/http/guard.rs", "MAX_FAILURES: u32 = 10;"),
    ("prompts.md", "`file:PATH` | a file | 0 requests |", "prompt/src/panel.rs", "Volatility::Live => Some(0),"),
    ("prompts.md", "diagnostics` | window, cost and changed files; notifications; language server diagnostics | 2 |", "prompt/src/panel.rs", "Volatility::Turn => Some(2),"),
    ("prompts.md", "the prompts, turn by turn | 3 |", "prompt/src/panel.rs", "Volatility::Session => Some(3),"),
    ("prompts.md", "those that take more than 200 ms less often", "toolbox/src/panels/polled_version.rs", "FAST: Duration = Duration::from_millis(200);"),
    ("prompts.md", "at most a twentieth of the time", "toolbox/src/panels/polled_version.rs", "SHARE: u32 = 20;"),
    ("prompts.md", "The sections form four blocks", "prompt/src/system_prompt/tests.rs", "assert_eq!(blocks.len(), 4);"),
    ("providers.md", "Ollama (port 11434)", "providers/src/presets/table.rs", "http://localhost:11434/v1"),
    ("providers.md", "LM Studio (1234)", "providers/src/presets/table.rs", "http://localhost:1234/v1"),
    ("providers.md", "llama.cpp (8080)", "providers/src/presets/table.rs", "http://localhost:8080/v1"),
    ("providers.md", "vLLM (8000)", "providers/src/presets/table.rs", "http://localhost:8000/v1"),
    ("cli.md", "at least four digits from the start or end", "review/src/history.rs", "MIN_ID_CHARS: usize = 4;"),
    ("web.md", "(default `127.0.0.1:4440`)", "cli/src/args/serve.rs", "default_value = \"127.0.0.1:4440\""),
    ("web.md", "of more than 512 connections without a token", "server/src/http/connections.rs", "MAX_UNIDENTIFIED: usize = 512;"),
    ("cli.md", "token cost (bytes / 4)", "cli/src/commands/tools.rs", "BYTES_PER_TOKEN: usize = 4;"),
    ("config.md", "sampling temperature from 0 to 2", "host/src/config/bounds.rs", "!(0.0..=2.0).contains(&number)"),
    ("config.md", "in US dollars, more than 0", "host/src/config/bounds.rs", "(\"limits.cost = 0\", \"above 0\"),"),
    ("config.md", "at most 8 MiB of each, so that", "host/src/models/settings.rs", "MAX_RECORDED: usize = 8 << 20;"),
    ("config.md", "does not fit into half of its window", "toolbox/src/support/edits/edit_agent.rs", "size / 3 <= window / 2"),
    ("prompts.md", "read-only commands only: `git:status --short`, `github:pr view 3` | 0 |", "prompt/src/panel.rs", "Volatility::Live => Some(0),"),
    ("prompts.md", "| the instructions of a skill | 0 |", "prompt/src/panel.rs", "Volatility::Live => Some(0),"),
    ("prompts.md", "those about the words first ([search.md](search.md)) | 3 |", "prompt/src/panel.rs", "Volatility::Session => Some(3),"),
    ("sandbox.md", "the four capabilities for files", "sandbox/src/guard/capabilities.rs", "CHOWN .union(CapabilitySet::DAC_OVERRIDE) .union(CapabilitySet::FOWNER) .union(CapabilitySet::FSETID);"),
    ("sandbox.md", "all of it, up to 64 MB", "workspace/src/scratch_folder.rs", "MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;"),
    ("tui.md", "a number from 0 to 255", "tui/src/theme/style_parser.rs", "word.parse::<u8>()"),
];

/// The statements with numbers that a test shows: a page, a part of the sentence, the file of the test, and its name.
#[rustfmt::skip]
const TESTED: &[Statement] = &[
    ("acp.md", "(https://agentclientprotocol.com), version 1", "cli/tests/acp.rs", "the_official_python_client_drives_a_whole_task"),
    ("cli.md", "if stdin or stdout is not a terminal, with 2", "cli/tests/terminal.rs", "without_standard_input_hew_exits_with_an_error"),
    ("cli.md", "with exit code 143", "cli/tests/terminal.rs", "a_signal_restores_the_terminal_and_keeps_the_draft"),
    ("cli.md", "with the exit code 130 or 3", "cli/tests/subtasks.rs", "waiting_for_background_work_ends_with_a_signal_or_the_time_limit"),
    ("cli.md", "(mode 600)", "cli/tests/log.rs", "a_log_contains_events_but_no_secrets_and_no_conversation"),
    ("cli.md", "then with messages of half the size", "agent/tests/turns/compaction.rs", "a_request_rejected_as_too_long_is_retried_with_less"),
    ("cli.md", "1 if `--verify` finds an invalid task", "cli/tests/eval.rs", "an_invalid_task_is_found_by_verify"),
    ("cli.md", "hew prints similar names and exits with 1", "cli/tests/steering.rs", "slash_commands_are_expanded_with_arguments_mentions_and_skills_and_unknown_ones_are_not_sent"),
    ("cli.md", "exit code 1 if one fails; `--json`", "cli/tests/acp.rs", "an_agent_that_cannot_start_fails_the_call_and_not_the_turn"),
    ("cli.md", "exit code 1 if one cannot be reached", "cli/tests/mcp.rs", "servers_are_added_listed_tested_and_removed_and_their_logs_shown"),
    ("cli.md", "if the tool fails, the exit code is 1", "cli/tests/tools.rs", "tools_are_listed_shown_and_run_from_the_command_line"),
    ("cli.md", "The exit code is 1 if a request differs", "cli/tests/replay.rs", "a_damaged_record_is_reported_with_its_section"),
    ("cli.md", "Exit codes: 0 if everything was applied", "cli/tests/apply.rs", "edits_of_several_files_are_applied_completely_or_not_at_all"),
    ("cli.md", "Exit codes: 0 on success, 1 if files or the session have changed", "cli/tests/changes.rs", "one_invalid_id_refuses_the_whole_decision"),
    ("cli.md", "nothing is changed (exit code 1)", "cli/tests/undo.rs", "changes_made_outside_the_session_are_reported_and_not_overwritten"),
    ("cli.md", "with `--expect DECISION` the exit code is 1", "cli/tests/permissions.rs", "permissions_are_listed_added_tested_and_revoked"),
    ("cli.md", "exit code 2 if hew cannot read the file", "cli/tests/opening.rs", "the_configuration_is_checked_after_it_was_edited"),
    ("cli.md", "The exit code is 1 if there is a problem", "cli/tests/bad_input.rs", "the_doctor_reports_every_problem_of_the_configuration"),
    ("cli.md", "| 0 | the task is done |", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("config.md", "you are asked whether to continue after 200", "cli/tests/tools.rs", "a_turn_ends_after_200_steps_unless_a_limit_is_set"),
    ("config.md", "0 disables them", "agent/tests/turns/subtasks.rs", "subtasks_have_a_maximum_depth_and_need_an_existing_mode"),
    ("config.md", "It never continues twice without an answer in between", "agent/tests/turns/autonomy.rs", "two_notifications_never_follow_each_other_without_a_reply"),
    ("eval.md", "with its Wilson interval", "eval/src/statistics.rs", "wilson_intervals_equal_published_values"),
    ("eval.md", "looks at the results after 1, 2, 4, 8", "eval/src/canary.rs", "looks_are_after_powers_of_two_and_at_the_end"),
    ("eval.md", "the level of 5 % is divided among the looks", "eval/src/statistics.rs", "the_levels_of_all_looks_stay_below_the_total"),
    ("eval.md", "a drop of 10 points needs about 300 attempts", "eval/src/canary.rs", "a_drop_of_ten_points_is_detected_and_no_drop_raises_no_alarm"),
    ("hooks.md", "Exit code 2 blocks", "host/src/hooks.rs", "exit_code_two_blocks_with_the_text_on_stderr_and_others_are_reported"),
    ("json-changes.md", "ten hexadecimal digits", "cli/tests/changes.rs", "the_listing_matches_its_schema"),
    ("json-events.md", "`completed` 0 (or 6)", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("mcp.md", "identical to the byte", "cli/tests/mcp.rs", "tools_of_a_new_server_are_in_the_first_request_and_the_prompt_stays_the_same"),
    ("predict.md", "of LSP 3.18", "cli/tests/predict.rs", "an_editor_with_the_official_library_is_served"),
    ("prompts.md", "counted as exactly a quarter of its bytes", "cli/tests/ledger.rs", "expected_cache_reads_equal_reported_ones_for_every_request_on_every_wire"),
    ("prompts.md", "in the configuration, step 3 uses all", "cli/tests/prompts/rules.rs", "rules_files_of_other_agents_are_used_in_the_documented_order"),
    ("web.md", "at a width of 360 pixels", "cli/tests/serve/pages.rs", "a_whole_task_is_done_in_the_browser"),
    ("web.md", "An error has a status of 400 or more", "cli/tests/serve.rs", "the_openapi_document_describes_every_response_that_is_used"),
    ("acp.md", "| `initialize` | version 1;", "cli/tests/acp.rs", "the_official_python_client_drives_a_whole_task"),
    ("cli.md", "| 1 | failed: provider", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("cli.md", "| 2 | the arguments", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("cli.md", "| 3 | stopped by a limit", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("cli.md", "| 4 | the model refused", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("cli.md", "| 5 | the answer was truncated", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("cli.md", "| 6 | the answer does not match", "cli/tests/run.rs", "each_outcome_has_its_exit_code"),
    ("cli.md", "| 130 | interrupted by Ctrl-C", "cli/tests/run.rs", "ctrl_c_stops_the_turn_and_resume_continues_it"),
    ("cli.md", "| 143 | ended by SIGTERM", "cli/tests/terminal.rs", "a_signal_restores_the_terminal_and_keeps_the_draft"),
    ("eval.md", "The exit code is 1 if the success rate is lower", "cli/tests/canary.rs", "a_drop_of_ten_points_is_reported_with_its_confidence"),
    ("hooks.md", "Exit code 0: success", "host/src/hooks.rs", "exit_code_two_blocks_with_the_text_on_stderr_and_others_are_reported"),
    ("json-changes.md", "the version of the format, 1", "cli/tests/changes.rs", "the_listing_matches_its_schema"),
    ("json-changes.md", "its position in the list, from 1", "cli/tests/changes.rs", "the_listing_matches_its_schema"),
    ("json-changes.md", "in the accepted text and in the current file, from 1", "cli/tests/changes.rs", "changes_are_accepted_and_rejected_while_agent_and_user_keep_editing"),
    ("json-events.md", "(the number of the change in the call, from 1)", "cli/tests/run.rs", "json_lines_follow_the_schema_that_hew_prints"),
    ("prompts.md", "selected as in step 3", "cli/tests/prompts/rules.rs", "rules_files_of_other_agents_are_used_in_the_documented_order"),
    ("tui.md", "failed (also a command with an exit code other than 0)", "cli/tests/terminal.rs", "a_whole_task_in_a_real_terminal"),
    ("tui.md", "with 256 or more colours, tinted lines", "tui/src/screen/ansi.rs", "colours_are_reduced_to_the_terminals"),
    ("tui.md", "24-bit (`COLORTERM`), 256", "tui/src/screen/ansi.rs", "colours_are_reduced_to_the_terminals"),
    ("tui.md", "use the terminal's 16 colours", "tui/src/theme.rs", "colours_are_readable_on_light_backgrounds"),
];

/// Sentences with numbers that are part of a name, or results of a measurement that the page describes.
#[rustfmt::skip]
const NAMES_AND_RESULTS: &[(&str, &str)] = &[
    ("json-ledger.md", "(RFC 3339)"),
    ("predict.md", "**Neovim** 0.12"),
    ("predict.md", "**Emacs** 28"),
    ("predict.md", "Zeta 2"),
    ("prompts.md", "[ADR 0009]"),
    ("providers.md", "port 0 selects a free one"),
    ("web.md", "port 0 takes a free one"),
    ("providers.md", "(RFC 8628)"),
    ("sandbox.md", "| capabilities, also as root | none (1) |"),
    ("sandbox.md", "(before Linux 5.0)"),
    ("sandbox.md", "Landlock version 6"),
    ("sandbox.md", "Landlock below version 3"),
    ("search.md", "611 questions about 31 public repositories"),
    ("search.md", "NDCG@10 on those 31 repositories"),
    ("search.md", "semantic 0.893, architecture 0.857, symbol 0.952"),
    ("search.md", "over the last 100 commits"),
    ("security.md", "131 attempts by one program"),
    ("tui.md", "OSC 9 and OSC 777"),
    ("tui.md", "(OSC 52)"),
    ("tui.md", "(OSC 11)"),
];
/// Pages with tables of measured results.
const RESULT_TABLES: [&str; 2] = ["search.md", "security.md"];
/// A page that is generated from the code.
const GENERATED: &str = "tools.md";

pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let wrong = STATEMENTS.iter().filter_map(|statement| compare(files, *statement));
    let tested = TESTED
        .iter()
        .filter_map(|(page, sentence, source, test)| compare(files, (page, sentence, source, &format!("fn {test}()"))));
    let pages = files
        .iter()
        .filter_map(|file| Some((file.path.strip_prefix("docs/")?, file)));
    let pages = pages.filter(|(page, _)| page.ends_with(".md") && !page.contains('/') && *page != GENERATED);
    let unknown = pages.flat_map(|(page, file)| {
        let unknown = numbered_sentences(&file.text, RESULT_TABLES.contains(&page)).into_iter();
        unknown
            .filter(move |sentence| !is_registered(page, sentence))
            .map(|sentence| {
                let message = format!(
                    "`{sentence}` has a number that neither code nor a test shows (see {})",
                    file!()
                );
                Problem::new(file.path.clone(), message)
            })
    });
    wrong.chain(tested).chain(unknown).collect()
}

fn is_registered(page: &str, sentence: &str) -> bool {
    let statements = STATEMENTS.iter().chain(TESTED).map(|(page, part, ..)| (*page, *part));
    let mut parts = statements.chain(NAMES_AND_RESULTS.iter().copied());
    parts.any(|(of, part)| of == page && sentence.contains(part))
}

/// The sentences and table rows with a number outside of code, link targets and list markers.
fn numbered_sentences(text: &str, has_result_tables: bool) -> Vec<String> {
    let mut paragraphs: Vec<String> = vec![String::new()];
    let mut is_code = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
            paragraphs.push(String::new());
            continue;
        }
        let digits = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let content = if digits.len() < line.len() {
            digits.strip_prefix(". ")
        } else {
            None
        };
        if is_code || line.is_empty() || line.starts_with(['|', '#']) || line.starts_with("- ") || content.is_some() {
            paragraphs.push(String::new());
        }
        let is_result = has_result_tables && line.starts_with('|');
        if !is_code
            && !is_result
            && let Some(paragraph) = paragraphs.last_mut()
        {
            paragraph.push_str(content.unwrap_or(line));
            paragraph.push(' ');
        }
    }
    let sentences = paragraphs.iter().flat_map(|paragraph| sentences(paragraph.trim()));
    sentences
        .filter(|sentence| has_number(sentence))
        .map(str::to_owned)
        .collect()
}

fn sentences(paragraph: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for (at, _) in paragraph.match_indices(' ') {
        let (before, after) = (&paragraph[..at], &paragraph[at + 1..]);
        let begins = after.starts_with(|letter: char| letter.is_uppercase() || "`[*".contains(letter));
        if begins && before.ends_with(['.', '!', '?']) {
            found.push(&paragraph[start..at]);
            start = at + 1;
        }
    }
    found.push(&paragraph[start..]);
    found
}

/// Whether a sentence has a number that is not part of a name such as `UTF-8`.
fn has_number(sentence: &str) -> bool {
    let plain: Vec<&str> = sentence.split('`').step_by(2).collect();
    let plain = plain.join("`");
    let mut links = plain.split("](");
    let first = links.next().unwrap_or_default().to_owned();
    let plain = links.fold(first, |text, link| {
        text + "]" + link.split_once(')').map_or("", |(_, rest)| rest)
    });
    let letters: Vec<char> = plain.chars().collect();
    (0..letters.len()).any(|at| {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let is_part = before.is_some_and(|before| before.is_alphanumeric() || "_/.#:-`".contains(before));
        letters[at].is_ascii_digit() && !is_part
    })
}

fn compare(files: &[File], (page, sentence, source, code): (&str, &str, &str, &str)) -> Option<Problem> {
    let has = |path: &str, part: &str| {
        let file = files.iter().find(|file| file.path == path);
        file.is_some_and(|file| words(&file.text).contains(&words(part)))
    };
    let (page, source) = (format!("docs/{page}"), format!("crates/{source}"));
    match (has(&page, sentence), has(&source, code)) {
        (true, true) => None,
        (false, _) => Some(Problem::new(
            page,
            format!("`{sentence}` is missing, which states `{code}` of {source}"),
        )),
        (true, false) => Some(Problem::new(
            page,
            format!("`{sentence}` is no longer true: {source} has no `{code}`"),
        )),
    }
}

/// The text with single spaces, because sentences are wrapped.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_with_numbers_are_found() {
        let text = "# Page 1\n\nIt takes 3 s. `x 4` has none, nor [a](b-5.md), UTF-8 and\nport `80`. It has\n7 lines.\n\n1. first\n2. second of 2\n\n| a | 9 |\n\n```\n6\n```\n";
        let all = [
            "# Page 1",
            "It takes 3 s.",
            "It has 7 lines.",
            "second of 2",
            "| a | 9 |",
        ];
        assert_eq!(numbered_sentences(text, false), all);
        assert_eq!(numbered_sentences(text, true), all[..4]);
    }

    #[test]
    fn a_changed_number_or_sentence_is_reported() {
        let statement = ("a.md", "at most three times", "x/src/lib.rs", "MAX: u32 = 3;");
        let problems = |page: &str, code: &str| {
            let files = [File::new("docs/a.md", page), File::new("crates/x/src/lib.rs", code)];
            compare(&files, statement).map(|problem| problem.message)
        };
        assert_eq!(problems("It runs at most\nthree times.", "const MAX: u32 = 3;\n"), None);
        let changed = problems("It runs at most three times.", "const MAX: u32 = 4;\n").unwrap();
        assert!(changed.contains("no longer true"), "{changed}");
        let removed = problems("It runs.", "const MAX: u32 = 3;\n").unwrap();
        assert!(removed.contains("is missing"), "{removed}");
    }
}
