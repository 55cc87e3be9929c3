"""Serves the page of a run to browsers on this machine: four files and the report, read only.

It listens on 127.0.0.1. A foreign page whose host name is made to point here (DNS rebinding) is
refused, because its browser sends that name; an ssh tunnel sends `localhost` with any port.
"""

from __future__ import annotations

import errno
import hashlib
import json
import socketserver
import threading
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from urllib.parse import urlsplit

from replitune.errors import ReplituneError
from replitune.running.files import bytes_of
from replitune.workflow.live.state import Live, State

ADDRESS = "127.0.0.1"
PORT = 8642
TRIED = 20
"""How many ports are tried in turn if none is given."""
NAMES = ("localhost", "127.0.0.1", "::1")
FRESH = 1.0
"""Seconds for which a look is reused for all requests."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
OF_REPORT = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"
"""For the report, which contains its own policy, with the hashes of its scripts."""
FILES = {
    "/": ("page.html", "text/html"),
    "/page.css": ("page.css", "text/css"),
    "/page.js": ("page.js", "text/javascript"),
}


class Server(ThreadingHTTPServer):
    """Serves one folder of results, which is read only on request."""

    daemon_threads = True

    def __init__(self, live: Live, port: int | None = None) -> None:
        """Without a port, the first free one is taken."""
        self.live = live
        self._lock = threading.Lock()
        self._state = b""
        self._looked = -FRESH
        here = files("replitune.workflow.live")
        self.files = {
            path: (here.joinpath(name).read_bytes(), kind) for path, (name, kind) in FILES.items()
        }
        if port is not None and not 0 <= port < 1 << 16:
            raise ReplituneError("not a port number", found=str(port), expected="0 to 65535")
        ports = range(PORT, PORT + TRIED) if port is None else (port,)
        for number in ports:
            try:
                super().__init__((ADDRESS, number), Handler)
                return
            except OSError as error:
                if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
                trouble = error.strerror
        raise ReplituneError(
            f"port {ports[0]} cannot be used" if port else f"no port from {PORT} on is free",
            found=trouble,
            fix="--serve PORT; 0 takes any free one",
        )

    def server_bind(self) -> None:
        """Bind without looking up the name of this machine, which can take long."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, self.server_address[1]

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/"

    def state(self) -> bytes:
        """The state as JSON."""
        with self._lock:
            if time.monotonic() - self._looked >= FRESH:
                self._state = json.dumps(self._look(), ensure_ascii=False).encode(
                    "utf-8", "surrogateescape"
                )
                self._looked = time.monotonic()
            return self._state

    def report(self) -> bytes | None:
        """The page of the report, if there is one."""
        try:
            return bytes_of(self.live.experiment.at.page)
        except OSError:
            return None

    def _look(self) -> State:
        try:
            return self.live.look()
        except ReplituneError as error:  # the folder was removed, say
            return {"error": str(error)}


class Handler(BaseHTTPRequestHandler):
    """Answers GET and HEAD."""

    server: Server
    timeout = 10
    server_version = "replitune"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def _answer(self, body: bool) -> None:
        if not is_here(self.headers.get_all("Host") or []):
            return self._send(HTTPStatus.FORBIDDEN, b"not for this name\n", "text/plain", body)
        path = self.path.partition("?")[0]
        if path == "/state.json":
            content, kind = self.server.state(), "application/json"
            mark = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
            if self.headers.get("If-None-Match") == mark:
                return self._send(HTTPStatus.NOT_MODIFIED, b"", kind, False, mark)
            return self._send(HTTPStatus.OK, content, kind, body, mark)
        if path == "/report.html" and (report := self.server.report()) is not None:
            return self._send(HTTPStatus.OK, report, "text/html", body, policy=OF_REPORT)
        if path not in self.server.files:
            return self._send(HTTPStatus.NOT_FOUND, b"no such page\n", "text/plain", body)
        content, kind = self.server.files[path]
        return self._send(HTTPStatus.OK, content, kind, body)

    def _send(
        self,
        status: HTTPStatus,
        content: bytes,
        kind: str,
        body: bool,
        mark: str = "",
        policy: str = POLICY,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-cache" if mark else "no-store")
        self.send_header("Content-Security-Policy", policy)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Cross-Origin-Opener-Policy", "same-origin")
        if mark:
            self.send_header("ETag", mark)
        self.end_headers()
        if body:
            self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing: the terminal is in use."""


def is_here(hosts: list[str]) -> bool:
    """Whether a request names this machine, on any port: exactly one host, and a local one."""
    if len(hosts) != 1:
        return False
    try:
        parts = urlsplit(f"//{hosts[0]}")
        named = parts.hostname
        _ = parts.port  # a number
    except ValueError:
        return False
    return named in NAMES and "@" not in hosts[0] and not (parts.path or parts.query)


def serve(server: Server) -> None:
    """Serve until Ctrl-C."""
    try:
        server.serve_forever(poll_interval=1.0)
    finally:
        server.server_close()
