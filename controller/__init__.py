"""The controller: it carries every JobFlow from its first Job to its end."""
