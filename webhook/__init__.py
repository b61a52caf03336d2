"""The webhook: what the API server asks before a JobFlow or a JobTemplate is stored or deleted."""
