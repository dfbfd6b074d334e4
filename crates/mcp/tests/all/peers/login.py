"""An MCP server over HTTP that requires an OAuth login, with its authorization server. Prints its port."""

import base64
import hashlib
import json
import sys
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

codes = {}
tokens = set()
clients = {}
refreshed = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, body, headers=()):
        data = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    @property
    def base(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        url = urllib.parse.urlparse(self.path)
        if url.path.startswith("/.well-known/oauth-protected-resource"):
            return self.answer(200, {"resource": f"{self.base}/mcp", "authorization_servers": [self.base]})
        if url.path.startswith("/.well-known/oauth-authorization-server"):
            return self.answer(200, {
                "issuer": self.base,
                "authorization_endpoint": f"{self.base}/authorize",
                "token_endpoint": f"{self.base}/token",
                "registration_endpoint": f"{self.base}/register",
                "response_types_supported": ["code"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
            })
        if url.path == "/authorize":
            query = dict(urllib.parse.parse_qsl(url.query))
            if query["client_id"] not in clients or query["code_challenge_method"] != "S256":
                return self.answer(400, {"error": "invalid_request"})
            code = f"code{len(codes)}"
            codes[code] = query["code_challenge"]
            back = f"{query['redirect_uri']}?code={code}&state={urllib.parse.quote(query['state'])}"
            return self.answer(302, None, [("Location", back)])
        self.answer(405, None)

    def do_POST(self):
        global refreshed
        body = self.body()
        if self.path == "/register":
            client = f"client{len(clients)}"
            clients[client] = json.loads(body)
            return self.answer(201, {**clients[client], "client_id": client})
        if self.path == "/token":
            form = dict(urllib.parse.parse_qsl(body.decode()))
            if form["grant_type"] == "authorization_code":
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
                if codes.pop(form["code"], None) != challenge:
                    return self.answer(400, {"error": "invalid_grant"})
            elif form["refresh_token"] != "again":
                return self.answer(400, {"error": "invalid_grant"})
            token = f"token{len(tokens)}"
            tokens.add(token)
            return self.answer(200, {
                "access_token": token, "token_type": "Bearer", "expires_in": 3600, "refresh_token": "again"})
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in tokens:
            where = f'Bearer resource_metadata="{self.base}/.well-known/oauth-protected-resource"'
            return self.answer(401, {"error": "invalid_token"}, [("WWW-Authenticate", where)])
        request = json.loads(body)
        if "id" not in request:
            return self.answer(202, None)
        results = {
            "initialize": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "login", "version": "1"}},
            "tools/list": {"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": f"you hold {token}"}]},
        }
        self.answer(200, {"jsonrpc": "2.0", "id": request["id"], "result": results.get(request["method"], {})})


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
