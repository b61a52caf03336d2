"""The only door to the API server: configuration, client, errors, and local copies kept by list and watch."""
