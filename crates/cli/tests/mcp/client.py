"""Inspects `hew mcp serve` with the official Python SDK. Arguments: the binary, its arguments."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import ElicitResult

asked = []


async def elicit(context, params):
    asked.append(params.message)
    if os.environ.get("ANSWER") == "yes":
        return ElicitResult(action="accept", content={"answer": True})
    return ElicitResult(action="decline")


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server) as (reading, writing):
        async with ClientSession(reading, writing, elicitation_callback=elicit) as session:
            info = await session.initialize()
            steps = []

            async def call(name, input, progress=None):
                result = await session.call_tool(name, input, progress_callback=progress)
                text = "\n".join(block.text for block in result.content)
                return {"error": bool(result.is_error), "text": text}

            async def progress(done, total, message):
                steps.append(message)

            listed = (await session.list_tools()).tools
            report = {
                "server": info.server_info.name,
                "tools": [tool.name for tool in listed],
                "reading": [tool.name for tool in listed if tool.annotations and tool.annotations.read_only_hint],
                "found": await call("grep", {"pattern": "hello"}),
                "read": await call("read_file", {"path": "a.txt"}),
                "edited": await call("edit_file", {"path": "a.txt", "old_text": "hello", "new_text": "goodbye"}),
                "outside": await call("write_file", {"path": "../outside.txt", "content": "x"}),
                "unknown": await call("terminal", {"command": "ls"}),
                "task": await call("run_task", {"task": "say it is done"}, progress),
                "steps": steps,
                "asked": asked,
            }
            print(json.dumps(report))


asyncio.run(main())
