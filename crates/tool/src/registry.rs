//! The registry of tools, by name.

use crate::dynamic_tools::{FilteredTools, ToolFilter};
use crate::tool::erase;
use crate::{DynTool, DynamicTools, Tool};
use model::ToolSpec;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The available tools, ordered by name so that their list is deterministic.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn DynTool>>,
    aliases: BTreeMap<&'static str, String>,
    deferred: BTreeSet<String>,
    dynamic: Option<Arc<dyn DynamicTools>>,
}

impl Registry {
    /// Adds a tool. A tool with the same name is replaced.
    pub fn with(mut self, tool: impl Tool) -> Self {
        self.add(erase(tool));
        self
    }

    /// Adds a tool that can be called but is not listed: the model finds it with a search.
    pub fn add_deferred(&mut self, tool: Arc<dyn DynTool>) {
        let name = tool.spec().name.clone();
        self.add(tool);
        self.deferred.insert(name);
    }

    /// Adds a type-erased tool.
    pub fn add(&mut self, tool: Arc<dyn DynTool>) {
        let name = tool.spec().name.clone();
        self.deferred.remove(&name);
        for alias in tool.aliases() {
            self.aliases.insert(alias, name.clone());
        }
        self.tools.insert(name, tool);
    }

    /// Sets the source of dynamic tools.
    pub fn set_dynamic(&mut self, guests: Arc<dyn DynamicTools>) {
        self.dynamic = Some(guests);
    }

    /// The source of dynamic tools, if any.
    pub fn dynamic(&self) -> Option<&Arc<dyn DynamicTools>> {
        self.dynamic.as_ref()
    }

    /// Returns a registry with only the tools that match the filter. The filter also applies to dynamic tools that
    /// start later.
    pub fn filtered(&self, fits: impl Fn(&dyn DynTool) -> bool + Send + Sync + 'static) -> Self {
        let mut registry = self.clone();
        let fits: ToolFilter = Arc::new(fits);
        registry.tools.retain(|_, tool| fits(tool.as_ref()));
        registry.dynamic = registry
            .dynamic
            .map(|guests| Arc::new(FilteredTools { guests, fits }) as Arc<dyn DynamicTools>);
        let Registry {
            tools,
            aliases,
            deferred,
            dynamic: _,
        } = &mut registry;
        aliases.retain(|_, name| tools.contains_key(name));
        deferred.retain(|name| tools.contains_key(name));
        registry
    }

    /// The static tool with this name or alias.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn DynTool>> {
        self.tools
            .get(name)
            .or_else(|| self.aliases.get(name).and_then(|name| self.tools.get(name)))
    }

    /// The static or dynamic tool with this name or alias.
    pub fn find(&self, name: &str) -> Option<Arc<dyn DynTool>> {
        self.get(name).cloned().or_else(|| {
            let guests = self.dynamic.iter().flat_map(|guests| guests.tools());
            guests.into_iter().find(|tool| tool.spec().name == name)
        })
    }

    /// Adds an alias for a tool. Does nothing if the alias is in use or the tool does not exist.
    pub fn alias(&mut self, alias: &'static str, name: &str) {
        let of = self.get(name).map(|tool| tool.spec().name.clone());
        if let Some(of) = of.filter(|_| self.get(alias).is_none()) {
            self.aliases.insert(alias, of);
        }
    }

    /// The aliases of a tool, in order.
    pub fn aliases_of(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let aliases = self.aliases.iter();
        aliases
            .filter(move |(alias, of)| **of == name && **alias != name)
            .map(|(alias, _)| *alias)
    }

    /// Resolves a call by name or alias: the tool that runs it, and the input if it differs from the call's.
    pub fn resolve_call(&self, name: &str, input: &Value) -> Option<(Arc<dyn DynTool>, Option<Value>)> {
        let tool = self.find(name)?;
        Some(match tool.resolve(input, self) {
            Some((meant, input)) => (meant, Some(input)),
            None => (tool, None),
        })
    }

    /// Removes a tool by name or alias.
    pub fn remove(&mut self, name: &str) -> Option<Arc<dyn DynTool>> {
        let name = self.get(name)?.spec().name.clone();
        self.deferred.remove(&name);
        self.aliases.retain(|_, of| *of != name);
        self.tools.remove(&name)
    }

    /// Lists a deferred tool. Does nothing if it is listed already.
    pub fn undefer(&mut self, name: &str) {
        if let Some(name) = self.get(name).map(|tool| tool.spec().name.clone()) {
            self.deferred.remove(&name);
        }
    }

    /// Whether a tool is deferred: callable but not listed.
    pub fn is_deferred(&self, name: &str) -> bool {
        self.deferred.contains(name)
    }

    /// Wraps each tool. The wrapper must keep the name.
    pub fn map(mut self, wrap: impl Fn(Arc<dyn DynTool>) -> Arc<dyn DynTool>) -> Self {
        self.tools = self.tools.into_iter().map(|(name, tool)| (name, wrap(tool))).collect();
        self
    }

    /// The names of all static tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The specifications of the listed tools, in order.
    pub fn specs(&self) -> Arc<[ToolSpec]> {
        let listed = self.tools.iter().filter(|(name, _)| !self.deferred.contains(*name));
        listed.map(|(_, tool)| tool.spec().clone()).collect()
    }

    /// The deferred tools in order, then the dynamic tools.
    pub fn deferred(&self) -> impl Iterator<Item = Arc<dyn DynTool>> {
        let own = self.deferred.iter().filter_map(|name| self.tools.get(name).cloned());
        own.chain(self.dynamic.iter().flat_map(|guests| guests.tools()))
    }

    /// All static tools, in order.
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
    use crate::{CallContext, Error, Output, ToolEffect};
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
        const EFFECT: ToolEffect = ToolEffect::ReadOnly;
        type Input = AddInput;

        fn title(&self, input: &AddInput) -> String {
            format!("{:?}", input.numbers)
        }

        fn actions(&self, _: &AddInput) -> Vec<Action> {
            Vec::new()
        }

        async fn run(&self, input: AddInput, _: CallContext) -> Result<Output, Error> {
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
        let context = CallContext::detached("c".into(), features);
        Arc::clone(registry.get("sum").unwrap())
            .run(input.into(), context)
            .await
    }

    #[test]
    fn the_input_doc_comment_is_the_description_and_the_schema_is_minimal() {
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
    async fn almost_valid_input_is_coerced_and_errors_name_the_field() {
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
