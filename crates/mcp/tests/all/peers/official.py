"""A server built with the official Python SDK."""

import os
import sys

from mcp.server.mcpserver import Context, Image, MCPServer

server = MCPServer("official", instructions="Be kind to it.")


@server.tool()
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


@server.tool()
def picture() -> Image:
    """Shows a picture."""
    return Image(data=b"\x89PNG\r\n\x1a\n0000", format="png")


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Counts."""
    for number in range(to):
        await ctx.report_progress(number, to)
    return f"counted to {to}"


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"This is the note {name}."


@server.prompt()
def review(code: str) -> str:
    """Reviews code."""
    return f"Please review: {code}"


if len(sys.argv) > 1:
    server.run(transport=sys.argv[1], port=int(os.environ["PORT"]))
else:
    server.run()
