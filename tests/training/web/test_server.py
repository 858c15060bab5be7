"""The server through its own protocol: files, who may connect, windows, garbage, loading, opinions, and its end."""

import contextlib
import http.client
import json
import socket
import sys
import threading
import time
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

import jaxgames
from jaxgames.page import Board
from tests.tic_tac_toe import REGISTRATION
from training.web import play, server
from training.web.cast import Cast
from training.web.desk import Desk
from training.web.play import PlayConfig
from training.web.saved import SavedGame


@pytest.fixture(scope="module")
def address():
    patch = pytest.MonkeyPatch()
    patch.setattr(sys.modules["jaxgames.registration"], "_ADDED", {})
    jaxgames.register(REGISTRATION)
    game = jaxgames.make("tic_tac_toe")
    desk = Desk(Cast(game, "standard", ("you", "careful")), 0, planner="mcs:num_simulations=64,horizon=4")
    desk.prepare()
    with server.serving(desk, "127.0.0.1", 0) as address:
        yield address
    patch.undo()


class Window:
    """A window of a browser, without one."""

    def __init__(self, address, wire):
        self.address, self.wire = address, wire

    def say(self, **message):
        self.wire.send(json.dumps(message))

    def hear(self, kind, seconds=30.0, **values):
        """Waits for a message of a kind, with these values."""
        end = time.monotonic() + seconds
        while True:
            message = json.loads(self.wire.recv(timeout=end - time.monotonic()))
            if message["type"] == kind and all(message.get(name) == value for name, value in values.items()):
                return message

    def refused(self, **message):
        self.say(**message)
        return self.hear("error")["text"]


@contextmanager
def window(address, session=""):
    place = urlsplit(address)
    with connect(f"ws://{place.netloc}/socket", origin=f"http://{place.netloc}", max_size=None) as wire:
        found = Window(address, wire)
        found.say(do="open", session=session)
        found.table = found.hear("table")
        found.state = found.hear("state")
        yield found


def get(address, path="/", **headers):
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=10)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read().decode()


def test_the_page_is_three_files(address):
    status, headers, text = get(address)
    assert status == 200 and "page.js" in text and "page.css" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"] and "unsafe-eval" not in str(headers)
    assert get(address, "/page.js")[1]["Content-Type"].startswith("text/javascript")
    for path in ("/page.py", "/../play.py", "/%2e%2e/play.py", "/page.css/"):
        assert get(address, path)[0] == 404, path


def test_other_sites_and_other_names_are_kept_out(address):
    assert get(address, Host="evil.example")[0] == 403
    assert get(address, Host="127.0.0.1.evil.example:80")[0] == 403
    assert get(address, Host=f"localhost:{urlsplit(address).port}")[0] == 200
    netloc = urlsplit(address).netloc
    for origin in ("http://evil.example", None, "null", f"https://{netloc}", f"http://{netloc}.evil.example"):
        with pytest.raises(InvalidStatus, match="403"), connect(f"ws://{netloc}/socket", origin=origin):
            pass


def test_a_game_is_played_to_its_end(address):
    with window(address) as page:
        assert page.table["names"] == ["you", "careful (sees all)"] and page.table["person"] == 0
        state, lines = page.state, []
        while not state["over"]:
            lines[state["log_from"] :] = state["log"]
            if state["awaits"]:
                action, name, _ = state["moves"][0]
                assert name == f"action {action}"
                page.say(do="act", action=action, at=state["at"])
            state = page.hear("state")
        assert state["result"] and state["picture"].startswith("<svg") and len(lines) >= 4
        assert page.refused(do="act", action=0, at=state["at"]) == "the game is over"
        page.say(do="new")
        assert page.hear("state", at=0)["moves"]


def test_two_windows_see_one_session_or_two(address):
    with window(address) as first, window(address, first.table["session"]) as second, window(address) as other:
        assert second.table["session"] == first.table["session"] != other.table["session"]
        second.say(do="act", action=4, at=0)
        assert first.hear("state", at=2)["picture"] == second.hear("state", at=2)["picture"]
        first.say(do="back")
        assert second.hear("state", at=0)["log_from"] == 0
        with pytest.raises(TimeoutError):
            other.hear("state", seconds=0.2)


def test_a_reloaded_window_finds_its_game(address):
    with window(address) as page:
        page.say(do="act", action=4, at=0)
        page.hear("state", at=2)
    with window(address, page.table["session"]) as again:
        assert again.state["at"] == 2 and len(again.state["log"]) == 2


def test_a_game_that_is_opened_again_is_told_from_its_beginning_and_once(address):
    def telling():
        return sum(thread.name == "window" for thread in threading.enumerate())

    with window(address) as page:
        page.say(do="act", action=4, at=0)
        page.hear("state", at=2)
        before = telling()
        for _ in range(20):
            page.say(do="open", session=page.table["session"])
        for _ in range(20):
            page.hear("table")
        assert page.hear("state", at=2)["log_from"] == 0
        end = time.monotonic() + 2
        while telling() > before and time.monotonic() < end:
            time.sleep(0.01)
        assert telling() <= before, "no thread is left of those that told it before"
        page.say(do="new")
        page.hear("state", at=0)
        with pytest.raises(TimeoutError):
            page.hear("state", seconds=0.5)


