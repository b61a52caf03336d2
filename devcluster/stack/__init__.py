"""The whole of JobFlow on one machine: the embedded API server, the webhook and the controller, as processes."""
