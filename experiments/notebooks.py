"""Runs the notebooks, tidies what they print and draw, and tells what there is of them.

A cell with the metadata `small` sets the sizes of its notebook; there stand, as Python, smaller ones for tests.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import tempfile
import tomllib
from pathlib import Path
from typing import Annotated, Any

import tyro

from experiments.pages import fill, markdown
from jaxgames import checks
from training.storage.files import write_atomically
from training.storage.provenance import CHECKOUT

FOLDER = CHECKOUT / "notebooks"
FIRST = ("pommerman", "dark_hex", "hero_academy", "clash", "stratego", "own_game", "own_planner", "train")
SECONDS = 900  # for one cell
COLAB = "https://colab.research.google.com"
_BADGE = "docs/pictures/colab.svg"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


@dataclasses.dataclass(frozen=True)
class NotebooksConfig:
    """Runs notebooks and keeps what they print and draw in them; a notebook that fails stays as it was.

    Attributes:
      names: which, without their ending; all of them if none is named.
      small: with small sizes, and nothing is kept.
      table: write the README's list of them, and run nothing.
    """

    names: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="NAME ...")] = ()
    small: bool = False
    table: bool = False

    def __post_init__(self) -> None:
        for name in self.names:
            if name not in FIRST:
                raise ValueError(f"notebook={name!r}: {checks.one_of(name, FIRST)}")


def run(config: NotebooksConfig) -> None:
    """Runs the notebooks that are asked for.

    Args:
      config: the command line.

    Raises:
      ValueError: an output names a folder of this machine.
      RuntimeError: a cell has failed.
    """
    if config.table:
        fill(CHECKOUT / "README.md", {"notebooks": table()}, others_stay=True)
        return
    for name in config.names or FIRST:
        path = FOLDER / f"{name}.ipynb"
        print(f"{name} ...", flush=True)
        executed = execute(read(path), small=config.small)
        if not config.small:
            write_atomically(path, written(executed))


def table() -> str:
    """Lists the notebooks; with a badge each that opens it in Colab, once pyproject.toml tells where this repository is."""
    urls = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    place = urls.get("Repository", "").removeprefix("https://github.com/")
    rows = []
    for name in FIRST:
        first = "".join(read(FOLDER / f"{name}.ipynb")["cells"][0]["source"])
        title, _, rest = first.partition("\n")
        told = " ".join(rest.split()).partition(". ")[0].rstrip(".")
        link = f"{COLAB}/github/{place}/blob/main/notebooks/{name}.ipynb"
        badge = [f"[![Open in Colab]({_BADGE})]({link})"] if place else []
        rows.append([f"[{title.removeprefix('# ')}](notebooks/{name}.ipynb)", told, *badge])
    shown = markdown(("notebook", "what happens in it", *([""] if place else [])), rows)
    return shown if place else f"{shown}\n\nIn Colab: [upload a file]({COLAB}/#upload=true) from `notebooks/`."


def read(path: Path) -> dict[str, Any]:
    """Reads a notebook."""
    notebook: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return notebook


def written(notebook: dict[str, Any]) -> str:
    """Gives the text of a notebook as it is kept."""
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def execute(notebook: dict[str, Any], *, small: bool = False) -> dict[str, Any]:
    """Runs a notebook in a fresh kernel.

    Args:
      notebook: as `read` gives it; it stays as it is.
      small: with small sizes, in place of those that its cells set.

    Returns:
      The notebook with tidy outputs.

    Raises:
      ValueError: an output names a folder of this machine.
      RuntimeError: a cell has failed; its traceback is part of the message.
    """
    import nbformat
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    running = nbformat.reads(json.dumps(notebook), as_version=4)
    for cell in running["cells"]:
        if small and "small" in cell["metadata"]:
            cell["source"] = f"{cell['source']}\n{cell['metadata']['small']}"
    path = os.pathsep.join([str(CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            running,
            km=AsyncKernelManager(kernel_name="python3", transport="ipc", ip=f"{folder}/kernel"),  # no port is opened
            timeout=SECONDS,
            record_timing=False,
            resources={"metadata": {"path": str(FOLDER)}},
        )
        client.owns_km = True  # the kernel ends with the notebook
        try:
            client.execute(env=os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "ignore"})
        except CellExecutionError as error:
            raise RuntimeError(_ESCAPES.sub("", str(error))) from None
    return tidied(notebook, running["cells"])


def tidied(notebook: dict[str, Any], cells: list[Any]) -> dict[str, Any]:
    """Gives a notebook the outputs of its cells: in order, without colours, warnings and what differs from run to run.

    Raises:
      ValueError: an output names a folder of this machine.
    """
    kept, number = [], 0
    for cell, done in zip(notebook["cells"], cells, strict=True):
        if cell["cell_type"] != "code":
            kept.append(cell)
            continue
        number += 1
        outputs = _joined([_tidy(dict(one), number) for one in done["outputs"] if one.get("name") != "stderr"])
        told = json.dumps(outputs)
        for folder in (str(CHECKOUT), str(Path.home()), tempfile.gettempdir()):
            if f"{folder}/" in told:
                raise ValueError(f"cell {number}: an output names {folder}, a folder of this machine")
        kept.append(cell | {"execution_count": number, "outputs": outputs})
    return notebook | {"cells": kept}


def _joined(outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Puts together what was printed one after the other."""
    kept: list[dict[str, Any]] = []
    for output in outputs:
        if kept and "text" in output and kept[-1].get("name") == output.get("name"):
            kept[-1] = kept[-1] | {"text": kept[-1]["text"] + output["text"]}
        else:
            kept.append(output)
    return kept


def _tidy(output: dict[str, Any], number: int) -> dict[str, Any]:
    """One output, its texts as lists of lines."""
    if "text" in output:
        output["text"] = _ESCAPES.sub("", "".join(output["text"])).splitlines(keepends=True)
    if "data" in output:
        output["data"] = {
            kind: _lines(kind, "".join(data)) for kind, data in output["data"].items() if isinstance(data, str | list)
        }
        output["metadata"] = {}
    if "execution_count" in output:
        output["execution_count"] = number
    return output


def _lines(kind: str, text: str) -> str | list[str]:
    return text if kind == "image/png" else text.splitlines(keepends=True)
