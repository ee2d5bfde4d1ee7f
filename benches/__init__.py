"""Programs that measure Fairlane: `python -m benches` lists them."""
