// Inspects `hew mcp serve` with the official TypeScript SDK. Arguments: the folder with packages, the binary, its arguments.
import { createRequire } from "node:module";

const [modules, command, ...args] = process.argv.slice(2);
const require = createRequire(modules + "/");
const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { ElicitRequestSchema } = require("@modelcontextprotocol/sdk/types.js");

const client = new Client({ name: "inspector", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { answer: process.env.ANSWER === "yes" } };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
const words = (result) => result.content.map((block) => block.text).join("\n");
const call = async (name, input) => {
  const result = await client.callTool({ name, arguments: input });
  return { error: result.isError === true, text: words(result) };
};
const { tools } = await client.listTools();
const report = {
  server: client.getServerVersion().name,
  tools: tools.map((tool) => tool.name),
  reading: tools.filter((tool) => tool.annotations?.readOnlyHint).map((tool) => tool.name),
  found: await call("grep", { pattern: "hello" }),
  read: await call("read_file", { path: "a.txt" }),
  edited: await call("edit_file", { path: "a.txt", old_text: "hello", new_text: "goodbye" }),
  outside: await call("write_file", { path: "../outside.txt", content: "x" }),
  unknown: await call("terminal", { command: "ls" }),
  task: await call("run_task", { task: "say it is done" }),
  asked,
};
console.log(JSON.stringify(report));
await client.close();
