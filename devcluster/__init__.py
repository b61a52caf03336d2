"""A Kubernetes API server in one process and in memory, for people who try things out and for tests."""
