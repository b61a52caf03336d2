"""What a valid JobFlow and a valid JobTemplate is: one function for each rule, and how faults are told."""
