//! The tool that reads resources of servers.

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt as _};
use model::{Block, ToolSpec};
use policy::Action;
use serde_json::{Value, json};
use tool::{CallContext, CallInput, CallPreview, DynTool, Error, Output, ToolEffect, fold_name};

use crate::content;
use crate::offer::{ResourceOffer, ServerOffer};
use crate::servers::WeakServers;

/// The name of the tool.
pub(crate) const NAME: &str = "access_mcp_resource";
const ALIASES: [&str; 5] = [
    "list_mcp_resource_templates",
    "list_mcp_resources",
    "ListMcpResourcesTool",
    "read_mcp_resource",
    "ReadMcpResourceTool",
];
/// Maximum bytes of a list.
const MAX_LIST_BYTES: usize = 16_000;

/// Reads resources of servers.
pub(crate) struct AccessResource {
    servers: WeakServers,
    spec: ToolSpec,
}

impl AccessResource {
    pub(crate) fn new(servers: &WeakServers) -> Self {
        AccessResource {
            servers: servers.clone(),
            spec: ToolSpec {
                name: NAME.into(),
                description: "Reads a resource of an MCP server. Without a uri, lists its resources.".into(),
                input_schema: json!({
                    "type": "object",
                    "properties": {"server_name": {"type": "string"}, "uri": {"type": "string"}},
                    "required": ["server_name"],
                }),
            },
        }
    }
}

struct Input {
    /// All servers, to list their resources.
    server: Option<String>,
    uri: Option<String>,
}

fn parse(input: &Value) -> Result<Input, Error> {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(key)?.as_str().map(str::to_owned));
    let text = |keys: &[&str]| text(keys).filter(|text| !text.is_empty());
    match (text(&["server_name", "server", "mcp_name"]), text(&["uri"])) {
        (None, Some(_)) => Err(Error::Input {
            tool: NAME.into(),
            detail: "missing field `server_name`".into(),
        }),
        (server, uri) => Ok(Input { server, uri }),
    }
}

impl DynTool for AccessResource {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn aliases(&self) -> &[&'static str] {
        &ALIASES
    }

    fn answers_to(&self, folded: &str) -> bool {
        [NAME].iter().chain(&ALIASES).any(|name| fold_name(name) == folded)
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::ReadOnly
    }

    fn title(&self, input: &CallInput) -> String {
        match parse(input) {
            Ok(Input { server, uri }) => [server, uri].into_iter().flatten().collect::<Vec<_>>().join(": "),
            Err(_) => String::new(),
        }
    }

    fn actions(&self, input: &CallInput) -> Result<Vec<Action>, Error> {
        let input = parse(input)?;
        // Listing only uses cached data.
        Ok(match (input.server, input.uri) {
            (Some(server), Some(_)) => vec![Action::Mcp {
                server,
                tool: NAME.into(),
            }],
            (_, _) => Vec::new(),
        })
    }

    fn preview(&self) -> Option<Box<dyn CallPreview>> {
        None
    }

    fn run(self: Arc<Self>, input: CallInput, context: CallContext) -> BoxFuture<'static, Result<Output, Error>> {
        async move {
            let input = parse(&input)?;
            let Some(name) = input.server else {
                return Ok(list_all(&self.servers.offers()));
            };
            let server = self.servers.server(&name)?;
            match input.uri {
                Some(uri) => {
                    let read = server.read(&uri, &context).await?;
                    Ok(Output {
                        content: content::resource(read.contents, context.features),
                        ..Output::default()
                    })
                }
                None => {
                    let offer = server.snapshot().offer.unwrap_or_default();
                    Ok(list(&offer.resources, &offer.templates))
                }
            }
        }
        .boxed()
    }
}

/// The resources of all servers, each with the name of its server.
fn list_all(offers: &[(String, Arc<ServerOffer>)]) -> Output {
    let named = |server: &str, resource: &ResourceOffer| ResourceOffer {
        uri: format!("{server}: {}", resource.uri),
        ..resource.clone()
    };
    let all = offers.iter().flat_map(|(server, offer)| {
        let resources = offer.resources.iter().chain(&offer.templates);
        resources.map(move |resource| named(server, resource))
    });
    list(&all.collect::<Vec<_>>(), &[])
}

fn list(resources: &[ResourceOffer], templates: &[ResourceOffer]) -> Output {
    let mut text = String::new();
    let all: Vec<&ResourceOffer> = resources.iter().chain(templates).collect();
    for (place, resource) in all.iter().enumerate() {
        if text.len() > MAX_LIST_BYTES {
            text.push_str(&format!("[{} more]\n", all.len() - place));
            break;
        }
        let about = resource.description.as_deref().unwrap_or(&resource.name);
        let mime = resource
            .mime
            .as_deref()
            .map(|mime| format!(" ({mime})"))
            .unwrap_or_default();
        text.push_str(&format!("{}{mime}: {about}\n", resource.uri));
    }
    if text.is_empty() {
        text = "The server has no resources.".into();
    }
    Output {
        content: vec![Block::text(text)],
        ..Output::default()
    }
}
