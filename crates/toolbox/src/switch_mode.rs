//! Goes on in another mode.

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Next, Output, Tool};

/// The names of the modes there are.
pub(crate) struct SwitchMode(pub(crate) Vec<String>);

/// Goes on in another mode, if the person agrees: code, architect (plans), ask, debug, or another that you are told of.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "mode_slug")]
    mode: String,
    /// Why, for the person.
    reason: Option<String>,
}

impl Tool for SwitchMode {
    const NAME: &'static str = "switch_mode";
    // Calls after it in the same reply are still judged by the old mode.
    const EFFECT: Effect = Effect::Changes;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        match &input.reason {
            Some(reason) => format!("{}: {reason}", input.mode),
            None => input.mode.clone(),
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        // A mode that does not exist is nothing to ask a person about.
        match self.0.contains(&input.mode) {
            true => vec![Action::SwitchMode { to: input.mode.clone() }],
            false => Vec::new(),
        }
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        if !self.0.contains(&input.mode) {
            let names = self.0.join(", ");
            return Err(Error::Failed(format!(
                "there is no mode `{}`; the modes are {names}",
                input.mode
            )));
        }
        let text = format!("You now work in the mode `{}`.", input.mode);
        Ok(Output {
            next: Next::SwitchMode(input.mode),
            ..Output::text(text)
        })
    }
}
