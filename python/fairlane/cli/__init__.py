"""The command `fairlane`: its commands, and what they print."""
