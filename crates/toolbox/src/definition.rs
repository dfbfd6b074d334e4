//! Shows where a symbol is defined.

use std::sync::Arc;

use index::Role;
use policy::Action;
use schemars::JsonSchema;
use serde::Deserialize;
use tool::{Context, Effect, Error, Output, Tool};

use crate::caps;
use crate::code_server::{CodeServer, Symbol};
use crate::project::{Project, aside, searching};
use crate::symbols::{self, Found, Place};
use crate::text::count;

const NAME: &str = "definition";

pub(crate) struct Definition(pub(crate) Project, pub(crate) Option<Arc<dyn CodeServer>>);

/// Finds where a symbol is defined.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    /// Its name, such as `parse` or `Parser::parse`.
    #[serde(alias = "name", alias = "symbol_name", alias = "query")]
    symbol: String,
    /// A file that uses it, where the name is common.
    #[serde(alias = "file_path", alias = "filePath")]
    path: Option<String>,
    /// The line there.
    line: Option<usize>,
}

impl Input {
    pub(crate) fn title(&self) -> String {
        self.symbol.clone()
    }

    /// The folder that is read, which is the whole project.
    pub(crate) fn actions(&self, project: &Project) -> Vec<Action> {
        let named = self.path.iter().flat_map(|path| project.reading(path));
        project.reading("").into_iter().chain(named).collect()
    }

    pub(crate) fn symbol(&self, project: &Project) -> Result<Symbol, Error> {
        if symbols::parts(&self.symbol).1.is_empty() {
            return Err(Error::Failed(
                "symbol is empty; give the name of a function, type or the like".into(),
            ));
        }
        let path = self.path.as_deref().map(|path| project.locate(path)).transpose()?;
        Ok(Symbol {
            name: self.symbol.clone(),
            path: path.map(|path| path.path().to_owned()),
            line: self.line,
        })
    }
}

impl Tool for Definition {
    const NAME: &'static str = NAME;
    const ALIASES: &'static [&'static str] = &["go_to_definition", "goto_definition", "find_definition", "find_symbol"];
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;

    fn title(&self, input: &Input) -> String {
        input.title()
    }

    fn actions(&self, input: &Input) -> Vec<Action> {
        input.actions(&self.0)
    }

    async fn run(&self, input: Input, _: Context) -> Result<Output, Error> {
        let symbol = input.symbol(&self.0)?;
        let root = self.0.locate("")?;
        if let Some(server) = &self.1
            && let pinned = symbols::pin(&self.0, symbol.clone()).await?
            && let Some(spots) = server.definition(&pinned).await.filter(|spots| !spots.is_empty())
        {
            let places = aside(move || {
                Ok(spots
                    .iter()
                    .map(|spot| symbols::read(&root, spot, Role::Definition))
                    .collect())
            })
            .await?;
            return Ok(answer(
                &symbol,
                Found {
                    places,
                    ..Found::default()
                },
            ));
        }
        let found = {
            let symbol = symbol.clone();
            searching(move |stop| symbols::find(&root, &symbol, stop)).await?
        };
        Ok(answer(&symbol, found))
    }
}

fn answer(symbol: &Symbol, mut found: Found) -> Output {
    let uses = found.places.iter().filter(|place| place.role == Role::Use).count();
    found.places.retain(|place| place.role == Role::Definition);
    let total = found.places.len();
    found.places.truncate(caps::of(NAME).entries);
    let mut text: String = found.places.iter().map(line).collect();
    let mut notes = vec![match (total, uses) {
        (0, 0) => format!("{} is not in the code of this project", symbol.name),
        (0, uses) => format!(
            "{} is not defined in this project, but used {}",
            symbol.name,
            count(uses, "time")
        ),
        (total, _) => count(total, "definition"),
    }];
    if total > found.places.len() {
        notes.push(format!("the first {} are shown", found.places.len()));
    }
    notes.extend(found.incomplete.then(|| "there may be more".to_owned()));
    notes.extend(found.gaps);
    text.push_str(&format!("[{}]", notes.join("; ")));
    Output::text(text).summary(count(total, "definition"))
}

/// One definition: `src/parser.rs:12-40 fn next(&mut self) [in Parser]`.
fn line(place: &Place) -> String {
    let lines = match place.span {
        Some((first, last)) if first < last => format!("{first}-{last}"),
        Some(_) | None => place.line.to_string(),
    };
    let within = match place.within.is_empty() {
        true => String::new(),
        false => format!(" [in {}]", place.within),
    };
    format!("{}:{lines} {}{within}\n", place.path, place.text)
}
