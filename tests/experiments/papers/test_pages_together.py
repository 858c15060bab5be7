"""A page that several processes make, of which one sees the folder later than the other, as on a network disk."""

import pytest

from tests.processes import prepared_environment, run_together

CODE = """
from pathlib import Path
from experiments.papers import measured
from experiments.papers.measured import Measurement, Page, Plan
from jaxgames import runtime
from training.storage import provenance

def part(plan):
    return [Measurement(f"toy-{number}", lambda number=number: {"number": number}, number) for number in (1, 2)]

def figures(plan):
    return {f"toy-{number}": f"<svg>{me}</svg>" for number in plan.found(part(plan))}

runtime.prepare(cores=1)
processes.start(together)
provenance.CHECKOUT = Path(FOLDER)
if me == 1:
    Plan.read = lambda plan, name: None  # nothing is there yet
page = Page("toy", Plan, {"both": part}, (), lambda plan: {"told": str(me)}, figures)
page.make(Plan(Path(FOLDER) / "new"), report=lambda line: None)
processes.end()
"""


@pytest.mark.slow
def test_one_process_draws_and_fills_the_page(tmp_path):
    template = tmp_path / "docs" / "results" / "toy.md"
    template.parent.mkdir(parents=True)
    template.write_text("<!-- table told -->\n<!-- /table -->\n<!-- table origins -->\n<!-- /table -->\n")
    ends = run_together(CODE.replace("FOLDER", repr(str(tmp_path))), 2, prepared_environment())
    assert [(code, out, error) for code, out, error in ends] == [(0, "", "")] * 2
    assert {path.name: path.read_text() for path in (tmp_path / "new").glob("*.svg")} == {
        "toy-1.svg": "<svg>0</svg>",
        "toy-2.svg": "<svg>0</svg>",
    }
    assert "<!-- table told -->\n0\n" in (tmp_path / "new" / "toy.md").read_text()
