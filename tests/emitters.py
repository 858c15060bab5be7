"""Which of XLA's emitters of CPU kernels compile the tests."""

from __future__ import annotations

import jax

_FLAG = "xla_cpu_use_fusion_emitters"
_HAS_OLDER_EMITTERS = jax.__version_info__ < (0, 11)

OLDER_EMITTERS = {f"--{_FLAG}": "false"} if _HAS_OLDER_EMITTERS else {}
"""Flags of a process of tests: the older emitters compile in two thirds of the time of the newer."""

NEWER_EMITTERS = {_FLAG: True} if _HAS_OLDER_EMITTERS else None
"""`compiler_options` of a function whose kernels the older emitters write out many times over, until memory is full."""

NO_MULTI_OUTPUT_FUSION = {"xla_backend_extra_options": ""}
"""`compiler_options` of what is not made for CPUs: multi-output fusion may end the process at reductions of several numbers."""
