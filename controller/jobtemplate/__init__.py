"""What happens to a JobTemplate: its status names the Jobs that were made from it."""
