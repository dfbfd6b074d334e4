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
    ("web.md", "of more than 512 connections without a token", "server/src/http/connections.rs", "MAX_UNIDENTIFIED: usize = 512;"),
];

pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let statements = STATEMENTS.iter();
    statements.filter_map(|statement| compare(files, *statement)).collect()
}

fn compare(files: &[File], (page, sentence, source, code): Statement) -> Option<Problem> {
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
