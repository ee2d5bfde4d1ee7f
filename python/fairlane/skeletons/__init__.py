"""Skeletons of what contributors add: `fairlane new` writes them into a source checkout, each with a failing test."""
