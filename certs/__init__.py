"""Certificates for the webhook: a CA of its own and the server certificates that it signs."""
