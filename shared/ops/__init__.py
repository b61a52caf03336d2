"""What whoever runs a program sees: its flags, its log, its health and metrics, and how it stops."""
