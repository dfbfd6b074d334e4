//! Lists or applies code actions of the language server, such as adding an import.

use std::sync::Arc;

use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{CallContext, DynTool, Error, Output, Tool, ToolEffect, ToolFacts, ToolKind, erase};

use crate::registry::{BuiltIn, ToolParts};
use crate::support::code_server::{CodeServer, QuickFix};
use crate::support::edits::rewrite;
use crate::support::project::Project;
use crate::support::text::count;

pub(crate) struct CodeActionTool(pub(crate) Project, pub(crate) Arc<dyn CodeServer>);

/// Lists the language server's quick fixes and refactorings for a line, or applies one.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(alias = "file_path", alias = "filePath")]
    path: String,
    line: usize,
    /// Title of the one to apply; without it they are listed.
    apply: Option<String>,
}

impl BuiltIn for CodeActionTool {
    fn build(parts: &ToolParts<'_>) -> Option<Arc<dyn DynTool>> {
        Some(erase(CodeActionTool(
            parts.project.clone(),
            parts.options.code_server.clone()?,
        )))
    }
}

impl Tool for CodeActionTool {
    const NAME: &'static str = "code_action";
    const ALIASES: &'static [&'static str] = &["lsp_code_action", "quick_fix"];
    const EFFECT: ToolEffect = ToolEffect::Mutating;
    const FACTS: ToolFacts = ToolFacts {
        kind: ToolKind::Edit,
        ..ToolFacts::DEFAULT
    };
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        let place = format!("{}:{}", input.path, input.line);
        match &input.apply {
            Some(title) => format!("{place} {title}"),
            None => place,
        }
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        self.0.read_actions(&input.path)
    }

    async fn run(&self, input: Input, context: CallContext) -> Result<Output, Error> {
        let path = self.0.locate(&input.path)?.path().to_owned();
        let offers = self.1.quick_fixes(&path, input.line).await?;
        let Some(title_to_apply) = input.apply else {
            return Ok(list(&offers));
        };
        match offers.into_iter().find(|offer| offer.title == title_to_apply) {
            Some(offer) => rewrite::apply_rewrites(&self.0, &context, offer.rewrites, &offer.title).await,
            None => Err(Error::Failed(format!(
                "there is no \"{title_to_apply}\" here; list them without apply"
            ))),
        }
    }
}

fn list(offers: &[QuickFix]) -> Output {
    let text: String = offers.iter().map(|offer| format!("{}\n", offer.title)).collect();
    let found = count(offers.len(), "action");
    Output::text(format!("{text}[{found}]")).with_summary(found)
}
