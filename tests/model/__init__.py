"""Every state that one small JobFlow can come into, explored with the controller's own decisions."""
