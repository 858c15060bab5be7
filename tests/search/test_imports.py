"""What importing the planners must not do."""

from tests.processes import output_of


def test_no_network_library_and_no_backend():
    code = """
import sys
import search, search.presets, search.bandit.tree_search
from jaxgames import runtime
print([name for name in ("flax", "optax", "orbax", "chex", "training") if name in sys.modules], runtime.backend_is_running())
"""
    assert output_of(code) == "[] False"