def test_a_session_that_is_gone_is_told_and_another_begins(address):
    place = urlsplit(address)
    with connect(f"ws://{place.netloc}/socket", origin=f"http://{place.netloc}") as wire:
        page = Window(address, wire)
        page.say(do="open", session="nowhere")
        first = json.loads(wire.recv(timeout=30))
        assert first["type"] == "table" and first["session"] != "nowhere", "with the reason, which no other message may wipe out"
        assert first["notice"] == "session='nowhere': is no longer there: here is a new game"
        page.say(do="open", session=first["session"])
        assert page.hear("table")["notice"] == ""


def test_garbage_is_answered_in_one_line_and_the_game_goes_on(address):
    with window(address) as page:
        for message, words in (
            ("", "is no JSON"),
            ("{", "is no JSON"),
            ("[" * 20_000, "is no JSON"),
            (f'{{"do": "act", "action": 1, "at": {"1" * 5000}}}', "is no JSON"),
            ("[]", 'must be an object with a word "do"'),
            ('{"do": 5}', 'must be an object with a word "do"'),
            ('{"do": "dance"}', "must be one of open, load, act"),
            ('{"do": "act"}', "lacks action"),
            ('{"do": "act", "action": "4", "at": 0}', "action='4': is of the wrong kind"),
            ('{"do": "act", "action": true, "at": 0}', "is of the wrong kind"),
            ('{"do": "act", "action": 1e99, "at": 0}', "is of the wrong kind"),
            ('{"do": "act", "action": 99999999999999999999, "at": 0}', "is not legal here"),
            ('{"do": "look", "at": 17}', r"at=17: must be in 0..0"),
            ('{"do": "clock", "running": true, "seconds": NaN}', "seconds=nan: must be in"),
            (f'{{"do": "clock", "running": true, "seconds": {"1" * 400}}}', "1111: must be in"),
            (f'{{"do": "act", "action": {"1" * 400}, "at": 0}}', "action 1111"),
            ('{"do": "load", "text": "x"}', "is no JSON"),
            ('{"do": "opinion", "planner": "oracle"}', "planner='oracle': must be one of"),
            ('{"do": "opinion", "planner": "fdts:guide=/etc/passwd"}', "reads a file; start the server with it to ask it"),
            (json.dumps({"do": "x" * 1_000_000}), "characters: must have at most 500000"),
            (b"\xff\x00", "must be text, not bytes"),
        ):
            page.wire.send(message)
            told = page.hear("error")["text"]
            assert words in told and "\n" not in told and len(told) <= 400, (message[:40], told)
        page.say(do="act", action=4, at=0)
        assert page.hear("state", at=2)["log"]


def test_what_is_far_too_large_ends_one_connection_alone(address):
    with window(address) as page, window(address) as other:
        page.wire.send("x" * 5_000_000)
        with pytest.raises(ConnectionClosed):
            page.hear("error")
        other.say(do="act", action=4, at=0)
        assert other.hear("state", at=2)


def test_games_are_saved_and_loaded(address):
    with window(address) as page:
        page.say(do="act", action=4, at=0)
        page.hear("state", at=2)
        page.say(do="save")
        saved = page.hear("saved")
        assert saved["name"].startswith("tic_tac_toe-standard-") and saved["name"].endswith("-2.json")
        page.say(do="load", text=saved["text"])
        assert page.hear("table")["session"] != page.table["session"] and page.hear("state")["at"] == 2
        wrong = json.loads(saved["text"]) | {"game": "chess"}
        assert "game='chess': must be one of" in page.refused(do="load", text=json.dumps(wrong))


def test_a_planner_is_asked_for_its_opinion(address):
    with window(address) as page:
        page.say(do="opinion")
        told = page.hear("opinion")
        assert told["at"] == 0 and told["game"] == page.state["game"] and len(told["moves"]) == 9
        assert all(0 <= value <= 1 for _, value, _ in told["moves"])
        visits = [visits for _, _, visits in told["moves"]]
        assert visits == sorted(visits, reverse=True) and sum(visits) == 64


