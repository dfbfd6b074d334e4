//! The typed [`Tool`] trait and its type-erased counterpart [`DynTool`].

use crate::coerce::{coerce, without_empty};
use crate::decode::decode_call;
use crate::{CallContext, CallInput, CallPreview, Error, Output, Registry, ToolFacts};
use futures::future::{BoxFuture, FutureExt};
use model::ToolSpec;
use policy::Action;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::future::Future;
use std::sync::Arc;

/// Which kind of side effects a tool has. It determines which calls may run concurrently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolEffect {
    /// Reads only. Calls may run concurrently, and before the reply is complete.
    ReadOnly,
    /// Changes something. Calls run sequentially, in the order of the model's reply.
    Mutating,
    /// Starts subtasks. Calls run concurrently with each other, but not with calls of another kind.
    Delegating,
}

/// A tool with a typed input. The doc comment of the input type is the tool's description for the model.
pub trait Tool: Send + Sync + 'static {
    /// The tool's name.
    const NAME: &'static str;
    /// Other names that models use for this tool.
    const ALIASES: &'static [&'static str] = &[];
    /// The kind of side effects.
    const EFFECT: ToolEffect;
    /// Further facts.
    const FACTS: ToolFacts = ToolFacts::DEFAULT;
    /// The arguments.
    type Input: DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// A one-line description of the call for the user, such as `src/main.rs:1-40`.
    fn title(&self, input: &Self::Input) -> String;

    /// The actions that must be approved before the tool runs with this input.
    fn actions(&self, input: &Self::Input) -> Vec<Action>;

    /// Rewrites the arguments of other agents' tools, if their names or values differ. `called` is the name in the call.
    fn adapt(&self, _called: &str, _input: &mut Map<String, Value>) {}

    /// The tool that a call means instead of this one, by name, and its input. Title, approvals and result are then those
    /// of that tool.
    fn redirect(&self, _input: &Value) -> Option<(&'static str, Value)> {
        None
    }

    /// Returns a preview of calls whose input is still streaming, if the tool supports it.
    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    /// Fails if it is certain, without any effect, that [`Tool::run`] would fail. Called before the user is asked to approve
    /// the call, and only if its files may be read.
    fn check(&self, _input: &Self::Input) -> impl Future<Output = Result<(), Error>> + Send {
        std::future::ready(Ok(()))
    }

    /// Runs the call. Dropping the future cancels it.
    fn run(&self, input: Self::Input, context: CallContext) -> impl Future<Output = Result<Output, Error>> + Send;
}

/// A type-erased tool. Only tools that are unknown at build time implement it directly.
pub trait DynTool: Send + Sync {
    /// Name, description and input schema.
    fn spec(&self) -> &ToolSpec;

    /// Other names that models use for this tool.
    fn aliases(&self) -> &[&'static str];

    /// The kind of side effects.
    fn effect(&self) -> ToolEffect;

    /// Further facts.
    fn facts(&self) -> ToolFacts {
        ToolFacts::DEFAULT
    }

    /// Rewrites the arguments of other agents' tools. `called` is the name in the call.
    fn adapt(&self, _called: &str, _input: &mut Map<String, Value>) {}

    /// Whether another program's name for the tool, folded by [`crate::fold_name`], means this tool.
    fn answers_to(&self, _folded: &str) -> bool {
        false
    }

    /// This tool for another set of tools, if it describes or serves the others.
    fn rebuilt_for(&self, _tools: &Registry) -> RebuiltTool {
        RebuiltTool::Unchanged
    }

    /// Whether the tool only forwards calls to others.
    fn is_forwarder(&self) -> bool {
        false
    }

    /// A one-line description of the call for the user; empty if the input is invalid.
    fn title(&self, input: &CallInput) -> String;

    /// The actions that must be approved, or what is wrong with the input.
    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error>;

    /// Returns a preview of calls whose input is still streaming, if the tool supports it.
    fn preview(&self) -> Option<Box<dyn CallPreview>>;

    /// The external program that provides the tool, if any.
    fn source(&self) -> Option<&str> {
        None
    }

    /// Forwards a call: returns the tool and the input to use instead, if this tool only forwards calls. Title,
    /// approvals, effect and result are then those of the returned tool.
    fn resolve(&self, _input: &Value, _tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        None
    }

    /// Fails if it is certain, without any effect, that the call would fail.
    fn check<'a>(&'a self, _input: &'a CallInput) -> BoxFuture<'a, Result<(), Error>> {
        std::future::ready(Ok(())).boxed()
    }

    /// Runs the call.
    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>>;
}

/// A tool after the set of tools has changed.
pub enum RebuiltTool {
    /// It does not depend on the others.
    Unchanged,
    /// It is replaced.
    Replaced(Arc<dyn DynTool>),
    /// It is not needed.
    Removed,
}

/// Erases the type of a tool.
pub fn erase(tool: impl Tool) -> Arc<dyn DynTool> {
    Arc::new(ErasedTool::new(tool))
}

/// Adapts a typed tool to [`DynTool`].
struct ErasedTool<T: Tool> {
    tool: T,
    spec: ToolSpec,
}

impl<T: Tool> ErasedTool<T> {
    fn new(tool: T) -> Self {
        let mut schema = schemars::SchemaGenerator::new(schemars::generate::SchemaSettings::draft2020_12().with(|s| {
            s.inline_subschemas = true;
            s.meta_schema = None;
        }))
        .into_root_schema_for::<T::Input>()
        .to_value();
        let description = match schema.as_object_mut() {
            Some(object) => {
                object.remove("title");
                object
                    .shift_remove("description")
                    .and_then(|text| text.as_str().map(unwrap_lines))
                    .unwrap_or_default()
            }
            None => String::new(),
        };
        strip_schema(&mut schema);
        ErasedTool {
            tool,
            spec: ToolSpec {
                name: T::NAME.into(),
                description,
                input_schema: schema,
            },
        }
    }

