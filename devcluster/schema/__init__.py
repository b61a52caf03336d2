"""Structural schemas as CustomResourceDefinitions have them: what is unknown is pruned, defaulted, validated.

The three functions take the schema as plain JSON (`openAPIV3Schema`) and the object that they change or judge. A
schema is compiled when it is first seen and kept by its identity: whoever changes one makes a new dict.
"""

from devcluster.schema.compiled import Schema, SchemaError, compiled
from devcluster.schema.defaulting import apply_defaults
from devcluster.schema.pruning import prune
from devcluster.schema.validating import validate, validate_status

__all__ = ["Schema", "SchemaError", "apply_defaults", "compiled", "prune", "validate", "validate_status"]
