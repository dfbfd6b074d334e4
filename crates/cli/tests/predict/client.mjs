// An editor with the official protocol library: `node client.mjs HEW`, in the project. Prints a JSON report.

import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const load = createRequire(join(process.env.HEW_NODE_MODULES, "resolve.js"));
const lsp = load("vscode-languageserver-protocol/node");
const child = spawn(process.argv[2], ["predict", "--stdio"], { stdio: ["pipe", "pipe", "inherit"] });
const exited = new Promise((resolve) => child.on("exit", resolve));
const connection = lsp.createProtocolConnection(new lsp.StreamMessageReader(child.stdout), new lsp.StreamMessageWriter(child.stdin));
connection.listen();

const versions = new Map();
const uri = (name) => pathToFileURL(join(process.cwd(), name)).href;
const open = (name, text) => {
  versions.set(name, 1);
  return connection.sendNotification(lsp.DidOpenTextDocumentNotification.type, { textDocument: lsp.TextDocumentItem.create(uri(name), "rust", 1, text) });
};
const change = (name, ...contentChanges) => {
  versions.set(name, versions.get(name) + 1);
  return connection.sendNotification(lsp.DidChangeTextDocumentNotification.type, { textDocument: { uri: uri(name), version: versions.get(name) }, contentChanges });
};
const at = (line, character, text) => ({ range: lsp.Range.create(line, character, line, character), text });
const complete = (name, line, character, kind = lsp.InlineCompletionTriggerKind.Invoked, token = undefined) => connection.sendRequest(lsp.InlineCompletionRequest.type,
  { textDocument: { uri: uri(name) }, position: lsp.Position.create(line, character), context: { triggerKind: kind } }, token);
/** The first item as `line:start-end text`. */
const shown = (answer) => {
  const item = answer.items[0];
  return item ? `${item.range.start.line}:${item.range.start.character}-${item.range.end.character} ${item.insertText}` : null;
};
const code = (request) => request.then(() => "answered", (error) => error.code);

const report = {};
const root = pathToFileURL(process.cwd()).href;
const initialized = await connection.sendRequest(lsp.InitializeRequest.type, {
  processId: process.pid, rootUri: root, workspaceFolders: [{ uri: root, name: "project" }],
  capabilities: { textDocument: { inlineCompletion: { dynamicRegistration: true } } },
});
report.capabilities = [initialized.capabilities.positionEncoding, typeof initialized.capabilities.inlineCompletionProvider];
await connection.sendNotification(lsp.InitializedNotification.type, {});

// Line breaks, tabs and characters outside of the basic plane.
report.texts = {};
for (const [name, text, line, character] of [
  ["lf", "let x = \nend\n", 0, 8], ["crlf", "let x = \r\nend\r\n", 0, 8], ["tab", "\tlet x = \n", 0, 9], ["astral", "// 😀😀\nlet 𝒳 = \n", 1, 9],
  ["combining", "let e\u0301 = \n", 0, 9], ["joined", "s = '👨‍👩‍👧' + \n", 0, 17], ["bom", "\ufefflet x = \n", 0, 9], ["no line break", "let x = ", 0, 8], ["empty", "", 0, 0],
]) {
  const file = `${name.replaceAll(" ", "_")}.rs`;
  await open(file, text);
  report.texts[name] = shown(await complete(file, line, character));
}
await open("lines.rs", "fn lines() {\r\n    \r\n}\r\n");
report.lines = (await complete("lines.rs", 1, 4)).items[0].insertText;
await open("long.rs", Array.from({ length: 50000 }, (_, line) => `let v${line} = ${line};\n`).join(""));
await change("long.rs", at(25000, 0, "x = \n"));
report.long = shown(await complete("long.rs", 25000, 4));

// Whole texts, and several changes in one notification.
await open("changes.rs", "a\nb\nc = \n");
await change("changes.rs", { text: "one\na\nc = \n" });
await change("changes.rs", { range: lsp.Range.create(0, 0, 1, 0), text: "" }, at(0, 1, "bb"));
report.changes = shown(await complete("changes.rs", 1, 4));

// Documents that are unknown, closed or outside of the project.
await connection.sendNotification(lsp.DidCloseTextDocumentNotification.type, { textDocument: { uri: uri("lf.rs") } });
await open("../outside.rs", "x = \n");
report.none = await Promise.all(["unknown.rs", "lf.rs", "../outside.rs"].map(async (name) => shown(await complete(name, 0, 4))));

// A cancelled request, and keystrokes that are faster than the model. The server answers the last one.
await open("typed.rs", "wait \n");
const source = new lsp.CancellationTokenSource();
const waiting = code(complete("typed.rs", 0, 5, lsp.InlineCompletionTriggerKind.Invoked, source.token));
source.cancel();
report.cancelled = await waiting;
const requests = [];
for (let key = 0; key < 200; key += 1) {
  await change("typed.rs", at(0, 5 + key, "a"));
  const kind = key % 2 ? lsp.InlineCompletionTriggerKind.Automatic : lsp.InlineCompletionTriggerKind.Invoked;
  requests.push(complete("typed.rs", 0, 6 + key, kind).then(shown, (error) => error.code));
}
const answers = await Promise.all(requests);
report.last = answers.pop();
report.superseded = [...new Set(answers)];

await connection.sendRequest(lsp.ShutdownRequest.type);
report.afterShutdown = await code(complete("typed.rs", 0, 0));
await connection.sendNotification(lsp.ExitNotification.type);
report.exit = await exited;
console.log(JSON.stringify(report));
process.exit(0);
