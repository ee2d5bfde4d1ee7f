"""Keys of a claim, and its requirement as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairlane.results.intervals import format_number

Claim = Mapping[str, Any]
"""A table of a claims.toml. The comment at the start of that file explains the keys."""


def names(value: str | Sequence[str]) -> list[str]:
    """The value of a key as a list of names."""
    return [value] if isinstance(value, str) else list(value)


def steps(claim: Claim) -> list[list[Any]]:
    """The steps of a claim about an order: lists of values, highest first.

    Each value of a step is compared with all values of the next step.
    """
    return [list(step) if isinstance(step, list) else [step] for step in claim["order"]]


def is_hard(claim: Claim) -> bool:
    """True if the claim is marked as hard to reproduce."""
    return bool(claim.get("difficulty") == "hard")


def unit_of(claim: Claim, metric: str) -> str:
    """The unit of the claim's numbers for a metric; empty for a number without unit."""
    unit = claim.get("unit", "1")
    found = unit.get(metric, "1") if isinstance(unit, Mapping) else unit
    return "" if found == "1" else str(found)


def paper_text(claim: Claim, metric: str = "") -> str:
    """Short form of a claim's requirement, or of the requirement on `metric` if requirements differ by metric."""
    metrics = [metric] if metric else names(claim["metric"])
    if "expect" in claim and not metric:
        each = (f"{one} {paper_text(claim, one)}" for one in metrics if one in claim["expect"])
        return ", ".join(each)
    unit = f" {unit_of(claim, metrics[0])}".rstrip()
    reduce = claim.get("reduce", "every")
    what = "" if reduce in {"every", "most"} else f"{reduce}: "
    if reduce == "argmax":
        what = f"best {claim['argument']}: "
    match claim["kind"]:
        case "ordering":
            order = " ≥ ".join(", ".join(map(str, step)) for step in steps(claim))
            by = f" by {claim['margin']:.0%}" if "margin" in claim else _tolerance_text(claim, metric)
            return f"{what}{claim['over']}: {order}{by}"
        case "trend":
            start = f"from {claim['from']}" if "from" in claim else ""
            end = f"to {claim['to']}" if "to" in claim else ""
            ends = f", {' '.join(filter(None, [start, end]))}{unit}" if start or end else ""
            by = f" by {claim['margin']:.0%}" if "margin" in claim else ""
            direction = claim["direction"].replace("_", " ")
            return f"{direction} over {claim['over']}{by}{ends}{_tolerance_text(claim, metric)}"
        case "ratio":
            what = "ratio "
    return f"{what}{_demand(claim, metric)}{unit}{_tolerance_text(claim, metric)}"


def _demand(claim: Claim, metric: str) -> str:
    if "min" in claim or "max" in claim:
        low, high = claim.get("min"), claim.get("max")
        if low is not None and high is not None:
            return f"{low} to {high}"
        return f"≥ {low}" if low is not None else f"≤ {high}"
    if "expect" in claim:
        return str(claim["expect"][metric])
    if "points" in claim:
        return ", ".join(f"{number} at {point}" for point, number in zip(claim["points"], claim["values"], strict=True))
    sign = {"at_most": "≤ ", "at_least": "≥ "}.get(claim["kind"], "")
    return f"{sign}{claim.get('value', claim.get('formula'))}"


def _tolerance_text(claim: Claim, metric: str) -> str:
    given = claim.get("tolerance", {}).get(metric, {})
    parts = []
    if relative := given.get("rel", claim.get("tol_rel")):
        parts.append(f"{100 * relative:.3g}%")
    if absolute := given.get("abs", claim.get("tol_abs")):
        parts.append(format_number(absolute))
    if claim.get("step_rel"):
        parts.append(f"steps back {100 * claim['step_rel']:.3g}%")
    return f" (± {', '.join(parts)})" if parts else ""
