"""A server with OpenAI's chat protocol and faults, which counts what it was asked."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

FAULTS = ("429", "500", "hang", "cut", "reset", "garbage", "trickle", "two", "none", "nul", "half-headers")


class Server:
    """Answers are a function of the request alone. `faults` come one after the other, each at one request;
    `refused`, `empty` and `long` are words of prompts that are answered so."""

    def __init__(self, faults: Sequence[str] = (), fingerprint: str = "fp_1") -> None:
        self.faults = list(faults)
        self.fingerprint = fingerprint
        self.said: list[str] = []
        """What it says beside its answers, and in place of one, as text of JSON; each in turn."""
        self.retry_after = "0"
        self.tokens = 10
        self.asked: Counter[str] = Counter()
        """Requests that came in, by their bodies."""
        self.answered: Counter[str] = Counter()
        """Those that were answered well."""
        self.headers: list[dict[str, str]] = []
        self.times: list[float] = []
        self.billed: list[tuple[dict[str, int], int]] = []
        """Usage of every request, and its status."""
        self.lock = threading.Lock()
        self.released = threading.Event()
        self._http = _Quiet(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.released.set()
            self._http.shutdown()
            self._http.server_close()

    def next(self) -> str:
        """What it says next."""
        with self.lock:
            self.said.append(self.said.pop(0))
            return self.said[-1]

    def completion(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What a model would say: words that depend on the whole request."""
        text = asked["messages"][-1]["content"]
        digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
        words = [*text.split()[-6:], digest[:4]]
        message: dict[str, Any] = {
            "role": "assistant",
            "content": '"' + " ".join(words) + '"\n\nas you asked',
        }
        finish = "stop"
        if "refused" in text:
            message = {"role": "assistant", "content": None, "refusal": "I cannot do that"}
        elif "empty" in text:
            message["content"] = "  \n"
        elif self.said:
            message["content"] += "@@"
        elif "long" in text:
            finish = "length"
        return {
            "id": "x",
            "object": "chat.completion",
            "model": f"{asked['model']}-2026",
            "system_fingerprint": self.fingerprint + "@@" * bool(self.said),
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": len(text.split()),
                "completion_tokens": self.tokens,
                "total_tokens": 0,
            },
        }


class _Quiet(ThreadingHTTPServer):
    """Clients may be killed at any moment."""

    def handle_error(self, *args: object) -> None:
        pass


def _handler(server: Server) -> type[BaseHTTPRequestHandler]:
    def encoded(completion: dict[str, Any]) -> bytes:
        text = json.dumps(completion)
        while "@@" in text:
            text = text.replace("@@", server.next(), 1)
        return text.encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, *args: object) -> None:
            pass

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked = json.loads(body)
            with server.lock:
                server.asked[body.decode()] += 1
                server.headers.append(dict(self.headers))
                server.times.append(time.monotonic())
                fault = server.faults.pop(0) if server.faults else None
            completion = server.completion(asked)
            with server.lock:
                status = int(fault) if fault is not None and fault.isdigit() else 200
                server.billed.append((completion["usage"], status))
            if fault is not None:
                self.fail(fault, completion)
                return
            with server.lock:
                server.answered[body.decode()] += 1
            self.say(200, encoded(completion))

        def say(self, status: int, data: bytes, **headers: str) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) // 2])
            if server.said:  # in two reads
                time.sleep(0.01)
            self.wfile.write(data[len(data) // 2 :])

        def fail(self, fault: str, completion: dict[str, Any]) -> None:
            data = encoded(completion)
            key = self.headers.get("Authorization", "")
            with contextlib.suppress(OSError):
                if fault.startswith("429"):
                    self.say(429, b'{"error": "slow down"}', Retry_After=fault[4:] or server.retry_after)
                elif fault == "status line":
                    self.wfile.write(f"{server.next()}\r\n\r\n".encode())
                    self.close_connection = True
                elif fault.isdigit() and server.said:
                    self.say(int(fault), f'{{"error": "{server.next()}"}}'.encode())
                elif fault.isdigit():
                    self.say(int(fault), f"no luck for {key}".encode())
                elif fault == "hang":
                    server.released.wait(20)
                    self.close_connection = True
                elif fault == "cut":
                    self.send_response(200)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data[: len(data) // 2])
                    self.close_connection = True
                elif fault == "reset":
                    self.close_connection = True
                elif fault == "garbage":
                    self.say(200, b"<html>\xff\x00 bad gateway</html>")
                elif fault in ("trickle", "half-headers"):
                    start = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n"
                    for byte in start + (b"\r\n" + data if fault == "trickle" else b"X: " + b"a" * 900):
                        self.wfile.write(bytes([byte]))
                        if server.released.wait(0.02):
                            break
                    self.close_connection = True
                elif fault in ("two", "none"):
                    choices = completion["choices"] * 2 if fault == "two" else []
                    self.say(200, json.dumps({**completion, "choices": choices}).encode())
                elif fault == "nul":
                    completion["choices"][0]["message"]["content"] = "a\0b"
                    self.say(200, json.dumps(completion).encode())

    return Handler
