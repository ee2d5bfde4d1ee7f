#!/bin/sh
# publish.sh verdicts|figures|league: overwrites the committed results, and writes them into the documentation.
set -eu
cd "$(dirname "$0")/.."
set -x
PAPER_FIGURES="abc2018.fig4a"
fairlane=.venv/bin/fairlane
case $1 in
    verdicts)
        $fairlane reproduce all --write-verdicts ;;
    figures)
        $fairlane report $PAPER_FIGURES --run --out results/figures
        for name in $PAPER_FIGURES; do cp "results/figures/$name.png" docs/figures/; done
        $fairlane pairs --out results/pairs
        cp results/pairs/pairs.png results/pairs/pairs.csv docs/figures/ ;;
    league)
        $fairlane evaluate all --write-league --out results/evaluation
        for name in share-delay share-state edge-core; do
            cp "results/evaluation/$name.png" "docs/figures/evaluation-$name.png"
        done ;;
    *)
        echo "error: $1: no such target" >&2
        exit 2 ;;
esac
.venv/bin/python tools/generate.py
