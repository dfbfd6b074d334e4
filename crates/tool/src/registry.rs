//! The tools on offer, by name.

use crate::guests::{Chosen, Fits};
use crate::tool::Erased;
use crate::{DynTool, Guests, Tool};
use model::ToolSpec;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The tools on offer. They are listed in the order of their names, so that the list never changes by chance.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn DynTool>>,
    aliases: BTreeMap<&'static str, String>,
    deferred: BTreeSet<String>,
    guests: Option<Arc<dyn Guests>>,
}

impl Registry {
    /// The same, with one more tool. A later tool of the same name replaces an earlier one.
    pub fn with(mut self, tool: impl Tool) -> Self {
        self.add(Arc::new(Erased::new(tool)));
        self
    }

    /// The same, with one more tool that is served but not listed: the model finds it when it looks for one.
    pub fn with_deferred(mut self, tool: impl Tool) -> Self {
        self.add_deferred(Arc::new(Erased::new(tool)));
        self
    }

    /// Adds a tool that is served but not listed.
    pub fn add_deferred(&mut self, tool: Arc<dyn DynTool>) {
        let name = tool.spec().name.clone();
        self.add(tool);
        self.deferred.insert(name);
    }

    /// Adds a tool whose input type is not known at build time.
    pub fn add(&mut self, tool: Arc<dyn DynTool>) {
        let name = tool.spec().name.clone();
        self.deferred.remove(&name);
        for alias in tool.aliases() {
            self.aliases.insert(alias, name.clone());
        }
        self.tools.insert(name, tool);
    }

    /// Serves guests too, in place of any before.
    pub fn receive(&mut self, guests: Arc<dyn Guests>) {
        self.guests = Some(guests);
    }

    /// The guests, where there may be some.
    pub fn guests(&self) -> Option<&Arc<dyn Guests>> {
        self.guests.as_ref()
    }

    /// The same, with only the tools that fit; also of those that are still to come.
    pub fn only(&self, fits: impl Fn(&dyn DynTool) -> bool + Send + Sync + 'static) -> Self {
        let mut registry = self.clone();
        let fits: Fits = Arc::new(fits);
        registry.tools.retain(|_, tool| fits(tool.as_ref()));
        registry.guests = registry
            .guests
            .map(|guests| Arc::new(Chosen { guests, fits }) as Arc<dyn Guests>);
        let Registry {
            tools,
            aliases,
            deferred,
            guests: _,
        } = &mut registry;
        aliases.retain(|_, name| tools.contains_key(name));
        deferred.retain(|name| tools.contains_key(name));
        registry
    }

