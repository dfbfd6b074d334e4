//! Asks the person what a server wants to know, field by field.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Number, Value, json};
use tool::{Choice, Context, Inquiry, Multiple};

/// As many fields as a person is asked for.
const MOST_FIELDS: usize = 20;
/// So often a person is asked again whose answer does not fit.
const TRIES: usize = 3;
const LEAVE_OUT: &str = "(leave it out)";
const DECLINE: &str = "Decline";

/// Asks the person what a server wants to know.
pub(crate) async fn elicit(server: &str, params: ElicitRequestParams, context: &Context) -> ElicitResult {
    let asked = match params {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            form(server, &message, &schema, context).await
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            let question = format!("The MCP server `{server}` asks you to visit {url}: {message}");
            let choices = vec![choice("Done"), choice(DECLINE)];
            match ask(question, choices, Multiple::One, context).await {
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
    context: &Context,
) -> Result<Option<Value>, ElicitationAction> {
    let intro = format!("The MCP server `{server}` asks: {message}");
    let empty = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&empty);
    if fields.is_empty() {
        let choices = vec![choice("Yes"), choice(DECLINE)];
        return match ask(intro, choices, Multiple::One, context).await? {
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
    for (place, (name, field)) in fields.iter().take(MOST_FIELDS).enumerate() {
        let lead = if place == 0 {
            format!("{intro}\n")
        } else {
            String::new()
        };
        if let Some(value) = fill(&lead, name, field, required(name), context).await? {
            content.insert(name.clone(), value);
        }
    }
    Ok(Some(Value::Object(content)))
}

/// Asks for one field until the answer fits; nothing where it may be left out and is.
async fn fill(
    lead: &str,
    name: &str,
    field: &Value,
    required: bool,
    context: &Context,
) -> Result<Option<Value>, ElicitationAction> {
    let title = field["title"].as_str().unwrap_or(name);
    let about = field["description"]
        .as_str()
        .map(|text| format!(" ({text})"))
        .unwrap_or_default();
    let mut hint = String::new();
    for _ in 0..TRIES {
        let question = format!("{lead}{title}{about}{hint}");
        let mut choices: Vec<Choice> = options(field)
            .into_iter()
            .map(|(value, label)| Choice {
                description: label.filter(|label| *label != value),
                label: value,
            })
            .collect();
        if let Some(usual) = usual(field).filter(|usual| !choices.iter().any(|choice| choice.label == *usual)) {
            choices.insert(0, choice(&usual));
        }
        if !required {
            choices.push(choice(LEAVE_OUT));
        }
        choices.push(choice(DECLINE));
        let several = match field["type"] == "array" {
            true => Multiple::Several,
            false => Multiple::One,
        };
        let answer = ask(question, choices, several, context).await?;
        match answer.trim() {
            DECLINE => return Err(ElicitationAction::Decline),
            LEAVE_OUT if !required => return Ok(None),
            answer => match fits(answer, field) {
                Ok(value) => return Ok(Some(value)),
                Err(why) => hint = format!("\nYour answer does not fit: {why}"),
            },
        }
    }
    Err(ElicitationAction::Cancel)
}

/// The answers to choose from, with what they are called.
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

fn usual(field: &Value) -> Option<String> {
    match &field["default"] {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The answer as the field wants it, or why it does not fit.
fn fits(answer: &str, field: &Value) -> Result<Value, String> {
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
            _ => Err("say true or false".into()),
        },
        Some(kind @ ("number" | "integer")) => {
            let number: Number = answer.parse().map_err(|_| "it must be a number".to_owned())?;
            let value = number.as_f64().unwrap_or_default();
            if kind == "integer" && !(number.is_i64() || number.is_u64()) {
                return Err("it must be a whole number".into());
            }
            if field["minimum"].as_f64().is_some_and(|least| value < least) {
                return Err(format!("it must be at least {}", field["minimum"]));
            }
            if field["maximum"].as_f64().is_some_and(|most| value > most) {
                return Err(format!("it must be at most {}", field["maximum"]));
            }
            Ok(Value::Number(number))
        }
        Some("array") => {
            let said = answer.split([',', '\n']).map(str::trim).filter(|word| !word.is_empty());
            let found = said.map(|word| known(word).ok_or_else(|| format!("`{word}` is none of the choices")));
            Ok(found.collect::<Result<Vec<_>, _>>()?.into())
        }
        _ if !allowed.is_empty() => known(answer)
            .map(Value::from)
            .ok_or_else(|| "it is none of the choices".into()),
        _ => {
            let letters = answer.chars().count() as u64;
            if field["minLength"].as_u64().is_some_and(|least| letters < least) {
                return Err(format!("it must have at least {} letters", field["minLength"]));
            }
            if field["maxLength"].as_u64().is_some_and(|most| letters > most) {
                return Err(format!("it must have at most {} letters", field["maxLength"]));
            }
            if field["format"] == "email" && !answer.contains('@') {
                return Err("it must be an e-mail address".into());
            }
            Ok(answer.into())
        }
    }
}

fn choice(label: &str) -> Choice {
    Choice {
        label: label.to_owned(),
        description: None,
    }
}

/// Asks; without an answer, the server is told that it was not given one.
async fn ask(
    question: String,
    choices: Vec<Choice>,
    multiple: Multiple,
    context: &Context,
) -> Result<String, ElicitationAction> {
    let inquiry = Inquiry {
        question,
        choices,
        multiple,
    };
    context.ask(inquiry).await.map_err(|_| ElicitationAction::Cancel)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_what_the_field_wants_or_it_is_said_why_not() {
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
            (&colour, "blue", Err("it is none of the choices")),
            (&titled, "First", Ok(json!("a"))),
            (&several, "x, y", Ok(json!(["x", "y"]))),
            (&several, "z", Err("`z` is none of the choices")),
            (
                &json!({"type": "string", "format": "email"}),
                "nobody",
                Err("it must be an e-mail address"),
            ),
            (
                &json!({"type": "string", "minLength": 3}),
                "ab",
                Err("it must have at least 3 letters"),
            ),
            (&json!({"type": "string"}), "anything", Ok(json!("anything"))),
        ] {
            assert_eq!(fits(answer, field), expected.map_err(str::to_owned), "{field} {answer}");
        }
    }
}
