"""The page of `replitune watch` in a real browser: no error, no request to elsewhere; hostile names
stay text; wide and narrow, light and dark."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import socket
import struct
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replitune.workflow.live.server import Server
from replitune.workflow.live.state import Live

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"), pytest.mark.slow]
EVIL = "<img src=x onerror=\"document.title='hacked'\"><b>bold</b>"
STATE: dict[str, Any] = {
    "experiment": f"x{EVIL}",
    "folder": f"results/{EVIL}",
    "status": "running",
    "host": EVIL,
    "began": 1.6e9,
    "sign": 1.6e9,
    "jobs": [3, 9],
    "cpu": 75.0,
    "left": 61.0,
    "report": None,
    "stages": [
        {"name": "tune", "done": 2, "all": 6, "at_work": 1, "failed": 0},
        {"name": "decode", "done": 1, "all": 3, "at_work": 0, "failed": 2},
    ],
    "replicas": [
        {"system": system, "of": of, "all": 3, "most": 3, "made": 1, "decoded": 0}
        for system in ("a", f"a-name-that-is-longer-than-most-{EVIL}")
        for of in ("mert", "pro")
    ],
    "metric": EVIL,
    "curves": [
        {"system": "a", "of": of, "replica": f"{of}-001", "scores": scores, "done": done}
        for of, scores, done in (("mert", [1.0, 3.0, 4.0], True), ("pro", [2.5], False))
    ],
    "at_work": [{"name": "tune/a/pro-001", "said": f"iteration 0: {EVIL}"}],
    "failed": [
        {"name": "decode/a/pro-002", "log": f"/logs/{EVIL}", "message": "first"},
        {"name": "decode/a/mert-002", "log": f"/logs/{EVIL}", "message": f"{EVIL}\nlast line"},
    ],
    "verdict": {
        "final": False,
        "where": "t, BLEU",
        "lines": [f"a beats {EVIL}"],
        "more": 2,
        "words": "Not final: do not stop by it.",
    },
}


class Fixed(Live):
    """What is to be seen is given."""

    def __init__(self) -> None:
        self.state = json.loads(json.dumps(STATE))

    def look(self, wait: bool = False) -> dict[str, Any]:
        return self.state


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(Fixed(), 0)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Browser:
    """Chromium by its remote protocol: a page that goes on asking cannot be dumped at its end."""

    def __init__(self, folder: Path, url: str, width: int) -> None:
        assert CHROMIUM is not None
        self.process = subprocess.Popen(
            [
                CHROMIUM,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                "--disable-dev-shm-usage",
                "--remote-debugging-port=0",
                f"--window-size={width},900",
                "--remote-allow-origins=*",
                "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
                f"--user-data-dir={folder / 'profile'}",
                "about:blank",
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        port_file = folder / "profile" / "DevToolsActivePort"
        until(lambda: port_file.exists() and port_file.read_text().count("\n") >= 1)
        port = int(port_file.read_text().split()[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json", timeout=60) as answer:
            (page,) = [p for p in json.load(answer) if p["type"] == "page"]
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        path = page["webSocketDebuggerUrl"].partition(str(port))[2]
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        self.stream = self.socket.makefile("rb")
        while self.stream.readline() not in (b"\r\n", b""):
            pass
        self.events: list[dict[str, Any]] = []
        self.number = 0
        for domain in ("Runtime", "Network", "Log", "Page"):
            self.do(f"{domain}.enable")
        self.do("Page.navigate", url=url)

    def do(self, method: str, **parameters: object) -> dict[str, Any]:
        self.number += 1
        text = json.dumps({"id": self.number, "method": method, "params": parameters}).encode()
        size = bytes([0x80 | len(text)]) if len(text) < 126 else b"\xfe" + struct.pack(">H", len(text))
        self.socket.sendall(b"\x81" + size + bytes(4) + text)  # masked by zeros
        while True:
            found = self._receive()
            if found.get("id") == self.number:
                return found["result"]
            self.events.append(found)

    def _receive(self) -> dict[str, Any]:
        content = b""
        while True:
            first, size = self.stream.read(2)
            if size == 126:
                (size,) = struct.unpack(">H", self.stream.read(2))
            elif size == 127:
                (size,) = struct.unpack(">Q", self.stream.read(8))
            content += self.stream.read(size)
            if first & 0x80:
                return json.loads(content)

    def value(self, expression: str) -> Any:
        return self.do("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")

    def picture(self, path: Path) -> None:
        found = self.do("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(found["data"]))

    def close(self) -> None:
        self.stream.close()
        self.socket.close()
        self.process.kill()
        self.process.wait()


def until(condition: Any, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextlib.contextmanager
def browsing(folder: Path, url: str, width: int) -> Iterator[Browser]:
    browser = Browser(folder, url, width)
    try:
        until(lambda: browser.value("document.querySelectorAll('#stages tbody tr').length"))
        yield browser
    finally:
        browser.close()


def complaints(browser: Browser) -> list[object]:
    """Of the page: errors, exceptions, and what the policy forbade."""
    kinds = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
    return [event for event in browser.events if event.get("method") in kinds]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_shows_all_of_it(server: Server, tmp_path: Path, width: int, dark: bool):
    with browsing(tmp_path, server.url, width) as browser:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        browser.do("Emulation.setEmulatedMedia", features=scheme)
        browser.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        text = browser.value("document.body.innerText")
        for said in (
            "3 of 9 jobs",
            "about 1:01 left",
            "1 at work",
            "2 failed",
            "last line",
            "and 1 more: decode a pro-002",
            "Verdict so far, NOT FINAL (t, BLEU)",
            "Not final: do not stop by it.",
            "and 2 more pairs",
            EVIL,
        ):
            assert said in text, said
        assert browser.value("document.title").startswith("3/9 x<img")
        assert browser.value("document.images.length") == 0, "markup in names is text"
        assert browser.value("document.querySelectorAll('b').length") == 0
        assert browser.value("document.querySelectorAll('#curves polyline').length") == 1
        assert browser.value("document.querySelectorAll('#curves circle').length") == 1
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert browser.value(wide) <= 0, "nothing but tables scrolls sideways"
        back = browser.value("getComputedStyle(document.body).backgroundColor")
        assert (sum(json.loads(back[3:].replace("(", "[").replace(")", "]"))) < 200) == dark
        asked = [
            event["params"]["request"]["url"]
            for event in browser.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        assert asked
        assert all(url.startswith((server.url, "data:,")) for url in asked), asked
        assert not complaints(browser), complaints(browser)
        if (kept := os.environ.get("REPLITUNE_PICTURES")) is not None:
            browser.picture(Path(kept) / f"live-{width}-{'dark' if dark else 'light'}.png")


def test_the_page_follows_the_run_and_says_when_nobody_answers(server: Server, tmp_path: Path):
    live = server.live
    assert isinstance(live, Fixed)
    with browsing(tmp_path, server.url, 1280) as browser:
        live.state = {**live.state, "jobs": [9, 9], "status": "done", "left": None, "failed": []}
        until(lambda: "9 of 9 jobs" in browser.value("document.body.innerText"))
        assert browser.value("document.getElementById('status').textContent") == "done"
        assert browser.value("document.getElementById('failed').hidden")
        live.state = {"error": "the folder is gone"}
        until(lambda: browser.value("document.getElementById('trouble').textContent"))
        assert "gone" in browser.value("document.getElementById('trouble').textContent")
        assert "9 of 9 jobs" in browser.value("document.body.innerText"), "what was known stays"
        server.shutdown()
        server.server_close()
        trouble = "document.getElementById('trouble').textContent"
        until(lambda: "does not answer" in browser.value(trouble))


def test_a_script_of_a_page_like_this_could_not_load_anything(server: Server, tmp_path: Path):
    """The policy, and that it would be noticed."""
    with browsing(tmp_path, server.url, 1280) as browser:
        browser.value(
            "document.body.insertAdjacentHTML('beforeend',"
            '\'<img src="https://example.org/x.png" onerror="window.ran = 1">\')'
        )
        until(lambda: browser.value("1") == 1 and complaints(browser))
        assert "Content Security Policy" in json.dumps(complaints(browser))
        assert browser.value("window.ran") is None
