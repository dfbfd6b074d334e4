//! Error responses in each vendor's format.

use http::StatusCode;
use serde_json::{Value, json};

use crate::wire::Wire;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refusal {
    /// The request violates a rule of the API.
    Invalid {
        message: String,
        param: Option<String>,
    },
    TooLong {
        tokens: u64,
        window: u64,
    },
    TooLarge,
    Unauthorized,
    NotFound {
        path: String,
    },
    RateLimited {
        retry_after: Option<f64>,
    },
    Overloaded,
    Failed {
        code: u16,
    },
}

impl Refusal {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::Invalid {
            message: message.into(),
            param: None,
        }
    }

    /// The message, for the record.
    pub(crate) fn message(&self, wire: Wire) -> String {
        match self {
            Self::Invalid { message, .. } => message.clone(),
            Self::TooLong { tokens, window } => too_long(wire, *tokens, *window),
            Self::TooLarge => "Request exceeds the maximum size".to_owned(),
            Self::Unauthorized => unauthorized(wire).to_owned(),
            Self::NotFound { path } => match wire {
                Wire::Anthropic | Wire::Bedrock | Wire::Vertex => "Not Found".to_owned(),
                Wire::Chat | Wire::Responses => format!("Invalid URL (POST {path})"),
                Wire::Gemini => "Requested entity was not found.".to_owned(),
            },
            Self::RateLimited { .. } => rate_limited(wire).to_owned(),
            Self::Overloaded => match wire {
                Wire::Anthropic | Wire::Vertex => "Overloaded",
                Wire::Bedrock => "Model is overloaded. Try again later.",
                Wire::Chat | Wire::Responses => "The engine is currently overloaded, please try again later",
                Wire::Gemini => "The model is overloaded. Please try again later.",
            }
            .to_owned(),
            Self::Failed { .. } => match wire {
                Wire::Anthropic | Wire::Vertex => "Internal server error",
                Wire::Bedrock => {
                    "The system encountered an unexpected error during processing. Try your request again."
                }
                Wire::Chat | Wire::Responses => {
                    "The server had an error while processing your request. Sorry about that!"
                }
                Wire::Gemini => "An internal error has occurred. Please retry or report in Google's issue tracker",
            }
            .to_owned(),
        }
    }

    /// The status of the response.
    pub(crate) fn status(&self, wire: Wire) -> StatusCode {
        let code = match self {
            Self::Invalid { .. } | Self::TooLong { .. } => 400,
            Self::TooLarge => 413,
            Self::Unauthorized if wire == Wire::Bedrock => 403,
            Self::Unauthorized => 401,
            Self::NotFound { .. } => 404,
            Self::RateLimited { .. } => 429,
            Self::Overloaded => match wire {
                Wire::Anthropic | Wire::Vertex => 529,
                Wire::Bedrock | Wire::Chat | Wire::Responses | Wire::Gemini => 503,
            },
            Self::Failed { code } => *code,
        };
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    /// The body of the response.
    pub(crate) fn body(&self, wire: Wire) -> Value {
        match wire {
            Wire::Anthropic => self.anthropic(wire),
            Wire::Vertex => match self {
                Self::RateLimited { .. } | Self::Unauthorized | Self::NotFound { .. } => self.google(wire),
                _ => self.anthropic(wire),
            },
            Wire::Bedrock => json!({"message": self.message(wire)}),
            Wire::Chat | Wire::Responses => self.openai(wire),
            Wire::Gemini => self.google(wire),
        }
    }

    /// The error's AWS name, for a header or an exception frame.
    pub(crate) fn aws_name(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::TooLong { .. } | Self::TooLarge => "ValidationException",
            Self::Unauthorized => "UnrecognizedClientException",
            Self::NotFound { .. } => "ResourceNotFoundException",
            Self::RateLimited { .. } => "ThrottlingException",
            Self::Overloaded => "ServiceUnavailableException",
            Self::Failed { .. } => "InternalServerException",
        }
    }

    /// The error's Anthropic name.
    pub(crate) fn anthropic_name(&self) -> &'static str {
        match self {
            Self::Invalid { .. } | Self::TooLong { .. } => "invalid_request_error",
            Self::TooLarge => "request_too_large",
            Self::Unauthorized => "authentication_error",
            Self::NotFound { .. } => "not_found_error",
            Self::RateLimited { .. } => "rate_limit_error",
            Self::Overloaded => "overloaded_error",
            Self::Failed { .. } => "api_error",
        }
    }

    /// The error's OpenAI code.
    pub(crate) fn openai_code(&self) -> Option<&'static str> {
        match self {
            Self::TooLong { .. } => Some("context_length_exceeded"),
            Self::Unauthorized => Some("invalid_api_key"),
            Self::RateLimited { .. } => Some("rate_limit_exceeded"),
            Self::Overloaded | Self::Failed { .. } => Some("server_error"),
            Self::Invalid { .. } | Self::TooLarge | Self::NotFound { .. } => None,
        }
    }

    fn anthropic(&self, wire: Wire) -> Value {
        let error = json!({"type": self.anthropic_name(), "message": self.message(wire)});
        json!({"type": "error", "error": error, "request_id": "req_scripted"})
    }

    fn openai(&self, wire: Wire) -> Value {
        let (kind, param) = match self {
            Self::Invalid { param, .. } => ("invalid_request_error", json!(param)),
            Self::TooLong { .. } if wire == Wire::Responses => ("invalid_request_error", json!("input")),
            Self::TooLong { .. } => ("invalid_request_error", json!("messages")),
            Self::RateLimited { .. } => ("tokens", Value::Null),
            Self::Overloaded | Self::Failed { .. } => ("server_error", Value::Null),
            Self::TooLarge | Self::Unauthorized | Self::NotFound { .. } => ("invalid_request_error", Value::Null),
        };
        let code = self.openai_code().filter(|code| *code != "server_error");
        json!({"error": {"message": self.message(wire), "type": kind, "param": param, "code": code}})
    }

    fn google(&self, wire: Wire) -> Value {
        let status = match self {
            Self::Invalid { .. } | Self::TooLong { .. } | Self::TooLarge => "INVALID_ARGUMENT",
            Self::Unauthorized => "UNAUTHENTICATED",
            Self::NotFound { .. } => "NOT_FOUND",
            Self::RateLimited { .. } => "RESOURCE_EXHAUSTED",
            Self::Overloaded => "UNAVAILABLE",
            Self::Failed { code: 503 } => "UNAVAILABLE",
            Self::Failed { code: 504 } => "DEADLINE_EXCEEDED",
            Self::Failed { .. } => "INTERNAL",
        };
        let mut error = json!({"code": self.status(wire).as_u16(), "message": self.message(wire), "status": status});
        if let Self::RateLimited {
            retry_after: Some(seconds),
        } = self
        {
            let info =
                json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": format!("{seconds}s")});
            error["details"] = json!([info]);
        }
        json!({"error": error})
    }
}

