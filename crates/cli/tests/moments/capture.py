#!/usr/bin/env python3
"""Captures the screens of hew and of other agents at the same moments, in tmux, with a scripted model.

    capture.py HEW SCRIPTED OUT [AGENT...]

HEW and SCRIPTED are the built binaries, OUT is a folder for the captures: OUT/AGENT-MOMENT.txt, and .ansi with colours. Other
agents are captured if they are on the PATH or in HEW_NODE_MODULES (claude, codex, opencode); the script installs nothing.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

WIDTH, HEIGHT = 100, 30
COMMAND = "for i in $(seq 60); do echo test $i ok; done; rm -f moments-probe"
SHORT = "def total(prices):\n    return sum(prices)\n"
EDIT = ("    return sum(prices)", "    return round(sum(prices), 2)")
LONG = "".join(f"def function_{n}(value):\n    return value * {n}\n" for n in range(100))
EXPLANATION = "The cart adds prices. " * 20 + "Everything is explained."
# How long an agent may take to start and to answer, in seconds.
PATIENCE = 60


def patch(action, path, lines):
    """A call of codex that changes a file. It is sent as a command, because the scripted model has no free-form calls."""
    text = f"*** Begin Patch\n*** {action} File: {path}\n{lines}*** End Patch\n"
    return ("exec_command", {"cmd": f"apply_patch <<'PATCH'\n{text}PATCH"})


def added(text):
    return "".join(f"+{line}\n" for line in text.splitlines())


class Agent:
    """How an agent is started and used: the text of its first screen, its calls, its environment and files, and its keys."""

    def __init__(self, ready, tools, env, files, dialogs=(), order="sequence", **keys):
        self.ready, self.tools, self.env, self.files, self.dialogs = ready, tools, env, files, dialogs
        # Undo removes turns from the conversation, so turns are counted, except for agents that send other requests.
        self.order = order
        self.keys = {"allow": "Enter", "expand": "C-o", "mode": "BTab", "models": "/model", "close": "Escape", "undo": "/undo", "sessions": "/resume", **keys}

    def key(self, name):
        return self.keys.get(name, name)


def anthropic(url):
    return {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-x"}


AGENTS = {
    "hew": Agent(
        "Describe a task",
        lambda root: {
            "run": lambda command: ("terminal", {"command": command}),
            "background": lambda command: ("terminal", {"command": command, "background": True}),
            "write": lambda path, text: ("write_file", {"path": path, "content": text}),
            "edit": lambda path, old, new: ("edit_file", {"path": path, "edits": [{"old_text": old, "new_text": new}]}),
        },
        anthropic,
        lambda url, project: {".config/hew/config.toml": '[approval]\ncommands = "ask"\nwrites = "ask"\n'},
        sessions="/sessions",
    ),
    "claude": Agent(
        "for shortcuts",
        lambda root: {
            "run": lambda command: ("Bash", {"command": command, "description": "Run it"}),
            "background": lambda command: (
                "Bash",
                {"command": command, "description": "Run it", "run_in_background": True},
            ),
            "write": lambda path, text: ("Write", {"file_path": f"{root}/{path}", "content": text}),
            "edit": lambda path, old, new: (
                "Edit",
                {"file_path": f"{root}/{path}", "old_string": old, "new_string": new},
            ),
        },
        lambda url: {**anthropic(url), "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"},
        lambda url, project: {
            ".claude.json": json.dumps(
                {
                    "hasCompletedOnboarding": True,
                    "theme": "dark",
                    "customApiKeyResponses": {"approved": ["sk-x"], "rejected": []},
                    "projects": {project: {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}},
                }
            )
        },
        undo="/rewind",
    ),
    "codex": Agent(
        "Ask Codex",
        lambda root: {
            "run": lambda command: ("exec_command", {"cmd": command}),
            "background": lambda command: ("exec_command", {"cmd": command, "yield_time_ms": 1000}),
            "write": lambda path, text: patch("Add", path, added(text)),
            "edit": lambda path, old, new: patch("Update", path, f"@@\n-{old}\n+{new}\n"),
        },
        lambda url: {"SCRIPTED_KEY": "sk-x"},
        lambda url, project: {
            ".codex/config.toml": f'''model = "gpt-5.5"
model_provider = "scripted"
check_for_update_on_startup = false
sandbox_mode = "read-only"
[features]
plugins = false
apps = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[projects."{project}"]
trust_level = "untrusted"
'''
        },
        dialogs=[("Open restricted", ["Enter"]), ("Use existing model", ["Down", "Enter"])],
        order="progress",
        expand="C-t",
    ),
    "opencode": Agent(
        "ctrl+p",
        lambda root: {
            "run": lambda command: ("bash", {"command": command, "description": "Run it"}),
            # It has no background commands.
            "background": lambda command: ("bash", {"command": f"({command}) >/dev/null 2>&1 &", "description": "Run it"}),
            "write": lambda path, text: ("write", {"filePath": f"{root}/{path}", "content": text}),
            "edit": lambda path, old, new: (
                "edit",
                {"filePath": f"{root}/{path}", "oldString": old, "newString": new},
            ),
        },
        lambda url: {
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_SHARE": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        lambda url, project: {
            ".config/opencode/opencode.json": json.dumps(
                {
                    "autoupdate": False,
                    "model": "anthropic/claude-sonnet-4-5",
                    "provider": {"anthropic": {"options": {"baseURL": url + "/v1", "apiKey": "sk-x"}}},
                    "permission": {"bash": "ask", "edit": "ask"},
                }
            )
        },
        mode="Tab",
        models="/models",
        sessions="/sessions",
        expand="C-p",
    ),
}

# Texts that show that an approval is requested, in any agent.
ASKS = ["wants to", "Do you want", "Would you like", "Permission required"]

# Each moment: its name, what is typed before it (names of keys are in `Agent.keys`), and the texts of which one must appear.
MOMENTS = [
    ("start", [], []),
    ("slash-menu", ["/"], []),
    ("file-completion", ["BSpace", "look at @cart"], ["cart.py"]),
    ("approve-command", ["C-u", "run the tests", "Enter"], ASKS),
    ("long-output", ["allow"], ["All 60"]),
    ("expanded-output", ["expand"], []),
    ("approve-new-file", ["close", "C-u", "write the total", "Enter"], ASKS),
    ("approve-edit", ["allow", "WAIT:It is written", "round the total", "Enter"], ASKS),
    ("diff", ["allow"], ["It is rounded"]),
    ("approve-long-file", ["write the functions", "Enter"], ASKS),
    ("end-of-turn", ["allow"], ["All functions"]),
    ("undo-conflict", ["CHANGE:functions.py", "undo", "Enter"], []),
    ("model-picker", ["close", "close", "C-u", "models", "Enter"], []),
    ("mode-switch", ["close", "close", "mode"], []),
    ("running-job", ["mode", "mode", "start the watcher", "Enter", "WAIT:ASKS", "allow"], ["The watcher runs"]),
    ("sessions", ["sessions", "Enter"], []),
    ("narrow", ["close", "close", "C-u", "RESIZE:40x15", "round it again", "Enter"], ASKS + ["round it"]),
    ("cut-stream", ["close", "RESIZE:100x30", "C-u", "explain it", "Enter"], ["Everything is explained"]),
    ("running-command", ["start the server", "Enter", "WAIT:ASKS", "allow"], []),
    ("interrupt", ["Escape", "Escape"], []),
    ("provider-error", ["C-u", "now fail", "Enter"], []),
    ("exit", ["Escape", "Escape", "C-c", "C-c"], []),
]


def script(tools, order):
    def turn(text, name, *arguments):
        tool, given = tools[name](*arguments)
        return {"text": text, "calls": [{"name": tool, "input": given}]}

    turns = [
        turn("I will run the tests.", "run", COMMAND),
        {"text": "All 60 tests pass."},
        turn("I will write it.", "write", "total.py", SHORT),
        {"text": "It is written."},
        turn("I will round it.", "edit", "total.py", *EDIT),
        {"text": "It is rounded: `round(…, 2)`."},
        turn("Now the functions.", "write", "functions.py", LONG),
        {"text": "All functions are written."},
        turn("I will watch it.", "background", "sleep 600"),
        {"text": "The watcher runs."},
        {"text": "Nothing to round."},
        {"text": EXPLANATION, "faults": [{"fault": {"cut": {"at": "text"}}, "times": 1}]},
        turn("I will start it.", "run", "sleep 60; rm -f moments-probe"),
        {"text": "Fails.", "faults": [{"fault": "overloaded", "times": "always"}]},
        {"text": "Fails.", "faults": [{"fault": "overloaded", "times": "always"}]},
    ]
    return json.dumps({"turns": turns, "strict": False, "side": "Cart totals", "order": order})


def locate(name, hew):
    if name == "hew":
        return hew
    modules = os.environ.get("HEW_NODE_MODULES")
    local = pathlib.Path(modules) / ".bin" / name if modules else None
    return str(local) if local and local.exists() else shutil.which(name)


class Screen:
    """A terminal of its own server, so that no other tmux is affected."""

    def __init__(self, command, env, folder):
        self.socket = f"moments-{os.getpid()}"
        line = ["env", "-i", *[f"{name}={value}" for name, value in env.items()], *command]
        quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in line)
        size = ["-x", str(WIDTH), "-y", str(HEIGHT)]
        self.tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", folder, f"{quoted}; exec sh")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-L", self.socket, *arguments], capture_output=True, text=True).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def wait(self, texts, dialogs=()):
        """Waits until one of the texts appears, and answers dialogs. Returns whether it did."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            shown = self.text()
            if any(text in shown for text in texts):
                return True
            for text, keys in dialogs:
                if text in shown:
                    for key in keys:
                        self.type(key)
            time.sleep(0.2)
        return False

    def settle(self, seconds=4):
        """Waits until the screen has not changed for a second, at most `seconds`."""
        last, since, end = None, time.monotonic(), time.monotonic() + seconds
        while time.monotonic() < end:
            shown = self.text()
            if shown != last:
                last, since = shown, time.monotonic()
            elif time.monotonic() - since > 1 and shown.strip():
                break
            time.sleep(0.1)

    def type(self, word):
        special = word in {"Enter", "Escape", "BSpace", "Down", "Tab", "BTab"} or word.startswith("C-")
        self.tmux("send-keys", *([word] if special else ["-l", "--", word]))
        # Escape and the next key are one key, and Enter after fast keys is a part of a paste.
        time.sleep(0.8)

    def resize(self, width, height):
        self.tmux("resize-window", "-x", width, "-y", height)
        time.sleep(1)

    def close(self):
        self.tmux("kill-server")


