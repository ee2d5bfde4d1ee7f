"""`python -m benches NAME`: imports all modules of the package, since each bench declares itself on import."""

import importlib
import pkgutil

import benches
from benches.harness import main

for module in pkgutil.walk_packages(benches.__path__, "benches."):
    if module.name != "benches.__main__":
        importlib.import_module(module.name)
main(prog_name="python -m benches")
