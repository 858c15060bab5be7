"""The server of the page: three files, and a WebSocket for each window. Uses the package `websockets`."""

from __future__ import annotations

import contextlib
import errno
import functools
import ipaddress
import logging
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import Iterator
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from training.web.connection import LONGEST_MESSAGE, serve_window
from training.web.desk import Desk

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import Server, ServerConnection

_FILES = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_SOCKET = "/socket"
_LARGEST_FRAME = (
    8 * LONGEST_MESSAGE
)  # what is larger than a message may be is answered, what is larger than this ends the connection
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MOST_WINDOWS = 64


@contextlib.contextmanager
def serving(desk: Desk, host: str, port: int) -> Iterator[str]:
    """Serves a desk while the context lasts, in threads of its own.

    Args:
      desk: what is shown.
      host: the address to listen at.
      port: its port; 0: any that is free.

    Returns:
      The address of the page.

    Raises:
      ValueError: the package `websockets` is missing.
      OSError: the port is in use, or there is no such address.
    """
    server = _listen(desk, host, port)
    thread = threading.Thread(target=server.serve_forever, name="server", daemon=True)
    thread.start()
    try:
        shown = f"[{host}]" if ":" in host else host
        yield f"http://{shown}:{server.socket.getsockname()[1]}/"
    finally:
        desk.close()
        server.shutdown()
        thread.join()


def show_in_browser(address: str) -> None:
    """Opens a page in the browser, where there is a desktop: a browser in the terminal would take its place."""
    if sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(address)


def is_loopback(host: str) -> bool:
    """Says whether only programs of this machine reach an address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(desk: Desk, host: str, port: int) -> Server:
    try:
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.server import serve
    except ImportError:
        raise ValueError("the page needs the package websockets: pip install '.[play]' in a checkout") from None

    def handle(connection: ServerConnection) -> None:
        serve_window(connection, desk, ConnectionClosed)

    quiet = logging.getLogger("jaxgames.web")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    windows: list[Server] = []
    try:
        server = serve(
            handle,
            host,
            port,
            family=socket.AF_INET6 if ":" in host else socket.AF_INET,
            process_request=functools.partial(_answer, local=is_loopback(host), windows=windows),
            max_size=_LARGEST_FRAME,
            compression=None,
            logger=quiet,
        )
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise OSError(f"port={port}: is in use at {host}; give another one, or 0 for any that is free") from None
        raise OSError(f"host={host!r}, port={port}: {error.strerror or error}") from None
    windows.append(server)
    return server


def _answer(connection: ServerConnection, request: Request, *, local: bool, windows: list[Server]) -> Response | None:
    """Answers a request with a file, or None: it may become a WebSocket.

    A page of another site, open in the same browser, could reach this machine too. So the host must be one of this machine's
    names (which keeps out names that have been made to point here), and a WebSocket must come from a page of this very server.
    """
    host = request.headers.get("Host", "")
    if local and not is_loopback(_name_of(host)):
        return _response(403, "text/plain", f"host={host!r}: this page is for this machine alone\n".encode())
    path = urlsplit(request.path).path
    if path == _SOCKET:
        if request.headers.get("Origin") != f"http://{host}":
            return _response(403, "text/plain", b"origin: must be this page\n")
        if windows and len(windows[0].connections) >= _MOST_WINDOWS:
            return _response(503, "text/plain", b"too many windows\n")
        return None
    if path not in _FILES:
        return _response(404, "text/plain", b"there is no such page\n")
    name, kind = _FILES[path]
    return _response(200, kind, _file(name))


def _name_of(host: str) -> str:
    """The name in a Host header, without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


@functools.cache
def _file(name: str) -> bytes:
    return resources.files("training.web").joinpath(name).read_bytes()


def _response(status: int, kind: str, body: bytes) -> Response:
    from http import HTTPStatus

    from websockets.datastructures import Headers
    from websockets.http11 import Response

    fields: dict[str, Any] = {
        "Content-Type": kind,
        "Content-Length": str(len(body)),
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "Connection": "close",
    }
    return Response(status, HTTPStatus(status).phrase, Headers(fields), body)
