"""Pages for people: what they name exists."""

import ast
import importlib
import re
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAME = re.compile(r"\b(?:jaxgames|search|training|experiments)(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(r"`((?:jaxgames|search|training|experiments|scripts|tests|docs|notebooks|benchmarks)/[\w/.-]*)`")
LINK = re.compile(r"\]\(([^)#]+)\)")


def find(name: str) -> None:
    """Looks up a dotted name: a module, or an attribute of one."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[size:]:
            found = getattr(found, attribute)
        return
    raise AssertionError(name)


def unfenced(text: str) -> str:
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_files_and_links_are_there(page):
    text = page.read_text(encoding="utf-8")
    files = [file for file in FILE.findall(unfenced(text)) if not re.search("GAME|DEVICE", file)]
    missing = [file for file in files if not (ROOT / file).exists()]
    missing += [link for link in LINK.findall(text) if "://" not in link and not (page.parent / link).exists()]
    for name in dict.fromkeys(NAME.findall(unfenced(text))):
        try:
            find(name)
        except (AssertionError, AttributeError):
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_code_imports_is_there(page):
    for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        for node in ast.walk(ast.parse(textwrap.dedent(block))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    importlib.import_module(alias.name)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    find(f"{node.module}.{alias.name}")
