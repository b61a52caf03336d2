"""The resources as they travel: JobFlow, JobTemplate and Job, and the names that Kubernetes and Volcano give to things.

All models are frozen `msgspec` structs that carry just the fields that are read. They decode leniently where the wire
is lenient: a field that is missing has its default, and a field that is unknown is passed over.
"""