fn too_long(wire: Wire, tokens: u64, window: u64) -> String {
    match wire {
        Wire::Anthropic | Wire::Vertex => format!("prompt is too long: {tokens} tokens > {window} maximum"),
        Wire::Bedrock => "Input is too long for requested model.".to_owned(),
        Wire::Chat => format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} \
             tokens. Please reduce the length of the messages."
        ),
        Wire::Responses => {
            "Your input exceeds the context window of this model. Please adjust your input and try again.".to_owned()
        }
        Wire::Gemini => {
            format!("The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window}).")
        }
    }
}

fn unauthorized(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "invalid x-api-key",
        Wire::Bedrock => "The security token included in the request is invalid.",
        Wire::Chat | Wire::Responses => "Incorrect API key provided.",
        Wire::Gemini | Wire::Vertex => {
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other \
             valid authentication credential."
        }
    }
}

fn rate_limited(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => {
            "This request would exceed your organization's rate limit of 50,000 input tokens per minute."
        }
        Wire::Bedrock => "Too many requests, please wait before trying again.",
        Wire::Chat | Wire::Responses => {
            "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29500, Requested 1200. Please try again \
             later."
        }
        Wire::Gemini => "You exceeded your current quota, please check your plan and billing details.",
        Wire::Vertex => "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model.",
    }
}
