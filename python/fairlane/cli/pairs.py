"""The command `fairlane pairs`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.cli.options import from_origin, options, parse_settings, path_option, run_options, split_names
from fairlane.cli.output import print_json
from fairlane.cli.simulate import own_code_options
from fairlane.pairs.plan import QUEUES
from fairlane.store import Store

DEFAULT_FOLDER = Path("results/pairs")


@click.command()
@options(
    click.option("--senders", metavar="A,B", help="Congestion controls to pair [default: all]."),
    click.option(
        "--queues",
        default=",".join(QUEUES),
        metavar="A,B",
        help=f"Schemes of the bottleneck, or all [default: {','.join(QUEUES)}].",
    ),
    click.option("--seed", type=int, metavar="N", help="Seed of all random streams."),
    path_option("--out", default=DEFAULT_FOLDER, help="Write tables, figure and pairs.json [default: results/pairs]."),
    own_code_options,
    run_options,
)
def pairs(
    senders: str | None,
    queues: str,
    settings: tuple[str, ...],
    out: Path,
    store: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate every pair of senders and draw their shares.

    Stored runs are not simulated again: after an interruption, run the same command to continue. Runs of schemes and
    congestion controls in Python are not stored.
    """
    check_replaceable(out, "--out", {"--store": Store(store).folder})
    with from_origin("--set"):
        result = fairlane.pairs(
            None if senders is None else split_names(senders),
            split_names(queues),
            settings=parse_settings(settings),
            store=store,
            progress=True,
            **options,
        )
    with written_below(out, "--out"):
        result.write(out)
    if as_json:
        print_json(result.json())
    else:
        from fairlane.cli.printing import print_pairs

        print_pairs(result, out)
