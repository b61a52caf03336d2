"""Server-side apply, and the `managedFields` that every write leaves behind.

    fieldsets.py   sets of fields, in the form in which managedFields store them (FieldsV1)
    shapes.py      which parts of an object are merged field by field, and which are one leaf
    merging.py     what two versions of an object differ in, and what becomes of one when another is applied to it
    managers.py    who owns what, as managedFields tell it
    applying.py    the two operations, and what a conflict is

The rules are those of `sigs.k8s.io/structured-merge-diff`, but for one thing: an object is seen in one version only.
"""

from devcluster.apply.applying import ApplyConflict, ApplyError, server_side_apply, track_update

__all__ = ["ApplyConflict", "ApplyError", "server_side_apply", "track_update"]
