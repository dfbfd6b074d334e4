//! Recognises errors about models or servers without tool calls.

/// Phrases in the messages, in lower case.
const PHRASES: [&str; 15] = [
    // Ollama: `registry.ollama.ai/library/gemma:2b does not support tools`
    "does not support tools",
    "does not support tool use",
    "does not support tool call",
    "doesn't support tool use",
    "do not support tools",
    "does not support function",
    "doesn't support function",
    // llama.cpp without --jinja
    "tools param requires --jinja",
    // vLLM
    "requires --enable-auto-tool-choice",
    "requires --tool-call-parser",
    // OpenRouter
    "support tool use",
    // Others
    "tool use is not supported",
    "tool calling is not supported",
    "function calling is not supported",
    "function calling is not enabled",
];

/// Whether the request was rejected because of its tools.
pub(super) fn is_unsupported(status: u16, detail: &str) -> bool {
    let detail = detail.to_lowercase();
    matches!(status, 200 | 400 | 404 | 422 | 500 | 501) && PHRASES.iter().any(|phrase| detail.contains(phrase))
}
