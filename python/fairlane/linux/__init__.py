"""The plane `linux`: a scenario on a real Linux kernel, which runs as a process and in virtual time."""
