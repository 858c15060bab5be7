"""Notebooks: what each must have, how outputs are tidied, and that they run."""

import ast
import importlib.util
import json
import shutil
import subprocess
import tempfile
from importlib.machinery import ModuleSpec

import pytest

from experiments import notebooks
from experiments.notebooks import FIRST, FOLDER, NotebooksConfig
from jaxgames import runtime
from tests.processes import run_python


@pytest.mark.parametrize("name", FIRST)
def test_the_structure_of_a_notebook(name):
    text = (FOLDER / f"{name}.ipynb").read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert notebooks.written(notebook) == text
    title, setup, *rest = notebook["cells"]
    assert title["cell_type"] == "markdown" and title["source"][0].startswith("# ")
    code = "".join(setup["source"])
    assert code.startswith('SOURCE = ""') and code.index("cuda") < code.index('"pip"') < code.index("runtime.prepare()")
    assert code == "".join(notebooks.read(FOLDER / "pommerman.ipynb")["cells"][1]["source"])
    cells = [cell for cell in rest if cell["cell_type"] == "code"]
    for number, cell in enumerate([setup, *cells], start=1):
        assert cell["execution_count"] == number and not [one for one in cell["outputs"] if one["output_type"] == "error"]
    sizes = [cell for cell in cells if "small" in cell["metadata"]]
    (size,) = sizes
    assert names_in(size["metadata"]["small"]) <= names_in("".join(size["source"]))
    drawn = [kind for cell in cells for output in cell["outputs"] for kind in output.get("data", {})]
    assert "image/png" in drawn and "image/svg+xml" in drawn  # a plot and a board


def names_in(code):
    """What a piece of code assigns."""
    return {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def test_there_are_no_others():
    assert sorted(path.stem for path in FOLDER.glob("*.ipynb")) == sorted(FIRST)


@pytest.mark.parametrize(
    ("source", "driver", "wanted"),
    [
        ("/somewhere", None, "/somewhere[viz]"),
        ("/somewhere", "CUDA Version: 12.4", "/somewhere[viz,cuda12]"),
        ("/somewhere", "CUDA Version: 13.0", "/somewhere[viz,cuda]"),
        ("git+https://x.org/y.git", None, "jaxgames[viz] @ git+https://x.org/y.git"),
        ("checkout", None, "{folder}[viz]"),
        ("clone", None, "{folder}/jaxgames[viz]"),
    ],
)
def test_the_first_cell_installs_what_is_missing(source, driver, wanted, tmp_path, monkeypatch):
    calls = []

    def run(command, **_):
        calls.append(command)
        return subprocess.CompletedProcess(command, 0, driver)

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: driver and f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(runtime, "prepare", lambda: calls.append("prepared"))
    monkeypatch.chdir(tmp_path)
    if source == "checkout":
        (tmp_path / "jaxgames").mkdir()
        (tmp_path / "jaxgames" / "runtime.py").touch()
        source = ""
    if source == "clone":  # its folder has the package's name, and Python finds it as one without a file
        (tmp_path / "jaxgames" / "jaxgames").mkdir(parents=True)
        (tmp_path / "jaxgames" / "jaxgames" / "runtime.py").touch()
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: ModuleSpec(name, None, is_package=True))
        source = ""
    code = "".join(notebooks.read(FOLDER / "pommerman.ipynb")["cells"][1]["source"])
    exec(code.replace('SOURCE = ""', f'SOURCE = "{source}"', 1), {})
    *_, install, prepared = calls
    assert install[1:] == ["-m", "pip", "install", "--quiet", wanted.format(folder=tmp_path)] and prepared == "prepared"


def test_outside_a_checkout_the_first_cell_asks_where_the_package_is(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=r'SOURCE="": must be "git\+https://..." or the path of a checkout'):
        exec("".join(notebooks.read(FOLDER / "pommerman.ipynb")["cells"][1]["source"]), {})


def test_outputs_are_tidied():
    cell = {"cell_type": "code", "source": ["1"], "metadata": {}, "outputs": [], "execution_count": None}
    outputs = [
        {"output_type": "stream", "name": "stderr", "text": "a warning"},
        {"output_type": "stream", "name": "stdout", "text": "\x1b[31mred\x1b[0m\n"},
        {"output_type": "stream", "name": "stdout", "text": "line\n"},
        {"output_type": "display_data", "data": {"image/png": "abc\n"}, "metadata": {"at": 1}},
    ]
    found = notebooks.tidied({"cells": [cell]}, [{"outputs": outputs}])["cells"][0]
    assert found["execution_count"] == 1 and [output.get("text") for output in found["outputs"]] == [["red\n", "line\n"], None]
    assert found["outputs"][1]["metadata"] == {} and found["outputs"][1]["data"] == {"image/png": "abc\n"}
    for folder in (str(notebooks.CHECKOUT), tempfile.gettempdir()):
        named = [{"output_type": "stream", "name": "stdout", "text": f"in {folder}/x"}]
        with pytest.raises(ValueError, match=f"cell 1: an output names {folder}"):
            notebooks.tidied({"cells": [cell]}, [{"outputs": named}])


def test_a_name_that_does_not_exist():
    with pytest.raises(ValueError, match="notebook='chess': must be one of pommerman"):
        NotebooksConfig(("chess",))


def test_the_readme_lists_them():
    readme = (notebooks.CHECKOUT / "README.md").read_text(encoding="utf-8")
    assert notebooks.table() in readme


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_a_notebook_runs(name):
    done = run_python(["scripts/notebooks.py", name, "--small"], seconds=900)
    assert done.returncode == 0, done.stderr
