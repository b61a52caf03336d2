"""Mistakes that somebody could make in this house, and for each the test that would not let it pass."""
