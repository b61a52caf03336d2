"""The words that the webhook and the controller both speak. The version of all of it stands here."""

__version__ = "0.1.0"
