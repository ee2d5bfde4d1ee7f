import tomllib

from conftest import scenario_of
from fairlane.papers.p4abc.scenarios import FOLDER

CLAIMS = tomllib.loads((FOLDER / "claims.toml").read_text())


def test_poisson_variants_have_the_claims_of_cbr() -> None:
    def of(name: str) -> list[dict[str, object]]:
        words = ("id", "experiment", "where", "derived", "tol_why", "statement")
        claims = [claim for claim in CLAIMS["claims"] if claim["experiment"] == name]
        return [{key: value for key, value in claim.items() if key not in words} for claim in claims]

    assert of("p4abc.fig4") == of("p4abc.fig4_poisson")
    assert of("p4abc.fig6") == of("p4abc.fig6_poisson")


def test_scenario_is_that_of_section_6() -> None:
    table = scenario_of("p4abc.fig6", R0_mbps=60)
    queue = {name: table["queue"][name] for name in ("limit", "q_min", "q_base", "gamma", "averager_memory")}
    assert list(queue.values()) == ["24 packets", "6 packets", "20 packets", "16 packets", "300 ms"]
    assert table["marker"]["memory"] == "3 s"
    assert (table["run"]["measure"], table["run"]["replications"]) == ("300 s", 10)
    # 5 ms per link give a round trip of 20 ms.
    assert [table["topology"][f"{link}_delay"] for link in ("access", "bottleneck")] == ["5 ms", "5 ms"]
    cbr, tcp = (group["sources"][0] for group in table["groups"])
    # A packet has 1448 bytes of payload and headers of UDP (8 bytes), IP (20) and PPP (2).
    assert (cbr["kind"], cbr["rate"], cbr["packet_size"]) == ("cbr", "60 Mbit/s", "1478 B")
    assert (tcp["flows"], tcp["congestion_control"]) == (1, "cubic")
