//! Recognises errors about prompts that exceed the context window.

/// Unambiguous error codes.
const CODES: [&str; 6] = [
    "context_length_exceeded",
    "exceed_context_size_error",
    "request_too_large",
    "model_context_window_exceeded",
    "context_window_exceeded",
    "string_above_max_length",
];

/// Phrases in the vendors' messages, in lower case.
const PHRASES: [&str; 36] = [
    // Anthropic, also through Bedrock and Vertex
    "prompt is too long",
    "exceed context limit",
    "context is too long",
    "input is too long for requested model",
    "input is too long",
    // OpenAI, Azure, DeepSeek, vLLM, Together, Fireworks
    "maximum context length",
    "maximum context window",
    "exceeds the context window",
    "exceeds the context length",
    "input tokens exceed",
    "input exceeds the maximum",
    // Gemini
    "exceeds the maximum number of tokens",
    "input token count exceeds",
    "input token count",
    // OpenRouter and other gateways
    "context length exceeded",
    "context window exceeded",
    "context_length_exceeded",
    "context length is only",
    "too many tokens",
    "token limit exceeded",
    "tokens exceed",
    // Groq
    "reduce the length of the messages",
    "please reduce the length",
    "reduce your message size",
    "request too large for model",
    // xAI
    "maximum prompt length",
    // Mistral
    "too large for model with",
    // Cerebras, Z.ai, Moonshot
    "current length is",
    "exceeded model token limit",
    "input length too long",
    "prompt exceeds max length",
    // llama.cpp
    "exceeds the available context size",
    "exceed_context_size",
    // LM Studio
    "greater than the context length",
    "trying to keep the first",
    // Ollama
    "exceeds maximum context",
];

/// Phrases of local servers, which send them with status 500.
const LOCAL_SERVER_PHRASES: [&str; 5] = [
    "exceeds the available context size",
    "exceed_context_size",
    "greater than the context length",
    "trying to keep the first",
    "input length exceeds the context length",
];

/// Whether the prompt was too long. `kinds` are the vendor's types and codes in lower case.
pub(crate) fn is_overflow(status: u16, kinds: &[String], detail: &str) -> bool {
    let detail = detail.to_lowercase();
    let contains_any = |sentences: &[&str]| sentences.iter().any(|sentence| detail.contains(sentence));
    match status {
        413 => true,
        // A request above the limit per minute can never succeed, regardless of the delay.
        429 => {
            contains_any(&["request too large"])
                && contains_any(&["tokens per min", "must be reduced", "reduce your message size"])
        }
        401..=404 => false,
        200 | 400 | 422 => {
            kinds.iter().any(|kind| CODES.contains(&kind.as_str()))
                || contains_any(&PHRASES)
                || names_a_maximum(&detail)
        }
        500 => kinds.iter().any(|kind| kind == "exceed_context_size_error") || contains_any(&LOCAL_SERVER_PHRASES),
        _ => false,
    }
}

/// Matches `maximum 200000 tokens`, `max 8192 tokens`.
fn names_a_maximum(detail: &str) -> bool {
    let mut words = detail
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    let mut last = ["", ""];
    words.any(|word| {
        let found = word == "tokens"
            && matches!(last[0], "maximum" | "max")
            && last[1].chars().all(|c| c.is_ascii_digit() || c == ',')
            && !last[1].is_empty();
        last = [last[1], word];
        found
    })
}
