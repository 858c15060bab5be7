"""The page of names lists what can be imported, and all that `jaxgames` and `search` offer."""

import importlib
import inspect
import re

import jaxgames
import search
from training.storage.provenance import CHECKOUT

LISTED = re.findall(r"^::: ([\w.]+)$", (CHECKOUT / "docs/api.md").read_text(), flags=re.MULTILINE)


def test_every_name_is_there_and_told():
    for listed in LISTED:
        module, _, name = listed.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        told = inspect.getdoc(found) or ""
        assert told and not told.startswith(f"{name}("), f"{listed}: a docstring of its own"
        if inspect.isfunction(found):
            for parameter in inspect.signature(found).parameters:
                assert re.search(rf"^  .*\b{parameter}\b.*:", told, flags=re.MULTILINE), f"{listed}: tell of {parameter}"
    assert len(set(LISTED)) == len(LISTED)


def test_no_public_name_is_forgotten():
    public = {f"{package.__name__}.{name}" for package in (jaxgames, search) for name in package.__all__}
    assert public <= set(LISTED)
