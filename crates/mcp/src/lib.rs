//! Talks to MCP servers: their tools, resources and prompts, over every transport.
