"""Fuzzer of the command `fairlane`: draws and runs scenarios, sweeps and command lines, and checks the outcome.

Every case must end with exit code 0 or 2 (`check` also with 1). An error must print only its line. There must be no
traceback, panic or signal. `docs/howto/fuzz.md` describes how to run it.

The fuzzer has its own generator instead of Hypothesis, which the other tests use, for three reasons. A case may abort
its process, exhaust memory or never end, so cases run in supervised worker processes. Case N of a seed does not depend
on earlier cases, so any number of workers draws the same cases. An hour of cases needs no database of examples.

Cases are drawn from the project's declarations, so they include new keys, schemes and options automatically. Scenarios
and documents follow their JSON Schemas; command lines follow click's declarations.
"""
