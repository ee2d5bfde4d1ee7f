"""Skeletons for contributors, which `fairlane new` writes into a source checkout with a failing test."""
