"""Scenarios of the paper's experiments: base.toml, overridden by the parameters and variables of the experiment."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairlane.judge.expressions import evaluate
from fairlane.papers.noms2016.scenarios import FOLDER as FIRST_DESIGN
from fairlane.papers.parameters import ABC_KEYS, Keys, base_of, with_parameters
from fairlane.simulate.scenario import Scenario, cbr, poisson, tcp

FOLDER = Path(__file__).parent

START_WINDOW_S = 15
TRACE_S = 60
"""Time in s for which a single flow is observed from its start. The flow starts at any time in the start window."""
TRACE_INTERVAL_S = 0.1

UPLOAD_START_S = 115
"""Start of the uploads in s: 100 s after the end of the start window, in which the background flows start."""
UPLOAD_S = 100
"""Time in s for which the uploads are observed."""

CSFQ_THRESHOLD = "12 packets"
"""CSFQ's queue threshold: half of the buffer, since the paper gives no number. The paper's CSFQ also has a threshold
Q_min, again without a number."""

ENGINE_SCHEMES = {"abc_fair": "abc", "abc_old": "abc2016", "csfq_qmin": "csfq"}
KEYS: Keys = {
    **ABC_KEYS,
    "a_BE": ("marker.accounting_be", None),
    "a_EF": ("marker.accounting_ef", None),
    "delta_BE": ("queue.be_offset", None),
    "scheduler": ("queue.scheduler", None),
}
"""Scenario key of each scalar parameter of claims.toml, with the format string of its value."""


def scenario(values: Mapping[str, Any]) -> Scenario:
    """The scenario for an experiment's parameters and variables: under ABC, ABC with the fair meter, or CSFQ."""
    base = with_parameters(base_of(FOLDER), KEYS, values)
    groups = base.to_dict()["groups"]
    base = base.replace("groups", [_group(groups[i], i, values) for i in (0, 1) if values[f"u{i}"]])
    if "upload_start_s" in values:
        # User 0 starts late and is observed from there in steps.
        start = dict.fromkeys(("groups[0].start_from", "groups[0].start_until"), f"{UPLOAD_START_S} s")
        base = _traced(base, UPLOAD_START_S + UPLOAD_S).changed(start)
    elif "rate_meter" in values or "t_s" in values:
        # From time 0 until every flow has been observed for `TRACE_S`.
        base = _traced(base, START_WINDOW_S + TRACE_S).replace("probes.series_memory", "0.5 s")
    if "rates_mbps" in values:
        base = base.replace("topology.bottleneck_schedule", _steps(values))
    match values.get("scheme"):
        case "abc_fair":
            return base.replace("marker.meter", "fair")
        case "csfq" | "csfq_qmin" as scheme:
            return _csfq(base, values, q_min=CSFQ_THRESHOLD if scheme == "csfq_qmin" else "0 packets")
        case "abc_old":
            return _old(base, values)
        case _:
            return base


def _group(base: Mapping[str, Any], i: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """User group i."""
    if values.get(f"source{i}") == "poisson":
        source = poisson(f"{values[f'R{i}_mbps']} Mbit/s")
    elif values.get(f"source{i}") == "cbr":
        source = cbr(f"{values[f'R{i}_mbps']} Mbit/s")
    else:
        source = tcp(flows=values.get("flows_per_user", values[f"f{i}"]))
    reference = values["Rr_kbps"][i] if isinstance(values["Rr_kbps"], list) else values["Rr_kbps"]
    if isinstance(reference, str):
        reference = evaluate(reference, values)
    elif "s" in values and not isinstance(values["Rr_kbps"], list):
        reference *= values["s"]  # all reference rates scaled alike
    return {
        **base,
        "users": values[f"u{i}"],
        "traffic_class": values.get(f"class{i}", "BE"),
        "reference_rate": f"{reference} kbit/s",
        "sources": [source],
    }


def _old(base: Scenario, values: Mapping[str, Any]) -> Scenario:
    """The scenario under the first design of ABC from the slides of 2016."""
    old = base_of(FIRST_DESIGN).to_dict()
    scheduler = {"scheduler": values["scheduler"]} if "scheduler" in values else {}
    return base.replace("queue", {**old["queue"], **scheduler}).replace("marker", old["marker"])


def _steps(values: Mapping[str, Any]) -> list[dict[str, str]]:
    """Changes of the bottleneck's rate, cycling through the values until the end of the run."""
    seconds = range(values["step_s"], values["warmup_s"] + values["measure_s"], values["step_s"])
    rates = itertools.islice(itertools.cycle(values["rates_mbps"]), 1, None)  # the first is the link's initial rate
    return [{"at": f"{at} s", "rate": f"{rate} Mbit/s"} for at, rate in zip(seconds, rates, strict=False)]


def _csfq(base: Scenario, values: Mapping[str, Any], q_min: str) -> Scenario:
    """The scenario under CSFQ."""
    queue = {
        "scheme": "csfq",
        "limit": f"{values['Qmax_pkts']} packets",
        "aggregate_constant": f"{values['csfq_Kalpha_ms']} ms",
        "window": f"{values['csfq_Kc_ms']} ms",
        "q_threshold": CSFQ_THRESHOLD,
        "q_min": q_min,
    }
    marker = {"rate_constant": f"{values['csfq_K_ms']} ms", "share_per": "user"}
    return base.replace("queue", queue).replace("marker", marker)


def _traced(base: Scenario, measure_s: int) -> Scenario:
    """Records time series from time 0."""
    window = {"run.warmup": "0 s", "run.measure": f"{measure_s} s"}
    return base.changed({**window, "probes.series_interval": f"{TRACE_INTERVAL_S} s"})
