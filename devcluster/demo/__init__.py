"""`make demo`: JobFlow at work in a minute, on a machine that has nothing but Python."""
