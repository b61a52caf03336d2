"""The machinery of any controller: informers, a queue of keys, workers. It knows no JobFlow."""
