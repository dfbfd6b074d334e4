//! Asks the user for the fields that a server requests.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Number, Value, json};
use tool::{AnswerChoice, CallContext, ChoiceLimit, UserQuestion};

use crate::definition::ElicitationPolicy;

/// Maximum number of fields.
const MAX_FIELDS: usize = 20;
/// Maximum number of attempts per field.
const MAX_ATTEMPTS: usize = 3;
const SKIP: &str = "(skip)";
const DECLINE: &str = "Decline";

/// Answers an elicitation request, by asking the user if necessary.
pub(crate) async fn elicit(
    server: &str,
    params: ElicitRequestParams,
    policy: ElicitationPolicy,
    context: &CallContext,
) -> ElicitResult {
    let asked = match params {
        _ if policy == ElicitationPolicy::Decline => Err(ElicitationAction::Decline),
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            form(server, &message, &schema, policy, context).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let question = format!("The MCP server `{server}` asks you to visit {url}: {message}");
            let choices = vec![choice("Done"), choice(DECLINE)];
            match ask(question, choices, ChoiceLimit::One, context).await {
                Ok(answer) if answer == "Done" => Ok(None),
                Ok(_) => Err(ElicitationAction::Decline),
                Err(action) => Err(action),
            }
        }
        _ => Err(ElicitationAction::Decline),
    };
    match asked {
        Ok(Some(content)) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
        Ok(None) => ElicitResult::new(ElicitationAction::Accept),
        Err(action) => ElicitResult::new(action),
    }
}

/// Asks for each field of a form.
async fn form(
    server: &str,
    message: &str,
    schema: &Value,
    policy: ElicitationPolicy,
    context: &CallContext,
) -> Result<Option<Value>, ElicitationAction> {
    let intro = format!("The MCP server `{server}` asks: {message}");
    let empty = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&empty);
    if fields.is_empty() {
        let choices = vec![choice("Yes"), choice(DECLINE)];
        return match ask(intro, choices, ChoiceLimit::One, context).await? {
            answer if answer == DECLINE => Err(ElicitationAction::Decline),
            _ => Ok(Some(json!({}))),
        };
    }
    let required = |name: &str| {
        schema["required"]
            .as_array()
            .is_some_and(|names| names.iter().any(|n| n == name))
    };
    let mut content = Map::new();
    let takes_defaults = policy == ElicitationPolicy::Defaults;
    for (place, (name, field)) in fields.iter().take(MAX_FIELDS).enumerate() {
        match field.get("default").filter(|default| !default.is_null()) {
            Some(default) if takes_defaults => {
                content.insert(name.clone(), default.clone());
                continue;
            }
            None if takes_defaults && !required(name) => continue,
            Some(_) | None => {}
        }
        let lead = if place == 0 {
            format!("{intro}\n")
        } else {
            String::new()
        };
        if let Some(value) = ask_field(&lead, name, field, required(name), context).await? {
            content.insert(name.clone(), value);
        }
    }
    Ok(Some(Value::Object(content)))
}

/// Asks for one field until the answer is valid; `None` if it is skipped.
async fn ask_field(
    lead: &str,
    name: &str,
    field: &Value,
    required: bool,
    context: &CallContext,
) -> Result<Option<Value>, ElicitationAction> {
    let title = field["title"].as_str().unwrap_or(name);
    let about = field["description"]
        .as_str()
        .map(|text| format!(" ({text})"))
        .unwrap_or_default();
    let mut hint = String::new();
    for _ in 0..MAX_ATTEMPTS {
        let question = format!("{lead}{title}{about}{hint}");
        let mut choices: Vec<AnswerChoice> = options(field)
            .into_iter()
            .map(|(value, label)| AnswerChoice {
                description: label.filter(|label| *label != value),
                label: value,
            })
            .collect();
        if let Some(usual) = default_value(field).filter(|usual| !choices.iter().any(|choice| choice.label == *usual)) {
            choices.insert(0, choice(&usual));
        }
        if !required {
            choices.push(choice(SKIP));
        }
        choices.push(choice(DECLINE));
        let several = match field["type"] == "array" {
            true => ChoiceLimit::Several,
            false => ChoiceLimit::One,
        };
        let answer = ask(question, choices, several, context).await?;
        match answer.trim() {
            DECLINE => return Err(ElicitationAction::Decline),
            SKIP if !required => return Ok(None),
            answer => match parse_answer(answer, field) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => hint = format!("\nInvalid answer: {why}"),
            },
        }
    }
    Err(ElicitationAction::Cancel)
}

/// The choices of a field, with their labels.
fn options(field: &Value) -> Vec<(String, Option<String>)> {
    let field = if field["type"] == "array" {
        &field["items"]
    } else {
        field
    };
    if field["type"] == "boolean" {
        return vec![("true".into(), None), ("false".into(), None)];
    }
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten();
        texts.filter_map(|text| text.as_str().map(str::to_owned)).collect()
    };
    let named = field["oneOf"].as_array().or(field["anyOf"].as_array());
    if let Some(named) = named {
        let pair = |one: &Value| {
            Some((
                one["const"].as_str()?.to_owned(),
                one["title"].as_str().map(str::to_owned),
            ))
        };
        return named.iter().filter_map(pair).collect();
    }
    let labels = texts(&field["enumNames"]);
    let values = texts(&field["enum"]).into_iter().enumerate();
    values
        .map(|(place, value)| (value, labels.get(place).cloned()))
        .collect()
}

