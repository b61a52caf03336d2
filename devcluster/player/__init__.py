"""Plays Volcano's Job controller: Jobs go through their phases on any API server, and nothing runs.

    client = await KubeClient.connect("player", kubeconfig="kubeconfig")
    await Player(client, Rules(run_seconds=2)).run()

`script.py` says how a Job's own commands choose how long it runs and how it ends, `phases.py` what is written when
(without doing it), `player.py` does it, `command.py` is `python -m devcluster play`.
"""

from devcluster.player.phases import PlayedJob, Remove, Rules, Step, Wait, Write, next_status, next_step
from devcluster.player.player import PLAYED_JOBS, Player

__all__ = [
    "PLAYED_JOBS",
    "PlayedJob",
    "Player",
    "Remove",
    "Rules",
    "Step",
    "Wait",
    "Write",
    "next_status",
    "next_step",
]
