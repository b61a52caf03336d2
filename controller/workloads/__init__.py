"""What a flow entry can run as: the Volcano Job."""
