"""A fuzzer of the command `fairlane`: draws scenarios, sweeps and command lines, runs them, judges how they end.

Invariants of every case: it ends, with exit code 0 or 2, `check` also with 1; an error prints only its line; there is
no traceback, no panic, no signal. `docs/howto/fuzz.md` describes how to run it.

It has a generator of its own, in place of Hypothesis, which the other tests use: a case may abort its process, exhaust
its memory or never end, so cases run in worker processes that are watched and replaced; case N of a seed does not
depend on the cases before it, so that any number of workers draws the same ones; and an hour of cases needs no data
base of examples. What is drawn follows the declarations of the project, so that a new key, scheme or option takes part
by itself: scenarios and documents from their JSON Schemas, command lines from click's.
"""
