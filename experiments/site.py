"""What `make docs` does before mkdocs: the README becomes the first page, notebooks become pages, and links point to them.

mkdocs calls the functions of this file by their names (`hooks` in mkdocs.yml).
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = ROOT / "notebooks"
_AT_THE_ROOT = {"README.md": "index.md", "CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
_PICTURES = {"image/svg+xml": "svg", "image/png": "png"}
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_LINK_OUT = re.compile(r"\]\((?:\.\./)+(notebooks/\w+\.ipynb|[A-Z]+\.md)(#[\w-]+)?\)")  # out of the folder of pages


class Picture(NamedTuple):
    """A picture among the outputs of a notebook: its file, and what is in it."""

    path: str
    content: bytes


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are not in docs."""
    for source, page in _AT_THE_ROOT.items():
        files.append(File.generated(config, page, content=from_root((ROOT / source).read_text(encoding="utf-8"))))
    files.append(File.generated(config, "CITATION.cff", content=(ROOT / "CITATION.cff").read_text(encoding="utf-8")))
    lines = [
        "# Notebooks",
        "",
        "They run in Jupyter, and in Colab once the first cell says where the package is; here with what they print and draw.",
        "",
    ]
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text, pictures = as_page(path)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
        files.append(File.generated(config, f"notebooks/{path.name}", content=path.read_text(encoding="utf-8")))
        for picture in pictures:
            files.append(File.generated(config, f"notebooks/{picture.path}", content=picture.content))
        lines.append(f"* [{text.splitlines()[0].removeprefix('# ')}]({path.stem}.md)")
    files.append(File.generated(config, "notebooks/index.md", content="\n".join(lines) + "\n"))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lets links to notebooks and to pages at the root of the checkout lead to where they are on the site."""
    del config, files
    up = "../" * page.file.src_uri.count("/")

    def moved(match: re.Match) -> str:
        return f"]({up}{_page_of(match[1])}{match[2] or ''})"

    return _LINK_OUT.sub(moved, markdown)


def from_root(text: str) -> str:
    """Moves the links of a page at the root of the checkout to where the pages of the site are."""

    def moved(match: re.Match) -> str:
        target = match[1]
        if "://" in target:
            return match[0]
        return f"]({_page_of(target).removeprefix('docs/')})"

    return _LINK.sub(moved, text)


def _page_of(target: str) -> str:
    """Where the site has what a link from the root of the checkout leads to."""
    if target.startswith("notebooks/"):
        return target.replace(".ipynb", ".md")
    return _AT_THE_ROOT.get(target, target)


def as_page(path: Path) -> tuple[str, list[Picture]]:
    """Makes Markdown of a notebook with its outputs, and the pictures among them."""
    parts: list[str] = []
    pictures: list[Picture] = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for text, picture in _outputs(cell["outputs"], path.stem, len(pictures)):
            parts.append(text)
            pictures += [picture] if picture else []
    parts.append(f"[the notebook itself]({path.name})")
    return "\n\n".join(parts) + "\n", pictures


def _outputs(outputs: list[dict[str, Any]], name: str, first: int) -> Iterator[tuple[str, Picture | None]]:
    for output in outputs:
        data = output.get("data", {})
        kind = next((kind for kind in _PICTURES if kind in data), None)
        if kind:
            content = "".join(data[kind])
            raw = base64.b64decode(content) if kind == "image/png" else content.encode()
            picture = Picture(f"{name}-{first}.{_PICTURES[kind]}", raw)
            first += 1
            yield f"![what the cell draws]({picture.path})", picture
        elif text := "".join(output.get("text", data.get("text/plain", []))).rstrip():
            yield f"```text\n{text}\n```", None
