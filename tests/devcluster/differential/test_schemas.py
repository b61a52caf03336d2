import copy
import random

import pytest

from tests.devcluster.differential.conftest import something_like

pytestmark = pytest.mark.real

CASES = 150  # of each seed; a thousand and more of them, with other seeds, agreed when this was written


@pytest.mark.parametrize("seed", range(4))
def test_objects_are_pruned_defaulted_and_judged_as_by_kube_apiserver(ask, jobs, jobflows, seed):
    dice = random.Random(seed)
    judged = refused = 0
    for number in range(CASES):
        kind = dice.choice([jobs, jobflows])
        spec = something_like(kind.schema["properties"]["spec"], dice)
        if not isinstance(spec, dict):
            continue
        obj = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": f"case-{number}"}, "spec": spec}

        answer = ask("POST", f"{kind.path}?dryRun=All&fieldValidation=Warn", obj)
        mine = copy.deepcopy(obj)
        unknown, faults = kind.judge(mine)

        if answer.code == 422:
            assert faults == answer.causes, obj
            refused += 1
        else:
            assert answer.code == 201, answer.body
            assert (faults, mine["spec"]) == ([], answer.body["spec"]), obj
            assert [f'unknown field "{path}"' for path in unknown] == sorted(map(text_of, answer.warnings)), obj
        judged += 1
    assert judged > CASES * 0.9
    assert refused > CASES * 0.1


def text_of(warning: str) -> str:
    """The text of a Warning header: `299 - "unknown field \\"spec.x\\""`."""
    return warning.split('"', 1)[1].removesuffix('"').replace('\\"', '"')
