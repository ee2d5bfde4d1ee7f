"""A scenario that was made from a file, and the parts of scenarios that several kinds of files need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlane.base.errors import ScenarioError, UserError
from fairlane.base.text import visible
from fairlane.simulate.catalogue import congestion_controls
from fairlane.simulate.named_files import MOST_BYTES
from fairlane.simulate.scenario import Scenario, expect

Table = dict[str, Any]

ACCESS = 10
"""Rate of an access link as a multiple of the bottleneck's, as in the default topology."""
FULL_PACKET, PAYLOAD = 1500, 1448
"""Bytes of a full packet on the wire, and of its payload, in the TCP profile `linux`."""
TOLERANCE = 0.1
MOST = 1e18
"""Largest number in a file; that of any quantity of a scenario is lower."""
_OF_LINUX = {"bbr": "bbr1", "reno": "reno"}
"""Names of congestion controls in Linux that differ from ours; Linux's `bbr` is BBRv1."""
_RATES = (("Gbit/s", 10**9), ("Mbit/s", 10**6), ("kbit/s", 10**3), ("bit/s", 1))
_TIMES = (("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1))
_SIZES = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3), ("B", 1))


@dataclass(frozen=True)
class Imported:
    """A scenario from a file.

    Attributes:
        scenario: The scenario.
        notes: Contents of the file that the scenario lacks, and values that the file lacks; each is one sentence.
    """

    scenario: Scenario
    notes: Sequence[str]

    def toml(self, file: Path, folder: Path) -> str:
        """The scenario as TOML, with the notes as comments at its head. Names of files are relative to `folder`.

        Raises:
            UserError: A value of `file` is out of range for scenarios; the message names the file.
        """
        try:
            Scenario.from_dict(self.scenario.to_dict(), folder).canonical()
        except ScenarioError as error:
            raise UserError(f"{file}: {error}") from error
        head = [f"From {file.name}.", *self.notes]
        return "".join(f"# {visible(line)}\n" for line in head) + "\n" + self.scenario.to_toml()


def problem(file: Path, line: int | None, reason: str) -> UserError:
    """The error for a wrong line of a file, or for the whole file."""
    return UserError(f"{file}: line {line}: {reason}" if line else f"{file}: {reason}")


def content(file: Path) -> bytes:
    """The bytes of a file.

    Raises:
        UserError: The file cannot be read, or is too large.
    """
    try:
        with file.open("rb") as opened:
            found = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise problem(file, None, str(error.strerror)) from error
    except ValueError as error:
        raise problem(file, None, f"not a path: {error}") from error
    if len(found) > MOST_BYTES:
        raise problem(file, None, f"is out of range, a file may have {MOST_BYTES} bytes")
    return found


def text(file: Path) -> str:
    """The content of a UTF-8 file.

    Raises:
        UserError: The file cannot be read or is not UTF-8; the message contains the line.
    """
    found = content(file)
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise problem(file, found.count(b"\n", 0, error.start) + 1, "not UTF-8 text") from error


def number(word: str) -> float | None:
    """A number in a file; None if the word is not one, or is out of range."""
    try:
        found = float(word)
    except ValueError:
        return None
    return found if abs(found) <= MOST else None


def percent(share: float) -> str:
    """A share for a scenario."""
    return f"{100 * share:g} %"


def rate(bits_per_s: float) -> str:
    """A rate for a scenario, in whole bits per second."""
    return _exact(bits_per_s, _RATES, 1)


def time(seconds: float) -> str:
    """A time for a scenario, in whole nanoseconds."""
    return _exact(seconds, _TIMES, 10**9)


def size(octets: float) -> str:
    """A size for a scenario, in whole bytes."""
    return _exact(octets, _SIZES, 1)


def _exact(value: float, units: Sequence[tuple[str, int]], factor: int) -> str:
    whole = round(value * factor)
    unit, least = next(((unit, least) for unit, least in units if whole % least == 0), units[-1])
    return f"{whole // least} {unit}"


def dumbbell(bits_per_s: float | None, rtt_s: float | None) -> Table:
    """The default topology, with a rate of the bottleneck and a round-trip time without queues."""
    topology: Table = {}
    if bits_per_s is not None:
        most = min(ACCESS * bits_per_s, 10e12)
        topology |= {"bottleneck_rate": rate(bits_per_s), "access_rate": rate(most)}
    if rtt_s is not None:
        topology |= {"bottleneck_delay": time(rtt_s / 2), "access_delay": "0 s"}
    return topology


def compared(
    file: Path,
    groups: Sequence[Table],
    expected: Sequence[Table],
    notes: Sequence[str],
    *,
    seconds: tuple[float, float],
    scheme: str,
    rates_bps: tuple[float | None, float],
    rtt_s: float | None,
) -> Imported:
    """A scenario whose expectations are the values of a measurement.

    Args:
        file: File with the measurement.
        groups: Groups with the traffic.
        expected: Expectations.
        notes: What the scenario lacks.
        seconds: Warm-up, and duration of the measurement.
        scheme: Scheme of the queue.
        rates_bps: Rate of the bottleneck, and the sum of the measured rates, which replaces an unknown one.
        rtt_s: Round-trip time without queues; the default one if None.
    """
    given, total = rates_bps
    unknown = ["The scheme and the buffer of the measured link are not known: queue.scheme and queue.limit."]
    if given is None:
        unknown.append(f"Its rate is not known: {rate(total)}, the sum of the measured rates; --rate sets another.")
    if rtt_s is None:
        unknown.append("The round-trip time without queues is not known: it is the default; --rtt sets another.")
    run: Any = {"warmup": time(seconds[0]), "measure": time(seconds[1]), "replications": 5}
    topology = dumbbell(given or total, rtt_s)
    scenario = Scenario(file.stem, *groups, queue=scheme, topology=topology, run=run, expect=expected)
    return Imported(scenario, [*unknown, *notes])


def expected_rate(metric: str, bits_per_s: float, tolerance: float, why: str) -> Table:
    """The expectation of a measured rate."""
    return expect(metric, equals=f"{bits_per_s / 1e6:.6g} Mbit/s", tolerance=percent(tolerance), why=why)


def expected_time(metric: str, seconds: float, tolerance: float, why: str) -> Table:
    """The expectation of a measured time."""
    return expect(metric, equals=f"{seconds * 1e3:.6g} ms", tolerance=percent(tolerance), why=why)


def expected_share(metric: str, share: float, why: str) -> Table:
    """The expectation of a measured share. The tolerance is absolute, since a share may be 0."""
    return expect(metric, equals=round(share, 6), tolerance=0.01, why=why)


def control_of(name: object) -> tuple[str | None, list[str]]:
    """Our name of a Linux congestion control, None if there is none; and notes."""
    found = _OF_LINUX.get(str(name), str(name))
    if not name or found in {control["name"] for control in congestion_controls()}:
        return found if name else None, []
    return None, [f"The congestion control {visible(str(name))} is not simulated; the default takes its place."]


def unique(name: str, taken: dict[str, int]) -> str:
    """The name, or with a number if it is taken. Adds it to `taken`."""
    name = name.strip() or "unnamed"
    taken[name] = taken.get(name, 0) + 1
    if taken[name] == 1:
        return name
    return unique(f"{name}#{taken[name]}", taken)
