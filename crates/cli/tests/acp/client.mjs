// Drives an ACP agent with the official TypeScript SDK through a whole task. Arguments: node_modules, project, command of the agent.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [modules, root, command, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(`${modules}/@agentclientprotocol/sdk/dist/v1/stable/acp.js`).href);
const { methods } = acp;

const child = spawn(command, args, { cwd: root, stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));

let updates = [];
const asked = [];
let answers = [];
let running = () => {};
const take = () => updates.splice(0);

const app = acp
  .client({ name: "test" })
  .onRequest(methods.client.session.requestPermission, async ({ params, agent }) => {
    asked.push({ call: params.toolCall, options: params.options.map((option) => option.kind) });
    const wanted = answers.shift();
    if (wanted === "cancel") {
      await agent.notify(methods.agent.session.cancel, { sessionId: params.sessionId });
      return { outcome: { outcome: "cancelled" } };
    }
    const chosen = params.options.find((option) => option.kind === wanted);
    return { outcome: { outcome: "selected", optionId: chosen.optionId } };
  })
  .onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    if (params.update.status === "in_progress") running();
  });

const report = await app.connectWith(stream, async (agent) => {
  const call = (method, params) => agent.request(method, params);
  const hello = await call(methods.agent.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false } },
    clientInfo: { name: "test", version: "1" },
  });
  await call(methods.agent.authenticate, { methodId: hello.authMethods[0].id });
  const report = { agent: hello.agentInfo.name, version: hello.protocolVersion, prompts: [] };
  const prompt = async (sessionId, text, ...more) => {
    const answer = await call(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text }, ...more] });
    report.prompts.push({ stop: answer.stopReason, updates: take() });
  };
  const session = await call(methods.agent.session.new, { cwd: root, mcpServers: [] });
  const sessionId = session.sessionId;
  report.modes = session.modes.availableModes.map((mode) => mode.id);
  report.options = session.configOptions.map((option) => option.id);

  answers = ["allow_once"];
  const resource = { type: "resource", resource: { uri: `file://${root}/b.txt`, text: "embedded words", mimeType: "text/plain" } };
  await prompt(sessionId, "Fix it. See ", resource);

  const started = new Promise((resolve) => (running = resolve));
  const going = prompt(sessionId, "Take your time.");
  await started;
  await agent.notify(methods.agent.session.cancel, { sessionId });
  await going;

  answers = ["reject_once"];
  await prompt(sessionId, "Change it once more.");
  answers = ["cancel"];
  await prompt(sessionId, "And again.");

  await call(methods.agent.session.setMode, { sessionId, modeId: "ask" });
  const changed = await call(methods.agent.session.setConfigOption, { sessionId, configId: "mode", value: "code" });
  report.options_after = changed.configOptions.map((option) => option.id);
  take();
  const listed = await call(methods.agent.session.list, { cwd: root });
  report.listed = listed.sessions.map((entry) => entry.sessionId);
  await call(methods.agent.session.close, { sessionId });
  await call(methods.agent.session.load, { sessionId, cwd: root, mcpServers: [] });
  report.replayed = take();
  await prompt(sessionId, "Go on.");
  await call(methods.agent.session.close, { sessionId });
  await call(methods.agent.session.resume, { sessionId, cwd: root, mcpServers: [] });
  const other = await call(methods.agent.session.new, { cwd: root, mcpServers: [] });
  const both = await Promise.all([
    call(methods.agent.session.prompt, { sessionId, prompt: [{ type: "text", text: "You." }] }),
    call(methods.agent.session.prompt, { sessionId: other.sessionId, prompt: [{ type: "text", text: "And you." }] }),
  ]);
  report.both = both.map((answer) => answer.stopReason);
  report.wrong = [];
  for (const [method, params] of [
    [methods.agent.session.prompt, { sessionId: "nonsense", prompt: [{ type: "text", text: "x" }] }],
    [methods.agent.session.prompt, { sessionId, prompt: [] }],
    [methods.agent.session.new, { cwd: "relative", mcpServers: [] }],
    [methods.agent.session.setMode, { sessionId, modeId: "no-such-mode" }],
  ]) {
    report.wrong.push(await call(method, params).then(() => null, (error) => error.code));
  }
  await call(methods.agent.session.delete, { sessionId: other.sessionId });
  return { ...report, asked, session: sessionId };
});
console.log(JSON.stringify(report));
child.stdin.end();
