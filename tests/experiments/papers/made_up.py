"""Pages from results that nobody has measured."""

import dataclasses
import json


def page_of(page, folder, results, *, parts=(), figures=True):
    """Writes made-up results, `results(measurement) -> dict`, of some parts of a page, and the page. Returns its text."""
    plan = page.plan(folder)
    for one in page.measurements(plan, parts):
        path = plan.path(one.name)
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(results(one)))
    if not figures:
        page = dataclasses.replace(page, figures=lambda plan: {})
    page.write(plan)
    return (folder / f"{page.name}.md").read_text()
