"""A client for the MCP conformance suite: drives the hew command line against one server.

The suite appends the server's URL. HEW_BIN is the binary under test. The model is a scripted server in this process that calls
every tool of the MCP server once.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

URL = sys.argv[-1]
HEW = os.environ["HEW_BIN"]
CONTEXT = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
# The client metadata document that the suite expects as the client id.
CLIENT_METADATA = "https://conformance-test.local/client-metadata.json"
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}}
LOGINS = 3


class Model(BaseHTTPRequestHandler):
    """Chat Completions: calls each of `tools`, then answers."""

    tools = []

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        done = sum(message["role"] == "tool" for message in request["messages"])
        if done < len(self.tools):
            name = self.tools[done]
            function = {"name": "mcp__conformance__" + name, "arguments": json.dumps(ARGUMENTS.get(name, {}))}
            delta = {"tool_calls": [{"index": 0, "id": f"call{done}", "type": "function", "function": function}]}
            reason = "tool_calls"
        else:
            delta, reason = {"content": "Done."}, "stop"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for choice in [{"delta": delta}, {"delta": {}, "finish_reason": reason}]:
            chunk = {"id": "x", "object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, **choice}]}
            self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())
        self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass


def main():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        write(home, server.server_port)
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": home,
            "HEW_CONFIG": home + "/config.toml",
            "HEW_DATA_DIR": home + "/data",
            "BROWSER": home + "/browser",
            "MODEL_KEY": "x",
        }

        def hew(*arguments):
            command = [HEW, *arguments]
            run = subprocess.run(
                command, cwd=home, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
            )
            print("$ hew", *arguments, run.returncode, run.stdout, run.stderr, sep="\n", flush=True)
            return run

        for _ in range(LOGINS):
            tested = hew("mcp", "test", "conformance", "--json")
            if "requires a login" not in tested.stdout:
                Model.tools = json.loads(tested.stdout)[0].get("tools") or []
                ran = hew("run", "--json", "--no-title", "--permission", "full", "-m", "script/m", "go")
                if "requires a login" not in ran.stdout:
                    return
            if hew("mcp", "login", "conformance").returncode != 0:
                sys.exit(1)


def write(home, port):
    """Writes the configuration, and a browser that follows redirects without a user."""
    oauth = {key: CONTEXT[key] for key in ("client_id", "client_secret") if key in CONTEXT}
    oauth["client_metadata_url"] = CLIENT_METADATA
    entries = "".join(f"oauth.{key} = {json.dumps(value)}\n" for key, value in oauth.items())
    with open(home + "/config.toml", "w") as file:
        file.write(f'[mcp.conformance]\nurl = "{URL}"\ntimeout = "20s"\nelicitation = "defaults"\n{entries}')
        file.write(f'[providers.script]\nwire = "openai-chat"\nbase_url = "http://127.0.0.1:{port}/v1"\nkey_env = "MODEL_KEY"\n')
    with open(home + "/browser", "w") as file:
        file.write(f"#!{sys.executable}\nimport sys, urllib.request\nurllib.request.urlopen(sys.argv[1], timeout=20).read()\n")
    os.chmod(home + "/browser", 0o755)


main()
