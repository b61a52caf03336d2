"""What a valid spec of a Volcano Job is, as it stands in a JobTemplate: tasks, policies, and the Pods they run as."""
