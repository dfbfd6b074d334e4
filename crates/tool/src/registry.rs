//! The registry of tools, by name.

use crate::coerce::prepare;
use crate::dynamic_tools::{FilteredTools, ToolFilter};
use crate::tool::erase;
use crate::{DynTool, DynamicTools, RebuiltTool, Tool};
use model::ToolSpec;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The available tools, ordered by name so that their list is deterministic.
#[derive(Clone, Default)]
pub struct Registry {
    tools: BTreeMap<String, Arc<dyn DynTool>>,
    /// Other names. An alias stays when its tool is removed, so that a call of it can be answered.
    aliases: BTreeMap<&'static str, String>,
    /// Tools of other agents without an equivalent, and what to use instead.
    hints: BTreeMap<&'static str, &'static str>,
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
        let Registry { tools, deferred, .. } = &mut registry;
        deferred.retain(|name| tools.contains_key(name));
        let rebuilt: Vec<(String, RebuiltTool)> = registry
            .tools
            .iter()
            .map(|(name, tool)| (name.clone(), tool.rebuilt_for(&registry)))
            .collect();
        for (name, tool) in rebuilt {
            match tool {
                RebuiltTool::Unchanged => {}
                RebuiltTool::Replaced(tool) => drop(registry.tools.insert(name, tool)),
                RebuiltTool::Removed => drop(registry.tools.remove(&name)),
            }
        }
        registry
    }

    /// The static tool with this name or alias, in any spelling.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn DynTool>> {
        self.tools.get(self.own_name(name)?)
    }

    /// The name of the static tool that a name or alias stands for; the tool may have been removed. An exact match takes
    /// precedence over one in another spelling.
    fn own_name(&self, name: &str) -> Option<&str> {
        if let Some((own, _)) = self.tools.get_key_value(name) {
            return Some(own);
        }
        // The name of a removed tool does not become that of another one.
        let removed = self.aliases.values().find(|own| *own == name);
        if let Some(own) = self.aliases.get(name).or(removed) {
            return Some(own);
        }
        let folded = fold_name(name);
        let tools = self.tools.keys().map(|own| (own.as_str(), own.as_str()));
        let aliases = self.aliases.iter().map(|(alias, own)| (*alias, own.as_str()));
        let mut names = tools.chain(aliases);
        names.find(|(known, _)| fold_name(known) == folded).map(|(_, own)| own)
    }

    /// The static or dynamic tool with this name or alias. A tool of another program also has the name with its program,
    /// such as `mcp__server__tool`.
    pub fn find(&self, name: &str) -> Option<Arc<dyn DynTool>> {
        // `docs.search` is the tool of a program `docs` if there is one, and otherwise a spelling of `search`.
        let is_qualified = name.contains(NAMESPACE_ENDS);
        let own = self.get(name);
        if let Some(tool) = own.filter(|_| !is_qualified || self.tools.contains_key(name)) {
            return Some(Arc::clone(tool));
        }
        let dynamic = self.dynamic.iter().flat_map(|guests| guests.tools());
        let all: Vec<Arc<dyn DynTool>> = dynamic.chain(self.tools.values().cloned()).collect();
        let (whole, folded) = (fold_letters(name), fold_name(name));
        let found = all.iter().find(|tool| tool.spec().name == name);
        let found = found
            .or_else(|| all.iter().find(|tool| tool.answers_to(&whole)))
            .or(own);
        let found = found.or_else(|| all.iter().find(|tool| tool.answers_to(&folded)));
        let found = found.or_else(|| all.iter().find(|tool| fold_letters(&tool.spec().name) == whole));
        let found = found.or_else(|| all.iter().find(|tool| fold_name(&tool.spec().name) == folded));
        found.cloned()
    }

    /// Adds an alias for a tool. Does nothing if a tool has this name or alias.
    pub fn alias(&mut self, alias: &'static str, name: &str) {
        if !self.tools.contains_key(alias) && !self.aliases.contains_key(alias) {
            let own = self.own_name(name).unwrap_or(name).to_owned();
            self.aliases.insert(alias, own);
        }
    }

    /// Adds what to use instead of another agent's tool that has no equivalent.
    pub fn hint(&mut self, name: &'static str, hint: &'static str) {
        self.hints.insert(name, hint);
    }

    /// A sentence about an unavailable tool, if it is known: what to use instead, or that it is not available.
    pub fn hint_for(&self, name: &str) -> Option<String> {
        let folded = fold_name(name);
        let hint = self.hints.iter().find(|(known, _)| fold_name(known) == folded);
        match (hint, self.own_name(name)) {
            (Some((_, hint)), _) => Some(format!("In hew: {hint}.")),
            (None, Some(own)) if fold_name(own) == folded => Some("It is not available in this session.".to_owned()),
            (None, Some(own)) => Some(format!("In hew: `{own}`, which is not available in this session.")),
            (None, None) => None,
        }
    }

    /// The aliases of a tool, in order.
    pub fn aliases_of(&self, name: &str) -> impl Iterator<Item = &'static str> {
        let aliases = self.aliases.iter();
        aliases
            .filter(move |(alias, of)| **of == name && **alias != name)
            .map(|(alias, _)| *alias)
    }

    /// The names of tools that are not available, here or in other agents.
    pub fn unavailable_names(&self) -> impl Iterator<Item = &str> {
        let removed = self.aliases.iter().filter(|(_, own)| !self.tools.contains_key(*own));
        let removed = removed.flat_map(|(alias, own)| [*alias, own.as_str()]);
        removed.chain(self.hints.keys().copied())
    }

    /// Resolves a call by name or alias: the tool that runs it, and the input if it differs from the call's.
    pub fn resolve_call(&self, name: &str, input: &Value) -> Option<(Arc<dyn DynTool>, Option<Value>)> {
        let tool = self.find(name)?;
        let is_known = self.tools.contains_key(name) || self.aliases.contains_key(name);
        let adapted = adapted(tool.as_ref(), name, input).or_else(|| (!is_known).then(|| input.clone()));
        Some(match tool.resolve(adapted.as_ref().unwrap_or(input), self) {
            Some((meant, input)) => (meant, Some(input)),
            None => (tool, adapted),
        })
    }

    /// Resolves a call. If its tool is unknown while providers of tools are starting, waits for them, up to a time limit.
    pub async fn resolve_call_when_started(
        &self,
        name: &str,
        input: &Value,
    ) -> Option<(Arc<dyn DynTool>, Option<Value>)> {
        let resolved = self.resolve_call(name, input);
        let is_unknown = match &resolved {
            None => true,
            Some((tool, _)) => tool.is_forwarder(),
        };
        let Some(guests) = self.dynamic.as_ref().filter(|_| is_unknown) else {
            return resolved;
        };
        if !guests.starting().is_empty() {
            guests.wait_until_started().await;
        }
        self.resolve_call(name, input)
    }

    /// Removes a tool by name or alias.
    pub fn remove(&mut self, name: &str) -> Option<Arc<dyn DynTool>> {
        let name = self.get(name)?.spec().name.clone();
        self.deferred.remove(&name);
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

/// The characters after a namespace in a name.
const NAMESPACE_ENDS: [char; 3] = ['.', ':', '/'];

/// A name without case, separators, the namespace that some models put before it, such as `functions.`, and the number or
/// control token that some put after it, such as `:0` or `<|channel|>json`: `TodoWrite`, `todo_write` and `todowrite` are
/// one name.
pub fn fold_name(name: &str) -> String {
    let name = name.split("<|").next().unwrap_or(name);
    let name = match name.rsplit_once(':') {
        Some((own, number)) if !own.is_empty() && number.parse::<u32>().is_ok() => own,
        _ => name,
    };
    let own = name.rsplit(NAMESPACE_ENDS).next().filter(|own| !own.is_empty());
    fold_letters(own.unwrap_or(name))
}

/// A name without case and separators.
pub fn fold_letters(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

/// The input of a call in the form of the tool, if it differs.
pub fn adapted(tool: &dyn DynTool, name: &str, input: &Value) -> Option<Value> {
    let Value::Object(given) = input else {
        return None;
    };
    let mut adapted = given.clone();
    // Programs that provide tools define their input themselves.
    if tool.source().is_none() {
        prepare(&mut adapted);
    }
    tool.adapt(name, &mut adapted);
    (adapted != *given).then_some(Value::Object(adapted))
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

    #[test]
    fn a_name_is_found_in_any_spelling_and_answered_after_its_removal() {
        let mut registry = Registry::default().with(Add);
        registry.alias("AddNumbers", "add");
        registry.hint("subtract", "`add` with negative numbers");
        for name in [
            "add",
            "Add",
            "sum",
            "SUM",
            "AddNumbers",
            "add_numbers",
            "functions.addNumbers",
            "functions.add:0",
            "add<|channel|>json",
        ] {
            assert!(registry.get(name).is_some(), "{name}");
        }
        assert!(registry.get("adder").is_none());
        assert_eq!(
            registry.hint_for("Subtract").as_deref(),
            Some("In hew: `add` with negative numbers.")
        );
        registry.remove("add");
        assert!(registry.get("sum").is_none());
        let hint = registry.hint_for("add_numbers");
        let unavailable = "In hew: `add`, which is not available in this session.";
        assert_eq!(hint.as_deref(), Some(unavailable));
        let hint = registry.hint_for("add");
        assert_eq!(hint.as_deref(), Some("It is not available in this session."));
        assert_eq!(registry.hint_for("adder"), None);
    }

    #[tokio::test]
    async fn almost_valid_input_is_coerced_and_errors_name_the_field() {
        for input in [
            json!({"Numbers": [1, 2], "times": "2", "note": ""}),
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
        let times = json!({"numbers": [1, 2], "times": "", "note": []});
        assert_eq!(run(times).await, Ok(Output::text("3")));
        let error = run(json!({})).await.unwrap_err().to_string();
        assert_eq!(error, "invalid input for `add`: missing field `numbers`");
    }
}
