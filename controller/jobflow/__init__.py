"""What happens to one JobFlow.

`snapshot` is what a decision may look at; `progress`, `phase`, `plan`, `status` and what they stand on decide, purely;
`actions` is what they decide; `memory` is what a pass leaves for the next; `triggers` says who is to be looked at
again; `reconcile` and `dispatch` look and act.
"""
