"""A headless Chromium, driven by its DevTools protocol over a WebSocket."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome")
SIZE = (1280, 860)


class Tab:
    """A tab; what its page complains about is kept in `complaints`."""

    def __init__(self, wire: ClientConnection) -> None:
        self._wire = wire
        self._number = 0
        self.complaints: list[dict] = []
        for name in ("Runtime", "Log", "Page"):
            self.do(f"{name}.enable")

    def do(self, method: str, **given: Any) -> dict:
        """Runs a command of the protocol."""
        self._number += 1
        self._wire.send(json.dumps({"id": self._number, "method": method, "params": given}))
        while True:
            answer = json.loads(self._wire.recv(timeout=60))
            if answer.get("id") == self._number:
                assert "error" not in answer, (method, answer)
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.complaints.append(answer["params"])

    def open(self, address: str) -> None:
        self.do("Page.navigate", url=address)

    def reload(self) -> None:
        self.do("Page.reload")

    def js(self, expression: str) -> Any:
        """Gives the value of an expression in the page."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, expression: str, seconds: float = 120.0) -> Any:
        """Waits until an expression is true, and gives it."""
        end = time.monotonic() + seconds
        while not (value := self.js(expression)):
            assert time.monotonic() < end, f"{expression} never came true; the page says {self.js('document.body.innerText')}"
            time.sleep(0.01)
        return value

    def text(self, selector: str) -> str:
        return self.js(f"document.querySelector({selector!r}).innerText")

    def middle(self, selector: str) -> tuple[float, float] | None:
        """Where the middle of an element is; None: it is not there."""
        found: list[float] | None = self.js(
            f"((it) => {{ const box = it?.getBoundingClientRect(); "
            f"return it && [box.x + box.width / 2, box.y + box.height / 2]; }})({_find(selector)})"
        )
        return (found[0], found[1]) if found else None

    def click(self, selector: str) -> None:
        self.drag(selector, selector)

    def drag(self, start: str, end: str) -> None:
        """Presses the mouse on one element and lets it go on another."""
        for kind, selector in (("mouseMoved", start), ("mousePressed", start), ("mouseMoved", end), ("mouseReleased", end)):
            if (place := self.middle(selector)) is None:  # a new picture has come meanwhile
                return
            self.do("Input.dispatchMouseEvent", type=kind, x=place[0], y=place[1], button="left", clickCount=1)

    def key(self, name: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.do("Input.dispatchKeyEvent", type=kind, key=name)

    def picture(self, path: Path) -> None:
        """Writes what is seen as PNG."""
        path.write_bytes(base64.b64decode(self.do("Page.captureScreenshot", format="png")["data"]))

    def dark(self) -> None:
        """Prefers dark pages from now on."""
        self.do("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])


class Browser:
    """A running Chromium."""

    def __init__(self, port: int, wires: ExitStack) -> None:
        self._port, self._wires = port, wires
        self._targets: list[str] = []

    def tab(self, address: str = "about:blank") -> Tab:
        """Opens a tab."""
        request = urllib.request.Request(f"http://127.0.0.1:{self._port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=20) as answer:
            target = json.load(answer)
        self._targets.append(target["id"])
        wire = self._wires.enter_context(connect(target["webSocketDebuggerUrl"], max_size=None))
        tab = Tab(wire)
        tab.open(address)
        return tab

    def close_tabs(self) -> None:
        """Closes all tabs that were opened."""
        self._wires.close()
        while self._targets:
            urllib.request.urlopen(f"http://127.0.0.1:{self._port}/json/close/{self._targets.pop()}", timeout=20).close()


@contextmanager
def chromium() -> Iterator[Browser]:
    """Runs a Chromium while the context lasts; $CHROMIUM says which, else it is one of `NAMES`."""
    program = os.environ.get("CHROMIUM") or next((found for name in NAMES if (found := shutil.which(name))), None)
    if program is None:
        raise FileNotFoundError("no Chromium: apt-get install chromium, or name one in the variable CHROMIUM")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        flags = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--hide-scrollbars",
            "--no-first-run",
            "--disable-dev-shm-usage",
        ]
        flags += ["--remote-debugging-port=0", f"--user-data-dir={folder}", f"--window-size={SIZE[0]},{SIZE[1]}"]
        process = subprocess.Popen([program, *flags], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            told = Path(folder) / "DevToolsActivePort"
            end = time.monotonic() + 60
            while not (told.exists() and told.read_text().strip()):
                assert process.poll() is None and time.monotonic() < end, "Chromium does not start"
                time.sleep(0.05)
            with ExitStack() as wires:
                yield Browser(int(told.read_text().split()[0]), wires)
        finally:
            process.kill()
            process.wait()


def _find(selector: str) -> str:
    return f"document.querySelector({selector!r})"