    /// The tool of this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn DynTool>> {
        self.tools
            .get(name)
            .or_else(|| self.aliases.get(name).and_then(|name| self.tools.get(name)))
    }

    /// The tool of this name or alias, also where it is a guest.
    pub fn find(&self, name: &str) -> Option<Arc<dyn DynTool>> {
        self.get(name).cloned().or_else(|| {
            let guests = self.guests.iter().flat_map(|guests| guests.tools());
            guests.into_iter().find(|tool| tool.spec().name == name)
        })
    }

    /// Makes a tool known under another name, unless that is taken or there is no such tool.
    pub fn alias(&mut self, alias: &'static str, name: &str) {
        let of = self.get(name).map(|tool| tool.spec().name.clone());
        if let Some(of) = of.filter(|_| self.get(alias).is_none()) {
            self.aliases.insert(alias, of);
        }
    }

    /// The other names of a tool, in order.
    pub fn aliases_of(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let aliases = self.aliases.iter();
        aliases
            .filter(move |(alias, of)| **of == name && **alias != name)
            .map(|(alias, _)| *alias)
    }

    /// The tool that serves a call of this name or alias, and the input for it where that is not the call's own.
    pub fn serving(&self, name: &str, input: &Value) -> Option<(Arc<dyn DynTool>, Option<Value>)> {
        let tool = self.find(name)?;
        Some(match tool.resolve(input, self) {
            Some((meant, input)) => (meant, Some(input)),
            None => (tool, None),
        })
    }

    /// Takes a tool out, under its name or an alias.
    pub fn remove(&mut self, name: &str) -> Option<Arc<dyn DynTool>> {
        let name = self.get(name)?.spec().name.clone();
        self.deferred.remove(&name);
        self.aliases.retain(|_, of| *of != name);
        self.tools.remove(&name)
    }

    /// Lists a tool that would have to be looked for; one that is listed stays so.
    pub fn list(&mut self, name: &str) {
        if let Some(name) = self.get(name).map(|tool| tool.spec().name.clone()) {
            self.deferred.remove(&name);
        }
    }

    /// Whether a tool has to be looked for.
    pub fn is_deferred(&self, name: &str) -> bool {
        self.deferred.contains(name)
    }

    /// The same tools, each put into something else of the same name.
    pub fn map(mut self, wrap: impl Fn(Arc<dyn DynTool>) -> Arc<dyn DynTool>) -> Self {
        self.tools = self.tools.into_iter().map(|(name, tool)| (name, wrap(tool))).collect();
        self
    }

    /// The names on offer, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// How the model is told of them, in order; those that it has to look for are left out.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        let listed = self.tools.iter().filter(|(name, _)| !self.deferred.contains(*name));
        listed.map(|(_, tool)| tool.spec().clone()).collect()
    }

    /// The tools that the model has to look for, in order, and last the guests.
    pub fn deferred(&self) -> impl Iterator<Item = Arc<dyn DynTool>> {
        let own = self.deferred.iter().filter_map(|name| self.tools.get(name).cloned());
        own.chain(self.guests.iter().flat_map(|guests| guests.tools()))
    }

    /// All tools, in order.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn DynTool>> {
        self.tools.values()
    }
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.tools.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, Effect, Error, Output};
    use policy::Action;
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    /// Adds numbers
    /// together.
    ///
    /// Only small ones.
    #[derive(Deserialize, JsonSchema)]
    struct AddInput {
        /// The numbers.
        numbers: Vec<i64>,
        /// How often.
        times: Option<u32>,
        note: Option<String>,
    }

    struct Add;

    impl Tool for Add {
        const NAME: &'static str = "add";
        const ALIASES: &'static [&'static str] = &["sum"];
        const EFFECT: Effect = Effect::Reads;
        type Input = AddInput;

        fn title(&self, input: &AddInput) -> String {
            format!("{:?}", input.numbers)
        }

        fn actions(&self, _: &AddInput) -> Vec<Action> {
            Vec::new()
        }

        async fn run(&self, input: AddInput, _: Context) -> Result<Output, Error> {
            let sum: i64 = input.numbers.iter().sum::<i64>() * i64::from(input.times.unwrap_or(1));
            Ok(Output::text(format!("{sum}{}", input.note.unwrap_or_default())))
        }
    }

    async fn run(input: Value) -> Result<Output, Error> {
        let registry = Registry::default().with(Add);
        let features = model::Features {
            tools: true,
            parallel_tools: true,
            images: false,
            pdf: false,
            reasoning: false,
            caching: false,
        };
        let context = Context::alone("c".into(), features);
        Arc::clone(registry.get("sum").unwrap()).run(input, context).await
    }

    #[test]
    fn the_doc_comment_of_the_input_is_the_description_and_the_schema_is_slim() {
        let specs = Registry::default().with(Add).specs();
        assert_eq!(specs[0].description, "Adds numbers together.\nOnly small ones.");
        assert_eq!(
            specs[0].input_schema,
            json!({
                "type": "object",
                "properties": {
                    "numbers": {"description": "The numbers.", "type": "array", "items": {"type": "integer"}},
                    "times": {"description": "How often.", "type": "integer"},
                    "note": {"type": "string"},
                },
                "required": ["numbers"],
            })
        );
    }

    #[tokio::test]
    async fn near_misses_are_understood_and_real_mistakes_are_named() {
        for input in [
            json!({"numbers": [1, 2], "times": "2"}),
            json!({"numbers": "[1, 2]", "times": 2.0}),
            json!({"numbers": ["1", "2"], "times": 2, "note": null}),
        ] {
            assert_eq!(run(input).await, Ok(Output::text("6")));
        }
        let error = run(json!({"numbers": [1, "two"]})).await.unwrap_err().to_string();
        assert!(
            error.starts_with("invalid input for `add`: numbers[1]: invalid type"),
            "{error}"
        );
        let error = run(json!({})).await.unwrap_err().to_string();
        assert_eq!(error, "invalid input for `add`: missing field `numbers`");
    }
}
