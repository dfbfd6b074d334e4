//! Shows where a symbol is used.

use std::sync::Arc;

use index::Role;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::caps;
use crate::code_server::CodeServer;
use crate::definition;
use crate::project::{Project, aside, searching};
use crate::symbols::{self, Found, Place};
use crate::text::count;

const NAME: &str = "references";

pub(crate) struct References(pub(crate) Project, pub(crate) Option<Arc<dyn CodeServer>>);

/// Finds where a symbol is used, leaving out comments and strings.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(flatten)]
    symbol: definition::Input,
    /// Results to skip.
    offset: Option<usize>,
}

impl Tool for References {
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &[
        "find_references",
        "find_usages",
        "list_code_usages",
        "lsp_references",
        "find_referencing_symbols",
    ];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.symbol.title()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.symbol.actions(&self.0)
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let symbol = input.symbol.symbol(&self.0)?;
        let offset = input.offset.unwrap_or(0);
        let root = self.0.locate("")?;
        if let Some(server) = &self.1
            && let pinned = symbols::pin(&self.0, symbol.clone()).await?
            && let Some(spots) = server.references(&pinned).await.filter(|spots| !spots.is_empty())
        {
            let places =
                aside(move || Ok(spots.iter().map(|spot| symbols::read(&root, spot, Role::Use)).collect())).await?;
            return Ok(answer(
                &symbol.name,
                Found {
                    places,
                    ..Found::default()
                },
                offset,
            ));
        }
        let name = symbol.name.clone();
        let found = searching(move |stop| symbols::find(&root, &symbol, stop)).await?;
        Ok(answer(&name, found, offset))
    }
}

fn answer(name: &str, found: Found, offset: usize) -> Output {
    let total = found.places.len();
    let cap = caps::of(NAME);
    let mut text = String::new();
    let mut last_path = "";
    let mut end = offset;
    for place in found.places.iter().skip(offset).take(cap.entries) {
        if text.len() > cap.bytes {
            break;
        }
        if place.path != last_path {
            text.push_str(&format!("{}\n", place.path));
            last_path = &place.path;
        }
        text.push_str(&line(place));
        end += 1;
    }
    let mut files: Vec<&str> = found.places.iter().map(|place| place.path.as_str()).collect();
    files.dedup();
    let found_in = format!("{} in {}", count(total, "line"), count(files.len(), "file"));
    let mut notes = vec![match total {
        0 => format!("{name} is not in the code of this project"),
        _ if offset >= total => format!("{found_in}; offset {offset} is past the end"),
        _ if end < total => format!("{}-{end} of {found_in}; go on with offset {end}", offset + 1),
        _ => found_in.clone(),
    }];
    if found.elsewhere > 0 {
        notes.push(format!(
            "also in {} outside of code; grep shows them",
            count(found.elsewhere, "file")
        ));
    }
    notes.extend(found.incomplete.then(|| "there may be more".to_owned()));
    notes.extend(found.gaps);
    text.push_str(&format!("[{}]", notes.join("; ")));
    Output::text(text).summary(found_in)
}

/// One line of a file: `12:self.next() [in Parser::parse]`.
fn line(place: &Place) -> String {
    let note = match (place.role, place.within.is_empty()) {
        (Role::Definition, _) => " [definition]".to_owned(),
        (Role::Use, true) => String::new(),
        (Role::Use, false) => format!(" [in {}]", place.within),
    };
    format!("{}:{}{note}\n", place.line, place.text)
}
