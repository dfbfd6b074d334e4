"""Drives an ACP agent with the official Python SDK through a whole task. Arguments: project, command of the agent."""

import asyncio
import json
import os
import sys

import acp
from acp import schema

root = sys.argv[1]
terminals = os.environ.get("TERMINALS") == "yes"


class Editor(acp.Client):
    def __init__(self):
        self.updates = []
        self.asked = []
        self.answers = []
        self.buffers = {}
        self.read = []
        self.wrote = []
        self.ran = []
        self.running = asyncio.Event()
        self.kept = asyncio.Event()
        self.agent = None
        self.ended = {}

    async def request_permission(self, session_id, tool_call, options, **kwargs):
        call = tool_call.model_dump(by_alias=True, exclude_none=True)
        self.asked.append({"call": call, "options": [option.kind for option in options]})
        wanted = self.answers.pop(0)
        if wanted == "cancel":
            await self.agent.cancel(session_id)
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        chosen = next(option for option in options if option.kind == wanted)
        outcome = schema.AllowedOutcome(outcome="selected", option_id=chosen.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id, update, **kwargs):
        update = update.model_dump(by_alias=True, exclude_none=True)
        self.updates.append(update)
        if update.get("status") == "in_progress":
            self.running.set()
        if "rawInput" in update:
            self.kept.set()

    async def read_text_file(self, session_id, path, line=None, limit=None, **kwargs):
        self.read.append(os.path.relpath(path, root))
        if path in self.buffers:
            return schema.ReadTextFileResponse(content=self.buffers[path])
        with open(path, encoding="utf-8") as file:
            return schema.ReadTextFileResponse(content=file.read())

    async def write_text_file(self, session_id, path, content, **kwargs):
        self.wrote.append(os.path.relpath(path, root))
        self.buffers.pop(path, None)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
        return schema.WriteTextFileResponse()

    async def create_terminal(self, session_id, command, args=None, env=None, cwd=None, output_byte_limit=None, **kwargs):
        self.ran.append([command, *(args or [])])
        process = await asyncio.create_subprocess_exec(
            command, *(args or []), cwd=cwd, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        name = f"terminal-{len(self.ran)}"
        self.ended[name] = (process, asyncio.create_task(process.stdout.read()))
        return schema.CreateTerminalResponse(terminal_id=name)

    async def wait_for_terminal_exit(self, session_id, terminal_id, **kwargs):
        code = await self.ended[terminal_id][0].wait()
        return schema.WaitForTerminalExitResponse(exit_code=code)

    async def terminal_output(self, session_id, terminal_id, **kwargs):
        process, output = self.ended[terminal_id]
        status = schema.TerminalExitStatus(exit_code=process.returncode)
        return schema.TerminalOutputResponse(output=(await output).decode(), truncated=False, exit_status=status)

    async def release_terminal(self, session_id, terminal_id, **kwargs):
        process, _ = self.ended[terminal_id]
        if process.returncode is None:
            process.kill()
        return schema.ReleaseTerminalResponse()

    async def kill_terminal(self, session_id, terminal_id, **kwargs):
        self.ended[terminal_id][0].kill()
        return schema.KillTerminalResponse()

    def on_connect(self, conn):
        self.agent = conn

    def take(self):
        updates, self.updates = self.updates, []
        return updates


async def main():
    editor = Editor()
    limit = {"limit": 50 * 1024 * 1024}
    async with acp.spawn_agent_process(editor, *sys.argv[2:], env=dict(os.environ), cwd=root, transport_kwargs=limit) as (
        agent,
        process,
    ):
        editor.agent = agent
        can = schema.ClientCapabilities(
            fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True), terminal=terminals
        )
        info = schema.Implementation(name="test", version="1")
        hello = await agent.initialize(protocol_version=acp.PROTOCOL_VERSION, client_capabilities=can, client_info=info)
        await agent.authenticate(method_id=hello.auth_methods[0].id)
        report = {"agent": hello.agent_info.name, "version": hello.protocol_version, "prompts": []}

        async def prompt(session, text, *more):
            answer = await agent.prompt(session_id=session, prompt=[acp.text_block(text), *more])
            stop = answer.stop_reason
            report["prompts"].append({"stop": stop, "updates": editor.take()})

        servers = []
        if "MCP" in os.environ:
            args = [os.environ["MCP"], "plain"]
            servers.append(schema.McpServerStdio(name="plain", command="python3", args=args, env=[]))
        session = await agent.new_session(cwd=root, mcp_servers=servers)
        name = session.session_id
        report["modes"] = [mode.id for mode in session.modes.available_modes]
        report["options"] = [option.model_dump(by_alias=True)["id"] for option in session.config_options]

        if terminals:
            await prompt(name, "Run it.")
            report["ran"] = editor.ran
            print(json.dumps(report))
            return

        if os.environ.get("STEER") == "yes":
            shown = {"sessionId": name, "file": f"{root}/a.txt", "lines": [1, 2]}
            found = {"line": 2, "severity": "error", "message": "wrong"}
            await agent.ext_notification("hew/editor", {**shown, "diagnostics": [found]})
            link = acp.resource_link_block(name="b.txt", uri=f"file://{root}/b.txt")
            first = asyncio.create_task(agent.prompt(session_id=name, prompt=[link, acp.text_block("please")]))
            await editor.running.wait()
            second = agent.prompt(session_id=name, prompt=[acp.text_block("and also this")])
            report["stops"] = [answer.stop_reason for answer in await asyncio.gather(first, second)]
            report["updates"] = editor.take()
            print(json.dumps(report))
            return

        if os.environ.get("KILL") == "yes":
            going = asyncio.create_task(prompt(name, "Take your time."))
            await editor.running.wait()
            # The reply is stored when the input of its call is complete.
            await editor.kept.wait()
            process.kill()
            await asyncio.wait([going])
            going.exception()
            print(json.dumps({"session": name}))
            return

        path = os.path.join(root, "a.txt")
        with open(path, encoding="utf-8") as file:
            editor.buffers[path] = file.read() + "not saved yet\n"
        editor.answers = ["allow_once"]
        link = acp.resource_link_block(name="b.txt", uri=f"file://{root}/b.txt")
        image = acp.image_block("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==", "image/png")
        await prompt(name, "Fix it. See ", link, image)

        editor.running.clear()
        going = asyncio.create_task(prompt(name, "Take your time."))
        await editor.running.wait()
        await agent.cancel(name)
        await going

        editor.answers = ["reject_once"]
        await prompt(name, "Change it once more.")
        editor.answers = ["cancel"]
        await prompt(name, "And again.")

        await agent.set_session_mode(session_id=name, mode_id="ask")
        changed = await agent.set_config_option(config_id="mode", session_id=name, value="code")
        report["options_after"] = [option.model_dump(by_alias=True)["id"] for option in changed.config_options]
        editor.take()
        listed = await agent.list_sessions(cwd=root)
        report["listed"] = [entry.session_id for entry in listed.sessions]
        await agent.close_session(session_id=name)
        await agent.load_session(cwd=root, session_id=name, mcp_servers=[])
        report["replayed"] = editor.take()
        await prompt(name, "Go on.")
        await agent.close_session(session_id=name)
        await agent.resume_session(cwd=root, session_id=name, mcp_servers=[])
        other = await agent.new_session(cwd=root, mcp_servers=[])
        both = await asyncio.gather(
            agent.prompt(session_id=name, prompt=[acp.text_block("You.")]),
            agent.prompt(session_id=other.session_id, prompt=[acp.text_block("And you.")]),
        )
        report["both"] = [answer.stop_reason for answer in both]
        wrong = []
        for call in (
            agent.prompt(session_id="nonsense", prompt=[acp.text_block("x")]),
            agent.prompt(session_id=name, prompt=[]),
            agent.new_session(cwd="relative", mcp_servers=[]),
            agent.set_session_mode(session_id=name, mode_id="no-such-mode"),
        ):
            try:
                await call
                wrong.append(None)
            except acp.RequestError as error:
                wrong.append(error.code)
        report["wrong"] = wrong
        report.update(asked=editor.asked, read=editor.read, wrote=editor.wrote, session=name)
        print(json.dumps(report))


asyncio.run(main())
