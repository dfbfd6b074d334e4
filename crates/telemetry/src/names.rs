//! Names of spans, attributes and metrics. Those of the semantic conventions are checked against the published ones.

/// Attributes of the semantic conventions.
pub mod attribute {
    #![allow(missing_docs, reason = "the names are documented by the conventions")]

    pub const AGENT_NAME: &str = "gen_ai.agent.name";
    pub const AGENT_VERSION: &str = "gen_ai.agent.version";
    pub const CONVERSATION_ID: &str = "gen_ai.conversation.id";
    pub const ERROR_TYPE: &str = "error.type";
    pub const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
    pub const INPUT_MESSAGES: &str = "gen_ai.input.messages";
    pub const MCP_METHOD: &str = "mcp.method.name";
    pub const OPERATION: &str = "gen_ai.operation.name";
    pub const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
    pub const PROVIDER: &str = "gen_ai.provider.name";
    pub const REQUEST_MODEL: &str = "gen_ai.request.model";
    pub const REQUEST_STREAM: &str = "gen_ai.request.stream";
    pub const TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
    pub const TOKEN_TYPE: &str = "gen_ai.token.type";
    pub const TOOL_CALL_ARGUMENTS: &str = "gen_ai.tool.call.arguments";
    pub const TOOL_CALL_ID: &str = "gen_ai.tool.call.id";
    pub const TOOL_CALL_RESULT: &str = "gen_ai.tool.call.result";
    pub const TOOL_NAME: &str = "gen_ai.tool.name";
    pub const TOOL_TYPE: &str = "gen_ai.tool.type";
    pub const USAGE_CACHE_CREATION: &str = "gen_ai.usage.cache_creation.input_tokens";
    pub const USAGE_CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
    pub const USAGE_INPUT: &str = "gen_ai.usage.input_tokens";
    pub const USAGE_OUTPUT: &str = "gen_ai.usage.output_tokens";
    pub const USAGE_REASONING: &str = "gen_ai.usage.reasoning.output_tokens";

    /// All of them.
    pub const ALL: &[&str] = &[
        AGENT_NAME,
        AGENT_VERSION,
        CONVERSATION_ID,
        ERROR_TYPE,
        FINISH_REASONS,
        INPUT_MESSAGES,
        MCP_METHOD,
        OPERATION,
        OUTPUT_MESSAGES,
        PROVIDER,
        REQUEST_MODEL,
        REQUEST_STREAM,
        TIME_TO_FIRST_CHUNK,
        TOKEN_TYPE,
        TOOL_CALL_ARGUMENTS,
        TOOL_CALL_ID,
        TOOL_CALL_RESULT,
        TOOL_NAME,
        TOOL_TYPE,
        USAGE_CACHE_CREATION,
        USAGE_CACHE_READ,
        USAGE_INPUT,
        USAGE_OUTPUT,
        USAGE_REASONING,
    ];
}

/// Metrics of the semantic conventions.
pub mod metric {
    #![allow(missing_docs, reason = "the names are documented by the conventions")]

    pub const MCP_DURATION: &str = "mcp.client.operation.duration";
    pub const OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
    pub const TIME_TO_FIRST_CHUNK: &str = "gen_ai.client.operation.time_to_first_chunk";
    pub const TOKEN_USAGE: &str = "gen_ai.client.token.usage";

    /// All of them.
    pub const ALL: &[&str] = &[MCP_DURATION, OPERATION_DURATION, TIME_TO_FIRST_CHUNK, TOKEN_USAGE];
}

/// The prefix of hew's own names.
pub const OWN_PREFIX: &str = "hew.";

/// The name of a provider in the conventions; others keep theirs.
pub(crate) fn provider(model: &str) -> String {
    let name = model.split_once('/').map_or(model, |(provider, _)| provider);
    let known = match name {
        "bedrock" | "amazon-bedrock" => "aws.bedrock",
        "azure" => "azure.ai.openai",
        "google" | "gemini" => "gcp.gemini",
        "vertex" | "google-vertex" | "vertex-anthropic" => "gcp.vertex_ai",
        "mistral" => "mistral_ai",
        "xai" => "x_ai",
        other => other,
    };
    known.to_owned()
}

/// The id of a model without its provider.
pub(crate) fn model_id(model: &str) -> &str {
    model.split_once('/').map_or(model, |(_, id)| id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_yaml_ng::Value;
    use std::collections::BTreeSet;

    /// The values of a field in all entries of a file.
    fn published(files: &[&str], field: &str) -> BTreeSet<String> {
        fn collect(value: &Value, field: &str, found: &mut BTreeSet<String>) {
            match value {
                Value::Mapping(map) => {
                    for (key, value) in map {
                        if key.as_str() == Some(field)
                            && let Some(name) = value.as_str()
                        {
                            found.insert(name.to_owned());
                        }
                        collect(value, field, found);
                    }
                }
                Value::Sequence(list) => list.iter().for_each(|value| collect(value, field, found)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Tagged(_) => {}
            }
        }
        let mut found = BTreeSet::new();
        for text in files {
            collect(&serde_yaml_ng::from_str(text).unwrap(), field, &mut found);
        }
        found
    }

    #[test]
    fn all_names_are_those_of_the_published_conventions() {
        let attributes = published(
            &[
                include_str!("../tests/data/semantic-conventions/gen-ai-registry.yaml"),
                include_str!("../tests/data/semantic-conventions/mcp-registry.yaml"),
                include_str!("../tests/data/semantic-conventions/error-registry.yaml"),
            ],
            "id",
        );
        let metrics = published(
            &[
                include_str!("../tests/data/semantic-conventions/gen-ai-metrics.yaml"),
                include_str!("../tests/data/semantic-conventions/mcp-metrics.yaml"),
            ],
            "metric_name",
        );
        let unknown = |names: &[&str], known: &BTreeSet<String>| -> Vec<String> {
            let unknown = names.iter().filter(|name| !known.contains(**name));
            unknown.map(|name| (*name).to_owned()).collect()
        };
        assert_eq!(unknown(attribute::ALL, &attributes), [""; 0]);
        assert_eq!(unknown(metric::ALL, &metrics), [""; 0]);
    }

    #[test]
    fn providers_have_the_names_of_the_conventions() {
        let values = published(
            &[include_str!("../tests/data/semantic-conventions/gen-ai-registry.yaml")],
            "value",
        );
        for model in [
            "anthropic/a",
            "openai/b",
            "bedrock/c",
            "google/d",
            "vertex/e",
            "mistral/f",
            "xai/g",
            "groq/h",
        ] {
            let name = provider(model);
            assert!(values.contains(&name), "{model}: {name}");
        }
        assert_eq!((provider("mine/m"), model_id("mine/m")), ("mine".into(), "m"));
    }
}
