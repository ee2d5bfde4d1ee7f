"""Verdicts as JUnit XML for CI systems: a suite per scenario, a case per expectation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from fairlane.base.text import visible
from fairlane.results.intervals import format_interval

if TYPE_CHECKING:
    from fairlane.documents import CheckedScenario
    from fairlane.judge.expectations import ExpectationVerdict


def junit(scenarios: Sequence[CheckedScenario]) -> bytes:
    """The XML document. The document contains no times, so equal verdicts give equal bytes."""
    root = ElementTree.Element("testsuites", _counts([one for of in scenarios for one in of["expectations"]]))
    for of in scenarios:
        name = visible(of["file"] or of["scenario"])
        suite = ElementTree.SubElement(root, "testsuite", {"name": name, **_counts(of["expectations"])})
        for one in of["expectations"]:
            title = visible(f"{one.metric} {one.expected}")
            case = ElementTree.SubElement(suite, "testcase", {"classname": name, "name": title})
            if one.verdict != "held":
                failure = ElementTree.SubElement(
                    case, "failure", {"type": one.verdict, "message": f"{one.verdict}: {measured(one)}"}
                )
                failure.text = visible("\n".join(filter(None, [one.why, one.reason])), keep="\n")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'.encode()


def measured(verdict: ExpectationVerdict) -> str:
    """The measured mean with its interval and unit."""
    if verdict.mean is None:
        return "nothing measured"
    factor, unit = 1.0, verdict.unit
    if unit == "bit/s":
        factor, unit = 1e-6, "Mbit/s"
    elif unit == "s" and abs(verdict.mean) < 1:
        factor, unit = 1e3, "ms"
    half_width = None if verdict.half_width is None else factor * verdict.half_width
    return f"{format_interval(factor * verdict.mean, half_width)} {unit}".rstrip()


def _counts(verdicts: Sequence[ExpectationVerdict]) -> dict[str, str]:
    failures = sum(one.verdict != "held" for one in verdicts)
    return {"tests": str(len(verdicts)), "failures": str(failures), "errors": "0"}
