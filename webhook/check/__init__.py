"""The offline check: what the webhook would say of the JobFlows and JobTemplates in files. It needs no cluster.

`sources` finds the bytes, `documents` and what it rests on read them as kubectl would, `manifests` picks out what is
judged, `judging` asks the webhook's own table, and `report` and `sarif` tell what came of it.
"""
