"""Computes the tables of docs/findings.md again (two minutes on two cores), and checks its sentences.

The runs are those of `examples/adversaries`, variants of them, and a search for parameters of ABC. They are stored in
`results/store` and `results/findings`, so that the bench continues after a kill. It fails if a sentence that depends on
a result no longer holds. In this case correct the page, then the sentence here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from fairlane import Scenario
from fairlane.results.intervals import Interval, interval, scaled
from fairlane.search.adversary import EVALUATIONS
from fairlane.search.attack import HALF
from fairlane.search.designer import Tuned, designer
from fairlane.search.words import described

from .adversaries import FILES, PER_USER, Runs, light, runs
from .harness import ROOT, Report, bench

FULL_SIZE = "groups[1].sources[0].packet_size=1500 B"
FULL_RATE = "groups[1].sources[0].rate=10 Mbit/s"
LARGE_BUFFER = "queue.limit=1000 packets"
NO_PAUSES = "groups[1].sources[0].off=0 s"
SMALL_PACKETS = ("abc", "pvpie", "rfq", "drr_lds")
VARIANTS = (
    *((name, FULL_SIZE) for name in SMALL_PACKETS),
    ("cp_aqm", FULL_RATE),
    ("cake", LARGE_BUFFER),
    ("rfq", NO_PAUSES),
)
"""Scenarios of `examples/adversaries`, each with a changed key."""

RANGES = {
    "queue.q_min": "4..60 packets:log",
    "queue.q_base": "8..120 packets:log",
    "queue.gamma": "2..100 packets:log",
    "queue.averager_memory": "0.05..3 s:log",
    "marker.memory": "0.3..10 s:log",
}
FAMILIES = ("many-flows", "rtt-users", "unresponsive", "entitlement")
COMBINATIONS = 120


@dataclass(frozen=True)
class Measured:
    """Runs of the scenarios.

    Attributes:
        runs: Run records by name of the scenario and changed key.
    """

    runs: Mapping[tuple[str, str], Runs]

    def share(self, name: str, change: str = "") -> Interval:
        """The honest user's throughput divided by its max-min share."""
        return light(self.runs[name, change])

    def shares(self, name: str, change: str = "") -> list[float]:
        """The shares of all runs."""
        return [light([run]).mean for run in self.runs[name, change]]

    def lost(self, name: str, change: str = "") -> Interval:
        """The honest user's packets that the scheme drops, in percent."""
        return scaled(interval([run["groups"][0]["path"]["lost_share"] for run in self.runs[name, change]]), 100)

    def busy(self, name: str, change: str = "") -> Interval:
        """Utilisation of the link in percent."""
        return scaled(interval([run["links"][0]["utilisation"] for run in self.runs[name, change]]), 100)


def scenario(name: str, change: str = "") -> Scenario:
    """A scenario of `examples/adversaries` with a changed key."""
    key, _, value = change.partition("=")
    found = Scenario.from_toml(ROOT / "examples" / "adversaries" / f"{name}.toml")
    return found.changed({key: value}) if key else found


def measured() -> Measured:
    """Runs all scenarios."""
    keys = [*((file.stem, "") for file in FILES), *VARIANTS]
    return Measured(dict(zip(keys, runs([scenario(*key) for key in keys]), strict=True)))


def tuned(out: Path) -> Tuned:
    """Tunes ABC."""
    families = [ROOT / "suites" / "fairlane-1.0" / family for family in FAMILIES]
    return designer("abc", RANGES, families, evaluations=COMBINATIONS, out=out, progress=True)


def write_shares(report: Report, of: Measured) -> None:
    """Writes the tables of shares."""

    def rows(name: str, *columns: Any) -> list[list[Any]]:
        changes = [change for variant, change in of.runs if variant == name and change != FULL_SIZE]
        return [[change and f"`{change}`", *(column(name, change) for column in columns)] for change in changes]

    report.table(
        {"change": "", "share": "{}", "dropped packets (%)": "{}", "utilisation (%)": "{}"},
        rows("cp_aqm", of.share, of.lost, of.busy),
        "measured:policing",
    )
    report.table(
        {"scenario": "", "share with small packets": "{}", "with 1500 bytes": "{}"},
        [[f"`{name}`", of.share(name), of.share(name, FULL_SIZE)] for name in SMALL_PACKETS],
        "measured:small packets",
    )
    report.table(
        {"change": "", "share": "{}", "median": "{:.2f}"},
        rows("cake", of.share, lambda *key: median(of.shares(*key))),
        "measured:buffer",
    )
    report.table({"change": "", "share": "{}"}, rows("rfq", of.share), "measured:bursts")


