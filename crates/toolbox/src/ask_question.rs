//! Asks the person something, with answers to choose from.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Choice, Context, Effect, Error, Inquiry, Multiple, Output, Tool};

/// More questions or choices are refused.
const MOST: usize = 10;

pub(crate) struct AskQuestion;

/// Asks the person a question that only they can answer, with choices where there are some.
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
    choices: Vec<Option_>,
    /// Whether several may be chosen.
    #[serde(default, alias = "multiSelect", alias = "multi_select", alias = "multiple")]
    several: bool,
    /// Several questions at once.
    #[serde(default)]
    #[schemars(skip)]
    questions: Vec<One>,
}

#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct One {
    #[serde(alias = "header", alias = "label")]
    question: String,
    #[serde(default, alias = "options")]
    choices: Vec<Option_>,
    #[serde(default, alias = "multiSelect", alias = "multi_select", alias = "multiple")]
    several: bool,
}

/// A choice: its text, or text and meaning.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(with = "String")]
enum Option_ {
    Text(String),
    Described {
        #[serde(alias = "text", alias = "title", alias = "answer")]
        label: String,
        description: Option<String>,
    },
}

impl Input {
    fn all(&self) -> Vec<One> {
        let own = (!self.question.trim().is_empty()).then(|| One {
            question: self.question.clone(),
            choices: self.choices.clone(),
            several: self.several,
        });
        own.into_iter().chain(self.questions.iter().cloned()).collect()
    }
}

impl Tool for AskQuestion {
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
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let questions: Vec<String> = input.all().into_iter().map(|one| one.question).collect();
        questions.join("; ")
    }

    fn actions(&self, _: &Input) -> Vec<Action> {
        Vec::new()
    }

    async fn run(&self, input: Input, context: Context) -> Result<Output, Error> {
        let questions = input.all();
        let failed = |why: String| Err(Error::Failed(why));
        if questions.is_empty() {
            return failed("there is no question".into());
        }
        if questions.len() > MOST || questions.iter().any(|one| one.choices.len() > MOST) {
            return failed(format!("ask at most {MOST} questions with at most {MOST} choices each"));
        }
        let mut told = Vec::new();
        let alone = questions.len() == 1;
        for one in questions {
            let choices: Vec<Choice> = one.choices.iter().map(choice).collect();
            let answer = context
                .ask(Inquiry {
                    question: one.question.clone(),
                    choices: choices.clone(),
                    multiple: match one.several {
                        true => Multiple::Several,
                        false => Multiple::One,
                    },
                })
                .await?;
            let answer = meant(&answer, &choices);
            told.push(match alone {
                true => answer,
                false => format!("{}\n{answer}", one.question),
            });
        }
        let text = told.join("\n\n");
        Ok(Output::text(text.clone()).summary(text))
    }
}

fn choice(option: &Option_) -> Choice {
    match option {
        Option_::Text(label) => Choice {
            label: label.clone(),
            description: None,
        },
        Option_::Described { label, description } => Choice {
            label: label.clone(),
            description: description.clone(),
        },
    }
}

/// Numbers of choices stand for what they are; anything else is what the person said.
fn meant(answer: &str, choices: &[Choice]) -> String {
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
