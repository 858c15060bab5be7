"""The site: links that move, and notebooks as pages."""

import json
import re
from types import SimpleNamespace

import pytest

from experiments import site
from tests.processes import ROOT, run_python


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("[a](docs/games/hex.md)", "[a](games/hex.md)"),
        ("[![p](docs/pictures/x.svg)](docs/games/hex.md)", "[![p](pictures/x.svg)](games/hex.md)"),
        ("[n](notebooks/own_game.ipynb)", "[n](notebooks/own_game.md)"),
        ("[c](CONTRIBUTING.md) [u](https://x.org/docs/a.md)", "[c](contributing.md) [u](https://x.org/docs/a.md)"),
    ],
)
def test_links_from_the_root_of_the_checkout(text, moved):
    assert site.from_root(text) == moved


def test_a_notebook_as_a_page(tmp_path):
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": ["1\n", "2\n"]},
        {"output_type": "display_data", "data": {"image/png": "aGk=", "text/plain": "figure"}},
        {"output_type": "execute_result", "data": {"image/svg+xml": ["<svg/>"], "text/plain": "svg"}},
    ]
    cells = [{"cell_type": "markdown", "source": ["# Title"]}, {"cell_type": "code", "source": ["f()"], "outputs": outputs}]
    path = tmp_path / "one.ipynb"
    path.write_text(json.dumps({"cells": cells}))
    text, pictures = site.as_page(path)
    assert text.startswith("# Title\n\n```python\nf()\n```\n\n```text\n1\n2\n```\n\n![")
    assert [tuple(picture) for picture in pictures] == [("one-0.png", b"hi"), ("one-1.svg", b"<svg/>")]


@pytest.mark.parametrize(("page", "up"), [("interfaces.md", ""), ("games/hex.md", "../")])
def test_links_out_of_the_folder_of_pages_lead_to_pages_of_the_site(page, up):
    out = "../" * (page.count("/") + 1)
    text = f"[one]({out}notebooks/own_game.ipynb), [two]({out}CHANGELOG.md), [three](other.md#part)"
    shown = site.on_page_markdown(text, SimpleNamespace(file=SimpleNamespace(src_uri=page)), {}, None)
    assert shown == f"[one]({up}notebooks/own_game.md), [two]({up}changelog.md), [three](other.md#part)"


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_fetches_nothing(tmp_path):
    environment = {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = run_python(["-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")], environment)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "WARNING" not in done.stdout + done.stderr
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 30
    for page in pages:
        fetched = re.findall(
            r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?://[^\">\s]+)", page.read_text(encoding="utf-8")
        )
        assert fetched == [], page