    fn parse(&self, input: &Value) -> Result<T::Input, Error> {
        let first = match decode_call(input) {
            Ok(parsed) => return Ok(parsed),
            Err(error) => error,
        };
        let schema = &self.spec.input_schema;
        let coerced = coerce(input.clone(), schema);
        let parsed = decode_call(&coerced).or_else(|_| decode_call(&without_empty(coerced, schema)));
        parsed.map_err(|_| Error::Input {
            tool: T::NAME.into(),
            detail: first.to_string().replacen("unknown variant", "unknown value", 1),
        })
    }
}

impl<T: Tool> DynTool for ErasedTool<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        T::ALIASES
    }

    fn effect(&self) -> ToolEffect {
        T::EFFECT
    }

    fn facts(&self) -> ToolFacts {
        T::FACTS
    }

    fn adapt(&self, called: &str, input: &mut Map<String, Value>) {
        self.tool.adapt(called, input);
    }

    fn title(&self, input: &CallInput) -> String {
        match input.parsed(|input| self.parse(input)) {
            Ok(input) => self.tool.title(input),
            Err(_) => String::new(),
        }
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        let parsed = input.parsed(|input| self.parse(input))?;
        let actions = self.tool.actions(parsed);
        input.submit(&actions);
        Ok(actions)
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        self.tool.preview()
    }

    fn resolve(&self, input: &Value, tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        let (name, input) = self.tool.redirect(input)?;
        Some((tools.find(name)?, input))
    }

    fn check<'a>(&'a self, input: &'a CallInput) -> BoxFuture<'a, Result<(), Error>> {
        async move {
            let parsed = input.parsed(|input| self.parse(input))?;
            input.submitted().scope_future(self.tool.check(parsed)).await
        }
        .boxed()
    }

    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let approved = input.submitted();
            let input = input.into_parsed(|input| self.parse(input))?;
            approved.scope_future(self.tool.run(input, context)).await
        }
        .boxed()
    }
}

/// Joins the lines of each paragraph: doc comments are wrapped, and line breaks cost tokens.
fn unwrap_lines(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| paragraph.split('\n').collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Removes schema entries that do not help a model: number formats, `null` types and defaults, titles.
fn strip_schema(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("format");
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if object.get("minimum") == Some(&Value::from(0)) {
                object.remove("minimum");
            }
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|name| name != "null");
                if let [only] = types.as_slice() {
                    let only = only.clone();
                    object.insert("type".into(), only);
                }
            }
            if let Some(Value::String(text)) = object.get_mut("description") {
                *text = unwrap_lines(text);
            }
            for (key, value) in object.iter_mut() {
                match value {
                    // These keys are field names, not schema keywords.
                    Value::Object(fields) if key == "properties" => fields.values_mut().for_each(strip_schema),
                    _ => strip_schema(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(strip_schema),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
