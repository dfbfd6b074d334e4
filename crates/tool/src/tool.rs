//! The typed tool and its erased twin.

use crate::coerce::coerce;
use crate::read::read;
use crate::{Context, Error, Output, Preview, Registry};
use futures::future::{BoxFuture, FutureExt};
use model::ToolSpec;
use policy::Action;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::future::Future;
use std::sync::Arc;

/// Whether a tool only looks, or changes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It only looks: it may run beside others and before the reply is complete.
    Reads,
    /// It changes something: calls run one after the other, in the order in which the model made them.
    Changes,
    /// It hands work on: such calls run beside each other, but not beside any other.
    Delegates,
}

/// A tool with a typed input. The doc comment of the input type is the tool's description for the model.
pub trait Tool: Send + Sync + 'static {
    /// What the model calls it.
    const NAME: &'static str;
    /// Other names under which models know this ability.
    const ALIASES: &'static [&'static str] = &[];
    /// Whether it only looks, or changes something.
    const EFFECT: Effect;
    /// What the model must say to use it.
    type Input: DeserializeOwned + JsonSchema + Send + 'static;

    /// One line for the person that says what this call does, such as `src/main.rs:1-40`.
    fn title(&self, input: &Self::Input) -> String;

    /// What it needs approved before it may run with this input.
    fn actions(&self, input: &Self::Input) -> Vec<Action>;

    /// Shows what a call will do while its input still streams, where the tool can.
    fn preview(&self) -> Option<Box<dyn Preview>> {
        None
    }

    /// Does it. Dropping the future stops it.
    fn run(&self, input: Self::Input, context: Context) -> impl Future<Output = Result<Output, Error>> + Send;
}

/// A tool whose input type has been erased. Only tools that are not known at build time implement it by hand.
pub trait DynTool: Send + Sync {
    /// How the model is told of it.
    fn spec(&self) -> &ToolSpec;

    /// Other names under which models know this ability.
    fn aliases(&self) -> &[&'static str];

    /// Whether it only looks, or changes something.
    fn effect(&self) -> Effect;

    /// One line for the person; the raw input where it does not fit the schema.
    fn title(&self, input: &Value) -> String;

    /// What it needs approved, or what is wrong with the input.
    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error>;

    /// Shows what a call will do while its input still streams, where the tool can.
    fn preview(&self) -> Option<Box<dyn Preview>>;

    /// The program that it belongs to, where that is not this one.
    fn source(&self) -> Option<&str> {
        None
    }

    /// The tool that a call means and the input for it, where this one only passes calls on: title, rules, effect and
    /// result are then the other's.
    fn resolve(&self, _input: &Value, _tools: &Registry) -> Option<(Arc<dyn DynTool>, Value)> {
        None
    }

    /// Does it.
    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>>;
}

/// Makes an erased tool of a typed one.
pub(crate) struct Erased<T: Tool> {
    tool: T,
    spec: ToolSpec,
}

impl<T: Tool> Erased<T> {
    pub(crate) fn new(tool: T) -> Self {
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
        slim(&mut schema);
        Erased {
            tool,
            spec: ToolSpec {
                name: T::NAME.into(),
                description,
                input_schema: schema,
            },
        }
    }

    fn parse(&self, input: &Value) -> Result<T::Input, Error> {
        let first = match read(input) {
            Ok(parsed) => return Ok(parsed),
            Err(error) => error,
        };
        let mended = coerce(input.clone(), &self.spec.input_schema);
        read(&mended).map_err(|_| Error::Input {
            tool: T::NAME.into(),
            detail: first.to_string(),
        })
    }
}

impl<T: Tool> DynTool for Erased<T> {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        T::ALIASES
    }

    fn effect(&self) -> Effect {
        T::EFFECT
    }

    fn title(&self, input: &Value) -> String {
        match self.parse(input) {
            Ok(input) => self.tool.title(&input),
            Err(_) => String::new(),
        }
    }

    fn actions(&self, input: &Value) -> Result<Vec<Action>, Error> {
        self.parse(input).map(|input| self.tool.actions(&input))
    }

    fn preview(&self) -> Option<Box<dyn Preview>> {
        self.tool.preview()
    }

    fn run(self: Arc<Self>, input: Value, context: Context) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let input = self.parse(&input)?;
            self.tool.run(input, context).await
        }
        .boxed()
    }
}

/// Doc comments are wrapped for people; a model pays for each line break.
fn unwrap_lines(text: &str) -> String {
    text.split("\n\n")
        .map(|paragraph| paragraph.split('\n').collect::<Vec<_>>().join(" "))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Takes out what tells a model nothing: number formats, `null` as a type or default, titles.
fn slim(schema: &mut Value) {
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
                    // The keys in here are names of fields, not words of the schema.
                    Value::Object(fields) if key == "properties" => fields.values_mut().for_each(slim),
                    _ => slim(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(slim),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
