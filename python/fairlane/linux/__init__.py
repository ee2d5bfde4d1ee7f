"""The plane `linux` runs a scenario on a real Linux kernel, as a process in virtual time."""
