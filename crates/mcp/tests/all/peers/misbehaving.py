"""An MCP server over standard input and output that misbehaves according to its first argument."""

import json
import os
import sys
import time

how = sys.argv[1]


def say(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name, **more):
    return {"name": name, "description": f"Does {name}.", "inputSchema": {"type": "object"}, **more}


def tools():
    if how == "many":
        return [tool(f"tool_{number:03}", description="Works on widgets. " * 30) for number in range(300)]
    if how == "changing" and grown:
        return [tool("first"), tool("second")]
    if how == "dotted":
        return [tool("get-item.v2")]
    if how == "reading":
        return [tool("look", annotations={"readOnlyHint": True}), tool("touch")]
    return [tool("first")]


grown = False
if how == "silent":
    # Never responds.
    time.sleep(600)
if how == "noisy":
    print("Welcome to the noisy server!")
    print("not json at all {{{")
    sys.stderr.write("warming up\n")
if how == "dead":
    sys.stderr.write("cannot find my configuration\n")
    sys.exit(3)
if how == "once":
    # Works only at the second start.
    flag = sys.argv[2]
    if not os.path.exists(flag):
        open(flag, "w").close()
        sys.exit(1)

for line in sys.stdin:
    request = json.loads(line)
    method, id = request.get("method"), request.get("id")
    if method == "initialize":
        say({"id": id, "result": {
            "protocolVersion": request["params"]["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
            "serverInfo": {"name": "odd", "version": "1"},
            "instructions": "Call first first." if how == "plain" else None,
        }})
    elif method == "tools/list":
        say({"id": id, "result": {"tools": tools()}})
    elif method == "ping" and how != "hang":
        say({"id": id, "result": {}})
    elif method == "tools/call":
        if how == "hang":
            time.sleep(600)
        if how == "die":
            sys.stderr.write("oh no\n")
            sys.stderr.flush()
            os._exit(9)
        if how == "flood":
            text = "x" * 1000
            for number in range(20000):
                sys.stdout.write("flood " + text + "\n")
            for number in range(2000):
                say({"method": "notifications/message", "params": {"level": "info", "data": text}})
            sys.stderr.write(text * 1000)
        if how == "endless":
            sys.stdout.write("{\"jsonrpc\": \"2.0\", \"x\": \"")
            for number in range(12000):
                sys.stdout.write("y" * 1000)
            sys.stdout.write("\"}\n")
        if how == "huge":
            say({"id": id, "result": {"content": [{"type": "text", "text": "z" * 3000000}]}})
            continue
        if how == "invalid":
            sys.stdout.write("{\"jsonrpc\": \"2.0\", \"id\": %s, \"result\": {]\n" % json.dumps(id))
            sys.stdout.write("{\"jsonrpc\": \"2.0\", \"id\": 99999, \"result\": {}}\n")
            sys.stdout.write("[1, 2, 3]\n")
            sys.stdout.flush()
        if how == "changing":
            grown = True
            say({"method": "notifications/tools/list_changed"})
        if how == "slow":
            token = request["params"]["_meta"]["progressToken"]
            for number in range(4):
                time.sleep(1.1)
                say({"method": "notifications/progress", "params": {
                    "progressToken": token, "progress": number, "total": 4, "message": f"part {number}"}})
        if how == "cancel":
            # Responds only after a cancellation.
            told = {}
            while told.get("method") != "notifications/cancelled":
                told = json.loads(sys.stdin.readline())
            with open(sys.argv[2], "w") as out:
                json.dump(told, out)
            continue
        say({"id": id, "result": {"content": [{"type": "text", "text": f"{how} did {request['params']['name']}"}]}})
