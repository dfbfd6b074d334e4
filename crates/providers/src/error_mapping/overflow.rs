//! Recognises errors about prompts that exceed the context window.

use serde_json::Value;

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
const PHRASES: [&str; 46] = [
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
    "cannot truncate prompt",
    "reached context length",
    // Ollama
    "exceeds maximum context",
    "exceeded max context length",
    // vLLM, SGLang, TabbyAPI
    "longer than the maximum model length",
    "longer than the model's context",
    "greater than max_seq_len",
    // Text Generation Inference
    "`max_new_tokens` must be",
    // Others
    "prompt too long",
    "context size has been exceeded",
    "exceeds context window",
];

/// Phrases of local servers, which send them with status 500.
const LOCAL_SERVER_PHRASES: [&str; 9] = [
    "exceeds the available context size",
    "exceed_context_size",
    "greater than the context length",
    "trying to keep the first",
    "input length exceeds the context length",
    "exceeded max context length",
    "context size has been exceeded",
    "cannot truncate prompt",
    "reached context length",
];

/// What a message is about if it states that a prompt was too long, in lower case.
const SUBJECTS: [&str; 12] = [
    "context length",
    "context size",
    "context window",
    "context limit",
    "context_length",
    "max_seq_len",
    "max_model_len",
    "n_ctx",
    "input length",
    "prompt length",
    "prompt tokens",
    "sequence length",
];
/// How a message states that something is too long.
const EXCESSES: [&str; 12] = [
    "exceed",
    "longer than",
    "larger than",
    "greater than",
    "more than",
    "too long",
    "too large",
    "too big",
    "too many",
    "does not fit",
    "doesn't fit",
    "overflow",
];
/// Statements of a limit that are excesses in a rejection only.
const LIMITS: [&str; 5] = [" > ", " but ", " got ", " only ", " up to "];

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
                || contains_any(&SUBJECTS) && (contains_any(&EXCESSES) || contains_any(&LIMITS))
        }
        500 => {
            kinds.iter().any(|kind| kind == "exceed_context_size_error")
                || contains_any(&LOCAL_SERVER_PHRASES)
                // Other failures of a server mention the context, too, but not its size.
                || contains_any(&SUBJECTS) && contains_any(&EXCESSES) && window_in(&detail).is_some()
        }
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

/// The context window as a field of the error (llama.cpp).
pub(crate) fn window_field(body: &Value) -> Option<u64> {
    let error = body.get("error").unwrap_or(body);
    error.get("n_ctx").and_then(Value::as_u64)
}

/// Words before the context window in the vendors' messages, in lower case.
const WINDOW_LABELS: [&str; 18] = [
    "context length is",
    "context length of",
    "model's context length (",
    "context window is",
    "context window of",
    "context size",
    "n_ctx:",
    "n_ctx (",
    "n_ctx =",
    "max_seq_len",
    "model token limit",
    "`max_new_tokens` must be <=",
    "model length of",
    "model length is",
    "maximum prompt length is",
    "tokens allowed",
    "maximum allowed",
    "limit of",
];
/// A smaller number is no context window.
const MIN_WINDOW: u64 = 256;

/// The context window that a message states: the number after a label, or the smaller one of two numbers, since the other
/// one is the size of the prompt.
pub(crate) fn window_in(detail: &str) -> Option<u64> {
    let detail = detail.to_lowercase();
    let labelled = WINDOW_LABELS.iter().find_map(|label| {
        let rest = &detail[detail.find(label)? + label.len()..];
        numbers(rest)
            .next()
            .filter(|(gap, _)| *gap <= 16)
            .map(|(_, number)| number)
    });
    let stated = || {
        let all: Vec<u64> = numbers(&detail).map(|(_, number)| number).collect();
        match all.as_slice() {
            [one, other] => Some(*one.min(other)),
            _ => None,
        }
    };
    // `188240 + 21333 > 200000`
    let compared = || {
        let (_, limit) = detail.rsplit_once("> ")?;
        numbers(limit)
            .next()
            .filter(|(gap, _)| *gap == 0)
            .map(|(_, number)| number)
    };
    let window = labelled.or_else(compared).or_else(stated);
    window.filter(|window| *window >= MIN_WINDOW)
}

/// The numbers in a text of at least [`MIN_WINDOW`], each with its byte offset.
fn numbers(text: &str) -> impl Iterator<Item = (usize, u64)> {
    let is_part = |letter: char| letter.is_ascii_digit() || letter == ',';
    let words = text.match_indices(is_part).map(|(at, _)| at);
    let starts = words.filter(move |at| {
        !text[..*at].ends_with(|letter: char| letter.is_ascii_alphanumeric() || letter == ',' || letter == '.')
    });
    starts.filter_map(move |at| {
        let rest = &text[at..];
        let end = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
        let number: u64 = rest[..end].replace(',', "").parse().ok()?;
        (number >= MIN_WINDOW).then_some((at, number))
    })
}