def capture(name, program, scripted, out):
    agent = AGENTS[name]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        project = pathlib.Path(home) / "project"
        project.mkdir()
        (project / "cart.py").write_text("class Cart:\n    pass\n")
        (project / "README.md").write_text("# A project\n")
        subprocess.run(["git", "init", "-q"], cwd=project)
        turns = pathlib.Path(home) / "script.json"
        turns.write_text(script(agent.tools(str(project)), agent.order))
        server = subprocess.Popen([scripted, str(turns), "0"], stdout=subprocess.PIPE, text=True)
        url = server.stdout.readline().split()[-1]
        env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        for path, text in agent.files(url, str(project)).items():
            file = pathlib.Path(home) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        screen = Screen([program], {**env, **agent.env(url)}, str(project))
        missed = []
        try:
            screen.wait([agent.ready], agent.dialogs)
            for moment, keys, texts in MOMENTS:
                for key in keys:
                    match key.split(":"):
                        case ["WAIT", "ASKS"]:
                            screen.wait(ASKS)
                        case ["WAIT", text]:
                            screen.wait([text])
                        case ["CHANGE", path]:
                            (project / path).write_text("# Changed by the user.\n")
                        case ["RESIZE", size]:
                            screen.resize(*size.split("x"))
                        case _:
                            screen.type(agent.key(key))
                if texts and not screen.wait(texts, agent.dialogs):
                    missed.append(moment)
                screen.settle()
                (out / f"{name}-{moment}.txt").write_text(screen.text().rstrip() + "\n")
                (out / f"{name}-{moment}.ansi").write_text(screen.tmux("capture-pane", "-p", "-e", "-N"))
        finally:
            screen.close()
            server.kill()
        return missed


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    hew, scripted = (str(pathlib.Path(program).resolve()) for program in sys.argv[1:3])
    out = pathlib.Path(sys.argv[3])
    if not shutil.which("tmux"):
        sys.exit("tmux is not installed")
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[4:] or AGENTS:
        program = locate(name, hew)
        if program is None:
            print(f"{name}: not installed")
            continue
        missed = capture(name, program, scripted, out)
        print(f"{name}: {len(MOMENTS)} captures in {out}", *(f"; not reached: {moment}" for moment in missed), sep="")


if __name__ == "__main__":
    main()
