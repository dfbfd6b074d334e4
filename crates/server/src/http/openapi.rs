//! Routes and their description in one place: what is routed is described, and the other way round.

use super::routes;
use super::service::HttpState;
use super::types::ErrorBody;
use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodFilter, on};
use http::Method;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Collects routes and their descriptions.
pub(super) struct ApiRoutes {
    pub(super) router: Router<Arc<HttpState>>,
    paths: Map<String, Value>,
    generator: SchemaGenerator,
}

/// The description of a route.
pub(super) struct RouteDoc {
    summary: &'static str,
    query: Vec<(&'static str, &'static str)>,
    body: Option<fn(&mut SchemaGenerator) -> Schema>,
    response: ResponseDoc,
}

enum ResponseDoc {
    Json(fn(&mut SchemaGenerator) -> Schema),
    Other(&'static str),
    Empty,
}

/// The description of a route without a body, which returns nothing.
pub(super) fn doc(summary: &'static str) -> RouteDoc {
    RouteDoc {
        summary,
        query: Vec::new(),
        body: None,
        response: ResponseDoc::Empty,
    }
}

impl RouteDoc {
    pub(super) fn query(mut self, name: &'static str, description: &'static str) -> Self {
        self.query.push((name, description));
        self
    }

    pub(super) fn accepts<T: JsonSchema>(mut self) -> Self {
        self.body = Some(|generator| generator.subschema_for::<T>());
        self
    }

    pub(super) fn returns<T: JsonSchema>(mut self) -> Self {
        self.response = ResponseDoc::Json(|generator| generator.subschema_for::<T>());
        self
    }

    pub(super) fn returns_type(mut self, media_type: &'static str) -> Self {
        self.response = ResponseDoc::Other(media_type);
        self
    }
}

impl ApiRoutes {
    pub(super) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        ApiRoutes {
            router: Router::new(),
            paths: Map::new(),
            generator: settings.into_generator(),
        }
    }

    /// Adds a route.
    pub(super) fn route<H, T>(&mut self, method: Method, path: &'static str, doc: RouteDoc, handler: H)
    where
        H: Handler<T, Arc<HttpState>>,
        T: 'static,
    {
        let description = self.describe(path, &doc);
        let operations = self.paths.entry(path).or_insert_with(|| json!({}));
        if let Some(operations) = operations.as_object_mut() {
            operations.insert(method.as_str().to_ascii_lowercase(), description);
        }
        // All methods of this API are known to the router.
        if let Ok(filter) = MethodFilter::try_from(method) {
            self.router = std::mem::take(&mut self.router).route(path, on(filter, handler));
        }
    }

    fn describe(&mut self, path: &str, doc: &RouteDoc) -> Value {
        let in_path = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
        let in_path =
            in_path.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
        let in_query = doc.query.iter().map(|(name, description)| {
            json!({"name": name, "in": "query", "description": description, "schema": {"type": "string"}})
        });
        let parameters: Vec<Value> = in_path.chain(in_query).collect();
        let content = match &doc.response {
            ResponseDoc::Json(schema) => json!({"application/json": {"schema": schema(&mut self.generator)}}),
            ResponseDoc::Other(media_type) => json!({*media_type: {"schema": {"type": "string"}}}),
            ResponseDoc::Empty => json!({"application/json": {"schema": {"type": "object"}}}),
        };
        let error = self.generator.subschema_for::<ErrorBody>();
        let mut operation = json!({
            "summary": doc.summary,
            "parameters": parameters,
            "responses": {
                "200": {"description": "Success", "content": content},
                "default": {"description": "An error", "content": {"application/json": {"schema": error}}},
            },
        });
        if let (Some(body), Some(operation)) = (doc.body, operation.as_object_mut()) {
            let schema = body(&mut self.generator);
            operation.insert(
                "requestBody".into(),
                json!({"required": true, "content": {"application/json": {"schema": schema}}}),
            );
        }
        operation
    }

    fn document(mut self) -> Value {
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "hew",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Sessions of a coding agent. Every request needs a token: `Authorization: Bearer TOKEN`, or the \
                    cookie of a paired browser, which also needs the header `X-Hew-CSRF` for changes.",
            },
            "security": [{"token": []}, {"cookie": [], "csrf": []}],
            "paths": self.paths,
            "components": {
                "schemas": self.generator.take_definitions(true),
                "securitySchemes": {
                    "token": {"type": "http", "scheme": "bearer"},
                    "cookie": {"type": "apiKey", "in": "cookie", "name": "hew"},
                    "csrf": {"type": "apiKey", "in": "header", "name": "X-Hew-CSRF"},
                },
            },
        })
    }
}

/// The OpenAPI description of the whole API.
pub fn document() -> Value {
    routes::all().document()
}
