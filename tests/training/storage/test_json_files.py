"""JSON that is read again: what is torn, or is something else, is told in one line."""

import json
import re

import pytest

from training.storage.json_files import read_json, read_lines, read_rows

HAS = {"settings": dict, "released.wins": int, "seconds": int | float}
GOOD = {"settings": {}, "released": {"wins": 3}, "seconds": 1.5, "more": None}


def test_what_is_whole_is_read(tmp_path):
    path = tmp_path / "one.json"
    path.write_text(json.dumps(GOOD))
    assert read_json(path, "result", HAS) == read_json(str(path), "result") == GOOD
    path.write_text(json.dumps([GOOD, GOOD]))
    assert read_rows(path, "list of results", HAS) == [GOOD, GOOD]
    path.write_text(json.dumps(GOOD) + "\n" + json.dumps(GOOD) + "\n")
    assert read_lines(path, "list of results", HAS) == [GOOD, GOOD]
    path.write_text("")
    assert read_lines(path, "list of results", HAS) == []


WRONG = ["", "{", "3", "null", "[" * 100_000, "{}", *(json.dumps(GOOD | more) for more in (
    {"settings": 3}, {"released": {}}, {"released": [3]}, {"released": {"wins": "3"}}, {"seconds": None},
))]  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text[:60])
@pytest.mark.parametrize("read", [read_json, read_rows, read_lines])
def test_what_is_not_is_told_in_one_line(read, text, tmp_path):
    path = tmp_path / "one.json"
    path.write_text(f"[{text or 3}]" if read is read_rows else text or " \n")
    told = re.escape(f"{path}: torn, or no result; remove it, or give another folder")
    with pytest.raises(ValueError, match=f"^{told}$"):
        read(path, "result", HAS)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"; play it again$"):
        read(path, "result", HAS, then="play it again")
    path.unlink()
    with pytest.raises(FileNotFoundError):
        read(path, "result", HAS)
