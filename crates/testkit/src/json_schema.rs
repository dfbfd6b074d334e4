//! Validates JSON against a schema.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

use crate::error::Error;

/// A compiled JSON schema.
pub struct JsonSchemaValidator {
    schemas: Schemas,
    root: SchemaIndex,
}

impl JsonSchemaValidator {
    /// Compiles a schema. References must stay within it.
    pub fn new(schema: &Value) -> Result<Self, Error> {
        const URL: &str = "testkit:///schema.json";
        let invalid = |error: boon::CompileError| Error::Schema(format!("{error:#}"));
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(URL, schema.clone()).map_err(invalid)?;
        let root = compiler.compile(URL, &mut schemas).map_err(invalid)?;
        Ok(Self { schemas, root })
    }

    /// The violations of the schema; `None` if the value is valid.
    pub fn violations(&self, value: &Value) -> Option<String> {
        let error = self.schemas.validate(value, self.root).err()?;
        Some(format!("{error:#}"))
    }
}
