"""An agent built with the official Python SDK. Its argument selects its behaviour."""

import asyncio
import os
import sys

import acp
from acp import schema

how = sys.argv[1]


class Peer(acp.Agent):
    def __init__(self):
        self.client = None
        self.stopped = asyncio.Event()
        self.known = set()

    def on_connect(self, conn):
        self.client = conn

    async def initialize(self, protocol_version, client_capabilities=None, client_info=None, **kwargs):
        if how == "silent":
            await asyncio.sleep(3600)
        can = schema.AgentCapabilities(load_session=True)
        info = schema.Implementation(name="peer", version="1")
        return schema.InitializeResponse(
            protocol_version=9 if how == "newer" else 1, agent_capabilities=can, agent_info=info
        )

    async def new_session(self, cwd, mcp_servers=None, **kwargs):
        if how == "login":
            raise acp.RequestError.auth_required()
        return schema.NewSessionResponse(session_id="first")

    async def load_session(self, cwd, session_id, mcp_servers=None, **kwargs):
        self.known.add(session_id)
        await self.client.session_update(session_id, acp.update_agent_message_text("what was said before"))
        return schema.LoadSessionResponse()

    async def cancel(self, session_id, **kwargs):
        self.stopped.set()

    async def prompt(self, prompt, session_id, **kwargs):
        said = prompt[0].text
        say = lambda text: self.client.session_update(session_id, acp.update_agent_message_text(text))
        if how == "die":
            await say("I will")
            print("its last words", file=sys.stderr, flush=True)
            os._exit(3)
        if how == "garbage":
            os.write(1, b"this is no message\n{\"jsonrpc\":\"2.0\",\"id\":99999,\"result\":{}}\n")
        if how == "slow":
            await say("Wait.")
            await self.stopped.wait()
            with open(os.environ["MARK"], "w") as mark:
                mark.write("cancelled")
            return schema.PromptResponse(stop_reason="cancelled")
        if how == "hang":
            await asyncio.sleep(3600)
        if how == "refuse":
            return schema.PromptResponse(stop_reason="refusal")
        if how == "work":
            await self.work(session_id, say)
        await say(f"Heard {said!r} in {session_id}, known: {sorted(self.known)}.")
        return schema.PromptResponse(stop_reason="end_turn")

    async def work(self, session, say):
        root = os.getcwd()
        path = os.path.join(root, "a.txt")
        read = await self.client.read_text_file(session_id=session, path=path)
        await say(f"Read {read.content!r}.")
        call = acp.start_edit_tool_call("1", "Editing", path=path, content="new")
        await self.client.session_update(session, call)
        for option in ("1", "2"):
            options = [
                schema.PermissionOption(option_id="y", name="Yes", kind="allow_once"),
                schema.PermissionOption(option_id="n", name="No", kind="reject_once"),
            ]
            target = path if option == "1" else "/etc/outside"
            update = schema.ToolCallUpdate(
                tool_call_id=option, kind="edit", title="Editing", locations=[schema.ToolCallLocation(path=target)]
            )
            answer = await self.client.request_permission(session_id=session, tool_call=update, options=options)
            await say(f"Permission {option}: {answer.outcome.option_id}.")
        await self.client.write_text_file(session_id=session, path=path, content="new\n")
        await self.client.session_update(session, acp.update_tool_call("1", status="completed", content=[acp.tool_diff_content(path, "new\n", "old\n")]))
        for refused in ("/etc/outside", os.path.join(root, ".env")):
            try:
                await self.client.read_text_file(session_id=session, path=refused)
                await say("Read what it must not.")
            except acp.RequestError:
                await say("Refused.")
        terminal = await self.client.create_terminal(session_id=session, command="sh", args=["-c", "echo out; exit 3"])
        name = terminal.terminal_id
        code = (await self.client.wait_for_terminal_exit(session_id=session, terminal_id=name)).exit_code
        output = (await self.client.terminal_output(session_id=session, terminal_id=name)).output
        await self.client.release_terminal(session_id=session, terminal_id=name)
        await say(f"Ran: {output!r} {code}.")


asyncio.run(acp.run_agent(Peer()))
