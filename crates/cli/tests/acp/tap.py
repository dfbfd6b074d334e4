"""Stands between two programs that talk over stdin and stdout, and writes every line down. Arguments: log, command."""

import json
import subprocess
import sys
import threading

log = open(sys.argv[1], "a", encoding="utf-8")
lock = threading.Lock()
child = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def carry(source, target, by):
    for line in iter(source.readline, b""):
        with lock:
            log.write(json.dumps({"by": by, "line": line.decode("utf-8")}) + "\n")
            log.flush()
        try:
            target.write(line)
            target.flush()
        except BrokenPipeError:
            break
    try:
        target.close()
    except BrokenPipeError:
        pass


inward = threading.Thread(target=carry, args=(sys.stdin.buffer, child.stdin, "client"), daemon=True)
inward.start()
carry(child.stdout, sys.stdout.buffer, "agent")
sys.exit(child.wait())
