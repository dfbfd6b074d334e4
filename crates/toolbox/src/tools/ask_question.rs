//! Asks the user a question, with suggested answers.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tool::{
    AnswerChoice, CallContext, ChoiceLimit, DynTool, Error, Output, PeerAgent, Tool, ToolEffect, ToolFacts, ToolSet,
    UserQuestion, erase,
};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::arguments;

/// Maximum number of questions, and of choices.
const MAX_QUESTIONS: usize = 10;

pub(crate) struct AskQuestionTool;

/// Asks the user a question that only they can answer, with suggested answers if possible.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(default)]
    question: String,
    #[serde(
        default,
        alias = "options",
        alias = "follow_up",
        alias = "suggestions",
        alias = "answers"
    )]
    choices: Vec<ChoiceInput>,
    /// Several answers can be chosen.
    #[serde(default, alias = "multiSelect", alias = "multi_select", alias = "multiple")]
    several: bool,
    /// Several questions.
    #[serde(default)]
    #[schemars(skip)]
    questions: Vec<QuestionInput>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct QuestionInput {
    question: String,
    #[serde(default, alias = "options")]
    choices: Vec<ChoiceInput>,
    #[serde(default, alias = "multiSelect", alias = "multi_select", alias = "multiple")]
    several: bool,
}

/// A choice: text, optionally with a description.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected a text, or an object with a label")]
#[schemars(with = "String")]
enum ChoiceInput {
    Text(String),
    Described {
        #[serde(alias = "text", alias = "title", alias = "answer")]
        label: String,
        description: Option<String>,
    },
}

impl Input {
    fn all(&self) -> Vec<QuestionInput> {
        let own = (!self.question.trim().is_empty()).then(|| QuestionInput {
            question: self.question.clone(),
            choices: self.choices.clone(),
            several: self.several,
        });
        own.into_iter().chain(self.questions.iter().cloned()).collect()
    }
}

impl BuiltIn for AskQuestionTool {
    fn build(_: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(AskQuestionTool))
    }
}

impl Tool for AskQuestionTool {
    const NAME: &'static str = "ask_question";
    const ALIASES: &'static [&'static str] = &[
        "ask_followup_question",
        "ask_user",
        "ask_questions",
        "askQuestions",
        "vscode_askQuestions",
        "question",
        "AskUserQuestion",
    ];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        sets: &[ToolSet::AskProfile],
        peers: &[
            (PeerAgent::Zed, &["ask_user"]),
            (PeerAgent::RooCode, &["ask_followup_question"]),
            (PeerAgent::Crush, &["question"]),
            (PeerAgent::Copilot, &["vscode_askQuestions"]),
            (PeerAgent::ClaudeCode, &["AskUserQuestion"]),
            (PeerAgent::Codex, &["request_user_input"]),
            (PeerAgent::GeminiCli, &["ask_user"]),
            (PeerAgent::OpenCode, &["question"]),
        ],
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let questions: Vec<String> = input.all().into_iter().map(|one| one.question).collect();
        questions.join("; ")
    }

    fn adapt(&self, _called: &str, input: &mut Map<String, Value>) {
        // Roo Code: suggestions in XML.
        let suggestions = arguments::text(input, "follow_up").filter(|text| text.contains("<suggest"));
        if let Some(suggestions) = suggestions {
            let texts = suggestions.split("<suggest").skip(1);
            let texts =
                texts.filter_map(|part| Some(part.split_once('>')?.1.split("</suggest").next()?.trim().to_owned()));
            let texts: Vec<String> = texts.collect();
            input.insert("follow_up".into(), texts.into());
        }
        let questions = input.get_mut("questions").and_then(Value::as_array_mut);
        for question in questions.into_iter().flatten().filter_map(Value::as_object_mut) {
            arguments::rename(question, &["header", "label", "title"], "question");
        }
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let questions = input.all();
        let failed = |why: String| Err(Error::Failed(why));
        if questions.is_empty() {
            return failed("there is no question".into());
        }
        if questions.len() > MAX_QUESTIONS || questions.iter().any(|one| one.choices.len() > MAX_QUESTIONS) {
            return failed(format!(
                "ask at most {MAX_QUESTIONS} questions with at most {MAX_QUESTIONS} choices each"
            ));
        }
        let mut answers = Vec::new();
        let alone = questions.len() == 1;
        for one in questions {
            let choices: Vec<AnswerChoice> = one.choices.iter().map(choice).collect();
            let answer = context
                .ask(UserQuestion {
                    question: one.question.clone(),
                    choices: choices.clone(),
                    limit: match one.several {
                        true => ChoiceLimit::Several,
                        false => ChoiceLimit::One,
                    },
                })
                .await?;
            let answer = resolve_choices(&answer, &choices);
            answers.push(match alone {
                true => answer,
                false => format!("{}\n{answer}", one.question),
            });
        }
        let text = answers.join("\n\n");
        Ok(Output::text(text.clone()).with_summary(text))
    }
}

fn choice(option: &ChoiceInput) -> AnswerChoice {
    match option {
        ChoiceInput::Text(label) => AnswerChoice {
            label: label.clone(),
            description: None,
        },
        ChoiceInput::Described { label, description } => AnswerChoice {
            label: label.clone(),
            description: description.clone(),
        },
    }
}

/// Replaces numbers of choices by their labels; other answers are unchanged.
fn resolve_choices(answer: &str, choices: &[AnswerChoice]) -> String {
    let words = answer.split([',', ' ']).map(str::trim).filter(|word| !word.is_empty());
    let chosen: Option<Vec<&str>> = words
        .map(|word| {
            let number: usize = word.parse().ok()?;
            choices.get(number.checked_sub(1)?).map(|choice| choice.label.as_str())
        })
        .collect();
    match chosen {
        Some(labels) if !labels.is_empty() => labels.join(", "),
        Some(_) | None => answer.trim().into(),
    }
}
