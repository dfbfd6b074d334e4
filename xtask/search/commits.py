#!/usr/bin/env python3
"""Writes questions from commit messages: the files that a commit changed answer its message.

usage: commits.py QUESTIONS MIRRORS REPOSITORIES OUT

QUESTIONS/repos.json names the repositories; MIRRORS/<owner>+<name>/repo is the git directory of one, REPOSITORIES/<name>
its files. Writes OUT/repos.json and OUT/questions/NAME.json for `search_bench features`. Every second message is its
subject only.
"""
import json, os, random, re, subprocess, sys
from pathlib import Path

PER_REPOSITORY = 30
MAX_FILES = 4
# Files that change with most commits, and subjects that do not describe a change.
BOOKKEEPING = re.compile(r"(?i)changelog|readme|package(-lock)?\.json|version|\.lock$|mix\.exs|\.cabal|Cargo\.toml|pom\.xml")
RELEASE = re.compile(r"(?i)^(bump|release|merge|revert|update (changelog|version|copyright)|version)")
TRAILER = re.compile(r"(?im)^(signed-off-by|co-authored-by|reviewed-by|fixes|closes|refs?|pr-url|reviewed|cr-\w+):?.*$")


def questions(git_dir, repository, files):
    root = repository.get("benchmark_root") or ""
    git = ["git", "--git-dir", str(git_dir)]
    environment = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    known = subprocess.run(git + ["cat-file", "-e", repository["revision"] + "^{commit}"], capture_output=True, env=environment)
    revision = repository["revision"] if known.returncode == 0 else "HEAD"
    log = git + ["log", "--no-merges", "-1500", "--name-status", "--diff-filter=M", "--format=%x01%B%x02", revision, "--", root or "."]
    found = []
    for commit in subprocess.run(log, capture_output=True, env=environment).stdout.decode("utf8", "replace").split("\x01")[1:]:
        message, changes = commit.split("\x02", 1)
        paths = [line.split("\t")[-1] for line in changes.splitlines() if "\t" in line]
        paths = [path for path in paths if (files / path).is_file() and not BOOKKEEPING.search(path)]
        message = TRAILER.sub("", message).strip()
        subject = re.sub(r"\(#\d+\)", "", message.split("\n")[0]).strip()
        if 1 <= len(paths) <= MAX_FILES and len(subject.split()) >= 3 and not RELEASE.search(subject):
            found.append((subject, message[:1500], [path[len(root):].lstrip("/") for path in paths]))
    random.shuffle(found)
    return [
        {"query": message if number % 2 else subject, "relevant": [{"path": path} for path in paths], "category": "history"}
        for number, (subject, message, paths) in enumerate(found[:PER_REPOSITORY])
    ]


if __name__ == "__main__":
    source, mirrors, repositories, out = map(Path, sys.argv[1:])
    random.seed(7)
    (out / "questions").mkdir(parents=True, exist_ok=True)
    (out / "repos.json").write_bytes((source / "repos.json").read_bytes())
    for repository in json.loads((source / "repos.json").read_bytes()):
        git_dir = mirrors / repository["repository"].replace("/", "+") / "repo"
        written = questions(git_dir, repository, repositories / repository["name"])
        (out / "questions" / f"{repository['name']}.json").write_text(json.dumps(written, indent=1))
        print(repository["name"], len(written))
