"""JSON Schemas of the scenario file, of the sweep file, and of the documents that commands print with `--json`."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.text import near
from fairlane.documents import (
    AdversaryDocument,
    CheckDocument,
    ComparisonDocument,
    DesignerDocument,
    EvaluationDocument,
    PairsDocument,
    PlanDocument,
    ReproductionDocument,
    ReproductionsDocument,
    StoreDocument,
    SweepDocument,
    schema_of,
)
from fairlane.results.result_schema import result_schema
from fairlane.simulate.expectation import SCHEMA as EXPECTATIONS
from fairlane.sweeps.keys import file_schema


def _scenario_schema() -> dict[str, Any]:
    """Schema of the scenario file as the simulator and `check` accept it."""
    found: dict[str, Any] = json.loads(_fairlane.scenario_schema())
    found["properties"]["expect"] = copy.deepcopy(EXPECTATIONS)
    return found


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "scenario": _scenario_schema,
    "result": result_schema,
    "comparison": lambda: schema_of(ComparisonDocument),
    "reproduction": lambda: schema_of(ReproductionDocument),
    "reproductions": lambda: schema_of(ReproductionsDocument),
    "sweep": file_schema,
    "sweep-plan": lambda: schema_of(PlanDocument),
    "sweep-result": lambda: schema_of(SweepDocument),
    "pairs": lambda: schema_of(PairsDocument),
    "evaluation": lambda: schema_of(EvaluationDocument),
    "check": lambda: schema_of(CheckDocument),
    "search-adversary": lambda: schema_of(AdversaryDocument),
    "search-designer": lambda: schema_of(DesignerDocument),
    "store": lambda: schema_of(StoreDocument),
}
"""Schemas by name."""


def schema(of: str) -> dict[str, Any]:
    """The JSON Schema of scenarios, of sweep files, or of a document that a command prints.

    Args:
        of: `scenario`, `sweep`; `result`, `comparison`, `reproduction`, `sweep-plan`, `sweep-result`, `pairs`,
            `evaluation`, `check`, `search-adversary`, `search-designer`, `store`.

    Raises:
        UserError: The schema does not exist.
    """
    if of not in SCHEMAS:
        raise UserError(f"{of}: no such schema; {near(of, SCHEMAS)}")
    return SCHEMAS[of]()
