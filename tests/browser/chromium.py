"""Chromium by its DevTools protocol over a pipe, without a driver: real keys, sizes, colours."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--host-resolver-rules=MAP * ~NOTFOUND",  # the browser itself asks for things, too
)
KEYS = {"Tab": 9, "Enter": 13, "Space": 32, "ArrowDown": 40, "ArrowRight": 39, "Backspace": 8}


class Browser:
    """One tab."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM is not None
        to_read, self._write = os.pipe()
        self._read, to_write = os.pipe()

        def pipes() -> None:  # the protocol: it reads from 3, and writes to 4
            os.dup2(to_read, 10)
            os.dup2(to_write, 11)
            os.dup2(10, 3)
            os.dup2(11, 4)

        self._process = subprocess.Popen(
            [CHROMIUM, *FLAGS, f"--user-data-dir={profile}"],
            preexec_fn=pipes,
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_read)
        os.close(to_write)
        self._buffer = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.do("Target.createTarget", url="about:blank")["targetId"]
        found = self.do("Target.attachToTarget", targetId=target, flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.do(f"{domain}.enable")

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            more = os.read(self._read, 1 << 20)
            assert more, "Chromium has ended"
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def do(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command, and what it returns."""
        self._number += 1
        number = self._number
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": number, "method": method, "params": parameters, **session}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == number:
                assert "error" not in found, (method, found["error"])
                result: dict[str, Any] = found["result"]
                return result
            self.events.append(found)

    def look(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """The size of the window, and what the system's colours are."""
        self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, page: Path, fragment: str = "", *, scripts: bool = True) -> None:
        self.do("Emulation.setScriptExecutionDisabled", value=not scripts)
        for url in ("about:blank", f"{page.as_uri()}{fragment}"):
            self.events = []
            self.do("Page.navigate", url=url)
            while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
                self.events.append(self._message())
        time.sleep(0.1)

    def js(self, expression: str) -> Any:
        """The value of an expression; of a promise, what it comes to."""
        found = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"]["exception"].get("description"))
        return found["result"].get("value")

    def press(self, key: str, shift: bool = False) -> None:
        code = {
            "key": " " if key == "Space" else key,
            "code": key,
            "windowsVirtualKeyCode": KEYS[key],
            "modifiers": 8 if shift else 0,
        }
        text = {"Enter": "\r", "Space": " "}.get(key)
        down = {"type": "keyDown", "text": text} if text else {"type": "rawKeyDown"}
        self.do("Input.dispatchKeyEvent", **down, **code)
        self.do("Input.dispatchKeyEvent", type="keyUp", **code)

    def type(self, text: str) -> None:
        self.do("Input.insertText", text=text)

    def mouse(self, *steps: tuple[str, float, float]) -> None:
        """mousePressed, mouseMoved, mouseReleased at x and y of the window."""
        for kind, x, y in steps:
            button = {"button": "left", "buttons": 1, "clickCount": 1}
            self.do("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def place(self, selector: str) -> tuple[float, float]:
        """The middle of an element, which is brought into sight."""
        found = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const r = e.getBoundingClientRect();"
            "return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        return found[0], found[1]

    def click(self, selector: str) -> None:
        x, y = self.place(selector)
        self.mouse(("mousePressed", x, y), ("mouseReleased", x, y))

    def picture(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.do("Page.captureScreenshot")["data"]))

    @property
    def complaints(self) -> list[str]:
        """Errors and warnings of the page since it was opened."""
        said = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                said.append(event["params"]["exceptionDetails"]["exception"].get("description"))
            if event.get("method") == "Log.entryAdded":
                said.append(event["params"]["entry"]["text"])
        return said

    @property
    def requests(self) -> list[str]:
        """Addresses that were asked for, the page itself left out."""
        asked = [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]
        return [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]

    def close(self) -> None:
        try:
            self.do("Browser.close")
            self._process.wait(20)
        except (AssertionError, subprocess.TimeoutExpired, OSError):
            self._process.kill()
            self._process.wait()