def test_a_board_that_fails_is_told_and_the_window_goes_on(address):
    with window(address) as page:
        patch = pytest.MonkeyPatch()
        patch.setattr(Board, "status", lambda *_: 1 // 0)
        page.say(do="act", action=4, at=0)
        assert page.hear("error")["text"] == "the board failed: ZeroDivisionError: integer division or modulo by zero"
        assert "the board failed" in page.refused(do="look", at=0)
        patch.undo()
        page.say(do="back")
        assert page.hear("state", at=0)["moves"]


def test_a_click_for_another_game_is_refused(address):
    with window(address) as page:
        page.say(do="new")
        now = page.hear("state", at=0, game=page.state["game"] + 1)["game"]
        assert "another game has begun" in page.refused(do="act", action=4, at=0, game=page.state["game"])
        assert "game='1': is of the wrong kind" in page.refused(do="act", action=4, at=0, game="1")
        page.say(do="act", action=4, at=0, game=now)
        assert page.hear("state", at=2)["game"] == now


def test_a_window_is_told_that_its_game_was_ended(address, monkeypatch):
    monkeypatch.setattr("training.web.desk.MOST_SESSIONS", 1)
    told = "this game was ended, as too many others have begun"
    with window(address) as first, window(address) as second:
        assert first.hear("error")["text"] == told
        for asked in ({"do": "act", "action": 4, "at": 0}, {"do": "new"}, {"do": "back"}, {"do": "opinion"}):
            assert first.refused(**asked) == told
        first.say(do="save")
        assert first.hear("saved"), "it can be gone on with"
        second.say(do="act", action=4, at=0)
        assert second.hear("state", at=2)


def test_earlier_moments_are_looked_at(address):
    with window(address) as page:
        page.say(do="act", action=4, at=0)
        page.hear("state", at=2)
        page.say(do="look", at=0)
        view = page.hear("view")
        assert view["shown"] == 0 and view["picture"] == page.state["picture"]


def test_a_port_in_use_and_wrong_addresses_are_told_in_one_line():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(OSError, match=rf"port={port}: is in use at 127\.0\.0\.1; give another one"),
            server.serving(Desk(None, 0), "127.0.0.1", port),
        ):
            pass
    with pytest.raises(OSError, match=r"host='192\.0\.2\.1'"), server.serving(Desk(None, 0), "192.0.2.1", 0):
        pass
    assert server.is_loopback("::1") and server.is_loopback("localhost") and not server.is_loopback("0.0.0.0")
    assert not server.is_loopback("localhost.evil.example")


def test_addresses_of_either_kind():
    hosts = ["127.0.0.1", "localhost"]
    with contextlib.suppress(OSError):  # where the machine has IPv6
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        hosts.append("::1")
    for host in hosts:
        with server.serving(Desk(None, 0), host, 0) as address:
            assert get(address)[0] == 200, host


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"port": 70_000}, r"port=70000: must be in 0\.\.65535"),
        ({"game": "chess"}, "game='chess': must be one of"),
        ({"pace": -1.0}, "pace=-1.0: must be in"),
        ({"host": ""}, "host='': must be an address"),
        ({"seat": 2}, r"seat=2: must be in 0\.\.1"),
        ({"planner": "oracle"}, "planner='oracle': must be one of"),
        ({"agents": ("nobody",)}, "agent='nobody': must be one of"),
    ],
)
def test_settings_that_are_not_possible(settings, words):
    with pytest.raises(ValueError, match=words):
        play.make_desk(PlayConfig(**({"game": "hex", "mode": "adh-3"} | settings)))


@pytest.mark.parametrize(
    ("settings", "named"),
    [({"game": "hex"}, "game"), ({"mode": "adh-3", "seat": 1}, "mode, seat"), ({"agents": ("random",)}, "agents")],
)
def test_a_saved_game_says_itself_who_plays_what(settings, named, tmp_path):
    path = tmp_path / "game.json"
    with pytest.raises(ValueError, match=rf"^load='{path}': there is no such file; give a game that the page has saved$"):
        PlayConfig(load=str(path), **settings)
    path.touch()
    with pytest.raises(ValueError, match=rf"^load='{path}': the saved game says who plays what; leave out {named}$"):
        PlayConfig(load=str(path), **settings)


def test_a_file_that_is_no_saved_game_is_named(tmp_path):
    path = tmp_path / "notes.toml"
    path.write_text("[project]")
    with pytest.raises(ValueError, match=rf"^load='{path}': saved game: is no JSON"):
        play.make_desk(PlayConfig(load=str(path)))


def test_a_saved_game_that_cannot_be_played_is_told_with_the_game_that_begins_instead(address):
    desk = Desk(Cast(jaxgames.make("tic_tac_toe"), "standard", ("you", "careful")), 0)
    desk.prepare(SavedGame("tic_tac_toe", "standard", 3, 0, 0, ("you", "careful"), ((9, 9),)))
    with server.serving(desk, "127.0.0.1", 0) as other, window(other, "nowhere") as page:
        told = page.table["notice"]
        assert told.startswith("session='nowhere': is no longer there; ") and told.endswith(": here is a new game")
        assert "action" in told and page.state["at"] == 0


def test_a_desk_is_that_of_the_saved_game(tmp_path):
    path = tmp_path / "game.json"
    path.write_text(SavedGame("stratego", "mini", 3, 0, 0, ("random", "you")).to_text())
    desk = play.make_desk(PlayConfig(load=str(path)))
    desk.prepare()
    assert desk.title == "stratego mini" and PlayConfig().game == "hex"
