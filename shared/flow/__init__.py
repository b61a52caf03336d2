"""What is known about flows without looking at a cluster: their graph, the names that they make."""
