"""A Hub on 127.0.0.1 that knows as much of the real one's ways as a push of a Space and a load from it need."""

import base64
import hashlib
import json
import re
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "hf_of_the_tests"
COLORS = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}


def header_errors(card: str) -> list[str]:
    """What the Hub would say of a Space's card."""
    import yaml

    if not card.startswith("---\n"):
        return ["the card has no header"]
    header = yaml.safe_load(card.split("---\n")[1])
    rules = {
        "title": bool(header.get("title")),
        "colorFrom": header.get("colorFrom") in COLORS,
        "colorTo": header.get("colorTo") in COLORS,
        "sdk": header.get("sdk") == "gradio",
        "sdk_version": re.fullmatch(r"\d+\.\d+\.\d+", str(header.get("sdk_version"))) is not None,
        "short_description": 0 < len(header.get("short_description", "")) <= 60,
        "license": header.get("license") == "apache-2.0",
        "app_file": header.get("app_file") == "app.py",
        "tags": {"evaluate", "metric"} <= set(header.get("tags", [])),
    }
    return [f"{key} is {header.get(key)!r}" for key, holds in rules.items() if not holds]


class FakeHub(BaseHTTPRequestHandler):
    """Spaces are held by the server: {repo id: {path: bytes}}; so are the commit messages."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _answer(self, content, status=200, **headers):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for key, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(key, str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        spaces = self.server.spaces
        if found := re.fullmatch(r"/spaces/([^/]+/[^/]+)/resolve/main/(.+)", self.path):
            content = spaces.get(found[1], {}).get(found[2])
            if content is not None:
                return self._answer(content, ETag=f'"{_blob_id(content)}"')
        elif found := re.match(r"/api/spaces/([^/]+/[^/]+)/(tree/main|revision/main)", self.path):
            files = spaces.get(found[1], {})
            rows = [
                {"type": "file", "path": path, "rfilename": path, "size": len(content), "oid": _blob_id(content)}
                for path, content in files.items()
            ]
            return self._answer(rows if "tree" in found[2] else {"id": found[1], "sha": "0" * 40, "siblings": rows})
        self._answer({"error": "Entry not found"}, 404, **{"X-Error-Code": "EntryNotFound"})

    do_HEAD = do_GET

    def do_POST(self):
        body = (
            self.rfile.read(int(self.headers["Content-Length"]))
            if "Content-Length" in self.headers
            else b"".join(self._chunks())
        )
        if self.path == "/api/validate-yaml":
            errors = [{"message": error} for error in header_errors(json.loads(body)["content"])]
            return self._answer({"errors": errors, "warnings": []}, 400 if errors else 200)
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self._answer({"error": "Invalid credentials"}, 401)
        if self.path == "/api/repos/create":
            return self._create(json.loads(body))
        repo_id, step = re.match(r"/api/spaces/([^/]+/[^/]+)/(preupload|commit)/main", self.path).groups()
        files = self.server.spaces[repo_id]
        if step == "preupload":
            asked = [row["path"] for row in json.loads(body)["files"]]
            return self._answer(
                {
                    "files": [
                        {
                            "path": path,
                            "uploadMode": "regular",
                            "shouldIgnore": False,
                            "oid": _blob_id(files[path]) if path in files else None,
                        }
                        for path in asked
                    ]
                }
            )
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "header":
                self.server.messages.append(line["value"]["summary"])
            elif line["key"] == "file":
                files[line["value"]["path"]] = base64.b64decode(line["value"]["content"])
            else:
                del files[line["value"]["path"]]
        address = f"{self.server.url}/spaces/{repo_id}/commit/0"
        self._answer({"success": True, "commitOid": "0" * 40, "commitUrl": address})

    def _create(self, wanted):
        repo_id = f"{wanted['organization']}/{wanted['name']}"
        known = repo_id in self.server.spaces
        self.server.spaces.setdefault(repo_id, {})
        if not known:
            self.server.created.append(wanted)
        self._answer({"url": f"{self.server.url}/spaces/{repo_id}", "id": repo_id}, 409 if known else 200)

    def _chunks(self):
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()


def _blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@contextmanager
def fake_hub():
    """Serves an empty Hub; its `url`, `spaces`, `messages` and `created` can be looked at."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), FakeHub)
    server.url = f"http://127.0.0.1:{server.server_port}"
    server.spaces, server.messages, server.created = {}, [], []
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
