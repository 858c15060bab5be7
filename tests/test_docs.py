"""Pages for people: what they name exists, and what they show as code runs."""

import ast
import dataclasses
import importlib
import re
import shlex
import textwrap
import typing
from pathlib import Path

import pytest

from jaxgames.processes import free_port
from tests.processes import run_python
from training.jobs.catalogue import JOBS
from training.jobs.flags import parse
from training.jobs.folder import write_settings
from training.storage.provenance import as_read, flat

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SNIPPET = re.compile(r"<!-- before\n(.*?)-->|```python\n(.*?)```", flags=re.DOTALL)  # what is run first is not shown
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


def code_of(page: Path) -> str:
    """All Python of a page in its order, with what has to be there before it."""
    return "\n".join(textwrap.dedent(first or second) for first, second in SNIPPET.findall(page.read_text(encoding="utf-8")))


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


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


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if code_of(page)], ids=name_of)
def test_code_runs(page, tmp_path):
    """In a process of its own, as a reader would run it, and with the kernels that a reader gets."""
    here = f'"localhost:{free_port()}", num_processes=1'  # of several machines, as the pages have them, there is one
    code = code_of(page).replace('"node1:1234", num_processes=2', here)
    prepared = "" if "runtime.prepare(" in code else "from jaxgames import runtime\n\nruntime.prepare()\n"
    (tmp_path / "page.py").write_text(prepared + code)
    done = run_python(
        [str(tmp_path / "page.py")], {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore"}, folder=tmp_path, seconds=900
    )
    assert done.returncode == 0, done.stderr


def test_what_is_run_first_stands_before_code():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert len(re.findall("<!-- before\n", text)) == len(
            re.findall(r"<!-- before\n.*?-->\n\n```python", text, flags=re.DOTALL)
        ), page


# --- command lines --------------------------------------------------------------------------------------------------------

COMMAND = re.compile(r"\b(?:jaxgames (?P<job>[a-z][a-z-]+)|scripts/(?P<script>\w+)\.py)(?P<rest>.*)")
OF_ALL_JOBS = {"help", "version", "coordinator", "num-processes", "process-id", "patience"}


def config_of(job: str, script: str):
    """The config of a command, a dataclass."""
    if script:
        text = (ROOT / "scripts" / f"{script}.py").read_text(encoding="utf-8")
        if found := re.search(r'run_module\(\s*"([\w.]+)",\s*"\w+",\s*"(\w+)"', text):
            return getattr(importlib.import_module(found[1]), found[2])
        job = re.search(r'run_job\("([\w-]+)"', text)[1]
    return getattr(importlib.import_module(JOBS[job].module), JOBS[job].config)


def flags_of(config, prefix=""):
    """The flags that tyro makes of a dataclass."""
    kinds, full = typing.get_type_hints(config), typing.get_type_hints(config, include_extras=True)
    for field in dataclasses.fields(config):
        names = [getattr(extra, "name", None) for extra in getattr(full[field.name], "__metadata__", ())]
        name = prefix + next(filter(None, names), field.name.replace("_", "-"))
        yield name
        if dataclasses.is_dataclass(kinds[field.name]):
            yield from flags_of(kinds[field.name], f"{name}.")


def shell_lines(page: Path):
    """Lines of blocks that are no Python; a line that ends with a backslash goes on."""
    for language, block in re.findall(r"```(\w*)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL):
        if language != "python":
            yield from block.replace("\\\n", " ").splitlines()


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_have_the_flags_that_are_shown(page):
    for line in shell_lines(page):
        found = COMMAND.search(line.split(" #")[0])
        if found is None or (found["job"] and found["job"] not in JOBS):
            assert found is None, f"{found['job']} is no job: {line}"
            continue
        known = OF_ALL_JOBS | set(flags_of(config_of(found["job"], found["script"])))
        given = re.findall(r"(?<!\S)--([a-z][\w.-]*)", found["rest"])
        unknown = [flag for flag in given if flag not in known and flag.replace("no-", "") not in known]
        assert unknown == [], line


def test_runs_that_go_on_have_the_settings_of_those_that_began(tmp_path, monkeypatch):
    """They take them from the folder; what is given again, and may not change, is as it was."""
    monkeypatch.chdir(tmp_path)
    page, begun, resumed = ROOT / "docs" / "learning.md", {}, []
    for line in shell_lines(page):
        found = COMMAND.search(line.split(" #")[0])
        if found is None or not (found["script"] or "").startswith("train_"):
            continue
        config = parse(config_of(found["job"], found["script"]), shlex.split(found["rest"]))
        if config.resume:
            resumed.append((flat(as_read(config)), begun[config.output], config.FREE))
        else:
            begun[config.output] = flat(as_read(config))
            Path(config.output).mkdir(parents=True, exist_ok=True)
            write_settings(config, Path(config.output))
    assert len(resumed) > 3
    for after, before, free in resumed:
        assert {name: value for name, value in after.items() if before[name] != value and name not in free} == {}