def about_shares(of: Measured) -> dict[str, bool]:
    """The sentences about shares and about the scenarios, and whether they hold."""
    schemes = {file.stem: of.share(file.stem) for file in FILES if not file.stem.endswith(PER_USER)}
    users = {file.stem.removesuffix(PER_USER): of.share(file.stem) for file in FILES if file.stem.endswith(PER_USER)}
    unbeaten = {name for name, share in schemes.items() if not _beaten(share)}
    beaten = f"{len(schemes) - len(unbeaten)} of {len(schemes)} schemes"
    heavy = {name: described(scenario(name).to_dict())["heavy"] for name in schemes}

    def within(shares: Mapping[str, Interval], low: float, high: float, *names: str) -> bool:
        return all(low < shares[name].mean < high for name in names)

    def against(what: str, *names: str) -> bool:
        return all(heavy[name].startswith(what) for name in names)

    return {
        f"An honest user is beaten under {beaten}": True,
        f"The search tried {EVALUATIONS} scenarios per scheme, of ten seconds at 10 Mbit/s. For {beaten}, it": all(
            _lasts_ten_seconds(scenario(name).to_dict()) for name in schemes
        ),
        "The others are WFQ, DRR, CSFQ, HCSFQ and PPV.": unbeaten == {"wfq", "drr", "csfq", "hcsfq", "ppv"},
        "shares the link with a user with 16 flows. Under AFpFT, start-time fair queueing and SCRR, the first user "
        "gets 2/17 of its max-min share": against("16 CUBIC flows", "afpft", "stfq", "scrr")
        and within(schemes, 2 / 17 - 5e-4, 2 / 17 + 5e-4, "afpft", "stfq", "scrr"),
        "Against 16 or 20 flows, this user gets about a tenth of its share under FQ-CoDel, FQ-PIE, SFQ, AIFO, SP-PIFO "
        "or CHOKe.": against("20 CUBIC flows", "fq_codel", "fq_pie", "sfq", "aifo", "choke")
        and against("16 BBRv1 flows", "sp_pifo")
        and within(schemes, 0.08, 0.12, "fq_codel", "fq_pie", "sfq", "aifo", "sp_pifo", "choke"),
        f"With sharing among users, {sum(map(_beaten, users.values()))} of {len(users)} are still beaten": True,
        "over 90 % of its share under start-time fair queueing and AFpFT, and over 55 % under SFQ and "
        "FQ-CoDel.": within(users, 0.9, 1, "stfq", "afpft") and within(users, 0.55, 0.9, "sfq", "fq_codel"),
        "less than half under AFD, AFC and RED-PD, and a tenth or less under CHOKe, BLACK, AFQ and CARE.": within(
            users, 0.1, HALF, "afd", "afc", "red_pd"
        )
        and within(users, 0, 0.105, "choke", "black", "afq", "care"),
        "Next to UDP at twice the rate of the link, an honest user gets less than 1 % of its share under CoDel, BLUE, "
        "PIE, RED and DualPI2.": against("CBR of 20 Mbit/s", "codel", "blue", "pie", "red", "dualpi2")
        and within(schemes, 0, 0.01, "codel", "blue", "pie", "red", "dualpi2"),
        "gets little next to a user with a constant rate of 5 Mbit/s, half of the link.": against(
            "CBR of 5 M", "cp_aqm"
        )
        and within(schemes, 0, 0.1, "cp_aqm"),
        "drops more than a third of the CUBIC user's packets, while almost half of the link is idle.": (
            of.lost("cp_aqm").mean > 100 / 3 and 50 < of.busy("cp_aqm").mean < 55
        ),
        "If the other user sends 10 Mbit/s, its bucket empties too, and the CUBIC user gets more than its share.": (
            of.share("cp_aqm", FULL_RATE).mean - of.share("cp_aqm", FULL_RATE).slack > 1
        ),
        "a CUBIC user with a round-trip time of 100 ms competes with two Reno flows and six other users. Each of the "
        "six sends a thirtieth of the link's rate, in packets of 400 bytes.": described(scenario("abc").to_dict())
        == {
            "light": "1 CUBIC flow, RTT 100 ms",
            "heavy": "6 users, CBR of 0.33 Mbit/s each, packets of 400 B",
            "crowd": "2 Reno flows, RTT 20 ms",
        },
        "If they send 1500-byte packets at the same rates, the CUBIC user gets more. The same holds in scenarios of "
        "three other schemes": all(_less(of.share(name), of.share(name, FULL_SIZE)) for name in SMALL_PACKETS),
        "An honest user with one flow competes with 180 flows of six users for a buffer of 50 packets, and gets almost "
        "nothing in most runs.": against("6 users, 30 Prague flows each", "cake")
        and scenario("cake").to_dict()["queue"]["limit"] == "50 packets"
        and median(of.shares("cake")) < 0.05,
        "With 1000 packets it gets more than half of its share (a seventh of the link).": min(
            of.shares("cake", LARGE_BUFFER)
        )
        > HALF,
        "Three users send bursts at 4 Mbit/s each, 30 ms on and 50 ms off. Without pauses, their mean load more than "
        "doubles, yet the honest user gets more": against("3 users, bursts of 4 Mbit/s each, 30 ms on, 50 ms", "rfq")
        and _less(of.share("rfq"), of.share("rfq", NO_PAUSES)),
    }


