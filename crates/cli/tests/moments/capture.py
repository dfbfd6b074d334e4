#!/usr/bin/env python3
"""Captures the screens of hew and of other agents at the same moments, in tmux, with a scripted model.

    capture.py HEW SCRIPTED OUT

HEW and SCRIPTED are the built binaries, OUT is a folder for the captures: OUT/AGENT-MOMENT.txt. Other agents are captured if they
are on the PATH or in HEW_NODE_MODULES (claude, codex, opencode); the script installs nothing. Without tmux it does nothing.
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
TASK = "run the tests"
COMMAND = "sh -c 'for i in $(seq 40); do echo test $i ok; done; rm -f /var/tmp/moments-probe'"

# The name of the shell tool and the input with which each agent calls it, its variables, and files of its home folder that skip
# its first-run questions.
AGENTS = {
    "hew": (
        "terminal",
        {"command": COMMAND},
        lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-x"},
        lambda url, project: {".config/hew/config.toml": "[approval]\ncommands = \"ask\"\n"},
    ),
    "claude": (
        "Bash",
        {"command": COMMAND, "description": "Run the tests"},
        lambda url: {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-x", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"},
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
    ),
    "codex": (
        "shell",
        {"command": ["bash", "-lc", COMMAND]},
        lambda url: {"SCRIPTED_KEY": "sk-x"},
        lambda url, project: {
            ".codex/config.toml": f'''model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "on-request"
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
[projects."{project}"]
trust_level = "untrusted"
'''
        },
    ),
    "opencode": (
        "bash",
        {"command": COMMAND, "description": "Run the tests"},
        lambda url: {"ANTHROPIC_API_KEY": "sk-x", "OPENCODE_DISABLE_AUTOUPDATE": "1"},
        lambda url, project: {
            ".config/opencode/opencode.json": json.dumps(
                {
                    "model": "anthropic/claude-sonnet-4-5",
                    "provider": {"anthropic": {"options": {"baseURL": url + "/v1"}}},
                    "permission": {"bash": "ask"},
                }
            )
        },
    ),
}

# Text that an agent shows when it is ready.
READY = {"hew": "Describe a task", "claude": "for shortcuts", "codex": "for shortcuts", "opencode": "ctrl+p"}
# How long an agent may take to start, in seconds.
START = 60

# Each moment: its name, what is typed before it, and how long the screen may take to settle.
MOMENTS = [
    ("start", [], 3),
    ("slash-menu", ["/"], 2),
    ("approval", ["BSpace", TASK, "Enter"], 10),
    ("approval-full", ["C-o"], 2),
    ("end-of-turn", ["Escape", "y", "Enter"], 6),
    ("details", ["C-o"], 2),
    ("exit", ["Escape", "C-c", "C-c"], 3),
]


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
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(WIDTH), "-y", str(HEIGHT), "-c", folder, f"{quoted}; exec sh")

    def tmux(self, *arguments):
        return subprocess.run(["tmux", "-L", self.socket, *arguments], capture_output=True, text=True).stdout

    def settle(self, seconds):
        """Waits until the screen has not changed for a second, at most `seconds`."""
        last, since, end = None, time.monotonic(), time.monotonic() + seconds
        while time.monotonic() < end:
            shown = self.tmux("capture-pane", "-p")
            if shown != last:
                last, since = shown, time.monotonic()
            elif time.monotonic() - since > 1 and shown.strip():
                break
            time.sleep(0.1)
        return last or ""

    def type(self, word):
        special = {"Enter", "Escape", "BSpace"} | {word for word in [word] if word.startswith("C-")}
        self.tmux("send-keys", *([word] if word in special else ["-l", "--", word]))
        time.sleep(0.3)

    def close(self):
        self.tmux("kill-server")


def capture(name, program, scripted, out):
    tool, call, variables, files = AGENTS[name]
    with tempfile.TemporaryDirectory() as home:
        project = pathlib.Path(home) / "project"
        project.mkdir()
        (project / "README.md").write_text("# A project\n")
        subprocess.run(["git", "init", "-q"], cwd=project)
        script = pathlib.Path(home) / "script.json"
        turns = [
            {"text": "I will run the tests.", "calls": [{"name": tool, "input": call}]},
            {"text": "All **40 tests** pass."},
        ]
        script.write_text(json.dumps({"turns": turns, "strict": False}))
        server = subprocess.Popen([scripted, str(script), "0"], stdout=subprocess.PIPE, text=True)
        url = server.stdout.readline().split()[-1]
        env = {"HOME": home, "PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8", **variables(url)}
        for path, text in files(url, str(project)).items():
            file = pathlib.Path(home) / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        screen = Screen([program], env, str(project))
        try:
            end = time.monotonic() + START
            while READY[name] not in screen.tmux("capture-pane", "-p") and time.monotonic() < end:
                time.sleep(0.2)
            for moment, keys, seconds in MOMENTS:
                for key in keys:
                    screen.type(key)
                shown = screen.settle(seconds)
                (out / f"{name}-{moment}.txt").write_text(shown.rstrip() + "\n")
        finally:
            screen.close()
            server.kill()


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    hew, scripted = (str(pathlib.Path(program).resolve()) for program in sys.argv[1:3])
    out = pathlib.Path(sys.argv[3])
    if not shutil.which("tmux"):
        sys.exit("tmux is not installed")
    out.mkdir(parents=True, exist_ok=True)
    for name in AGENTS:
        program = locate(name, hew)
        if program is None:
            print(f"{name}: not installed")
            continue
        capture(name, program, scripted, out)
        print(f"{name}: {len(MOMENTS)} captures in {out}")


if __name__ == "__main__":
    main()