fn default_value(field: &Value) -> Option<String> {
    match &field["default"] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// Converts an answer to the field's type, or returns why it is invalid.
/// Why an answer is not valid for a field.
#[derive(Debug, PartialEq, thiserror::Error)]
enum InvalidAnswer {
    #[error("enter true or false")]
    NotBoolean,
    #[error("it must be a number")]
    NotNumber,
    #[error("it must be a whole number")]
    NotInteger,
    #[error("it must be at least {0}")]
    TooSmall(Value),
    #[error("it must be at most {0}")]
    TooLarge(Value),
    #[error("`{0}` is not one of the choices")]
    NotAChoice(String),
    #[error("it must have at least {0} characters")]
    TooShort(Value),
    #[error("it must have at most {0} characters")]
    TooLong(Value),
    #[error("it must be an e-mail address")]
    NotEmail,
}

fn parse_answer(answer: &str, field: &Value) -> Result<Value, InvalidAnswer> {
    let allowed = options(field);
    let known = |answer: &str| {
        let found = allowed
            .iter()
            .find(|(value, label)| value == answer || label.as_deref() == Some(answer));
        found.map(|(value, _)| value.clone())
    };
    match field["type"].as_str() {
        Some("boolean") => match answer.to_lowercase().as_str() {
            "true" | "yes" | "y" => Ok(true.into()),
            "false" | "no" | "n" => Ok(false.into()),
            _ => Err(InvalidAnswer::NotBoolean),
        },
        Some(kind @ ("number" | "integer")) => {
            let number: Number = answer.parse().map_err(|_| InvalidAnswer::NotNumber)?;
            let value = number.as_f64().unwrap_or_default();
            if kind == "integer" && !(number.is_i64() || number.is_u64()) {
                return Err(InvalidAnswer::NotInteger);
            }
            if field["minimum"].as_f64().is_some_and(|least| value < least) {
                return Err(InvalidAnswer::TooSmall(field["minimum"].clone()));
            }
            if field["maximum"].as_f64().is_some_and(|most| value > most) {
                return Err(InvalidAnswer::TooLarge(field["maximum"].clone()));
            }
            Ok(Value::Number(number))
        }
        Some("array") => {
            let words = answer.split([',', '\n']).map(str::trim).filter(|word| !word.is_empty());
            let found = words.map(|word| known(word).ok_or_else(|| InvalidAnswer::NotAChoice(word.to_owned())));
            Ok(found.collect::<Result<Vec<_>, _>>()?.into())
        }
        _ if !allowed.is_empty() => known(answer)
            .map(Value::from)
            .ok_or_else(|| InvalidAnswer::NotAChoice(answer.to_owned())),
        _ => {
            let letters = answer.chars().count() as u64;
            if field["minLength"].as_u64().is_some_and(|least| letters < least) {
                return Err(InvalidAnswer::TooShort(field["minLength"].clone()));
            }
            if field["maxLength"].as_u64().is_some_and(|most| letters > most) {
                return Err(InvalidAnswer::TooLong(field["maxLength"].clone()));
            }
            if field["format"] == "email" && !answer.contains('@') {
                return Err(InvalidAnswer::NotEmail);
            }
            Ok(answer.into())
        }
    }
}

fn choice(label: &str) -> AnswerChoice {
    AnswerChoice {
        label: label.to_owned(),
        description: None,
    }
}

/// Asks a question; without an answer the request is cancelled.
async fn ask(
    question: String,
    choices: Vec<AnswerChoice>,
    multiple: ChoiceLimit,
    context: &CallContext,
) -> Result<String, ElicitationAction> {
    let inquiry = UserQuestion {
        question,
        choices,
        limit: multiple,
    };
    context.ask(inquiry).await.map_err(|_| ElicitationAction::Cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_converted_to_the_field_type_or_rejected() {
        let number = json!({"type": "integer", "minimum": 1, "maximum": 5});
        let colour = json!({"type": "string", "enum": ["r", "g"], "enumNames": ["Red", "Green"]});
        let titled = json!({"type": "string", "oneOf": [{"const": "a", "title": "First"}]});
        let several = json!({"type": "array", "items": {"type": "string", "enum": ["x", "y"]}});
        for (field, answer, expected) in [
            (&number, "3", Ok(json!(3))),
            (&number, "9", Err("it must be at most 5")),
            (&number, "1.5", Err("it must be a whole number")),
            (&number, "x", Err("it must be a number")),
            (&json!({"type": "boolean"}), "yes", Ok(json!(true))),
            (&colour, "Green", Ok(json!("g"))),
            (&colour, "blue", Err("`blue` is not one of the choices")),
            (&titled, "First", Ok(json!("a"))),
            (&several, "x, y", Ok(json!(["x", "y"]))),
            (&several, "z", Err("`z` is not one of the choices")),
            (
                &json!({"type": "string", "format": "email"}),
                "nobody",
                Err("it must be an e-mail address"),
            ),
            (
                &json!({"type": "string", "minLength": 3}),
                "ab",
                Err("it must have at least 3 characters"),
            ),
            (&json!({"type": "string"}), "anything", Ok(json!("anything"))),
        ] {
            assert_eq!(
                parse_answer(answer, field).map_err(|error| error.to_string()),
                expected.map_err(str::to_owned),
                "{field} {answer}"
            );
        }
    }
}