def write_tuned(report: Report, found: Tuned) -> None:
    """Writes the table of ABC's tuning."""
    rows = []
    for half, words in (("tuned_on", "tuning"), ("held_out", "test")):
        defaults, after = found.judged[half]
        shares = (one.interval("worst_share") for one in (defaults, after))
        delays = (scaled(one.interval("delay_p99_s"), 1e3) for one in (defaults, after))
        rows.append([words, *shares, after.gain(defaults, "worst_share"), *delays])
    columns = {"scenarios": "", "worst share": "{}", "tuned": "{}", "gain": "{}"}
    columns |= {"p99 delay (ms)": "{}", "tuned (ms)": "{}"}
    report.table(columns, rows, "measured:tuning", below=f"Tuned entry: `{found.entry}`")


def about_tuned(found: Tuned) -> dict[str, bool]:
    """The sentences about ABC's tuning, and whether they hold."""
    gains = {half: after.gain(defaults, "worst_share").mean for half, (defaults, after) in found.judged.items()}
    delays = [
        [one.interval("delay_p99_s").mean for one in (defaults, after)] for defaults, after in found.judged.values()
    ]
    return {
        f"Five parameters of ABC were tuned on {len(found.tuned_on)} scenarios to increase the worst user's share, "
        f"and tested on {len(found.held_out)} others": len(RANGES) == 5,
        "In the test scenarios, this share increases much less than in the tuning scenarios.": gains["held_out"]
        < gains["tuned_on"] / 5,
        "But the 99th percentile of the delay falls by almost half in both.": all(
            0.4 < 1 - after / before < 0.5 for before, after in delays
        ),
    }


def _beaten(share: Interval) -> bool:
    return share.mean + share.slack < HALF


def _less(one: Interval, other: Interval) -> bool:
    """True if one interval is entirely below another."""
    return one.mean + one.slack < other.mean - other.slack


def _lasts_ten_seconds(table: Mapping[str, Any]) -> bool:
    lengths = (table["run"]["warmup"], table["run"]["measure"])
    return lengths == ("2 s", "8 s") and table["topology"]["bottleneck_rate"] == "10 Mbit/s"


@bench("findings", page="docs/findings.md")
def main(report: Report) -> None:
    """Runs everything, and writes the page."""
    of, found = measured(), tuned(ROOT / "results" / "findings")
    write_shares(report, of)
    write_tuned(report, found)
    report.require(about_shares(of) | about_tuned(found))
