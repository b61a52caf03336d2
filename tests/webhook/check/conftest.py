from pathlib import Path

import pytest

from tests.support.binaries import require_binaries
from tests.webhook.check.reading import KubectlReader


@pytest.fixture(scope="session")
def kubectl(tmp_path_factory: pytest.TempPathFactory) -> KubectlReader:
    directory: Path = tmp_path_factory.mktemp("kubectl")
    return KubectlReader(require_binaries().kubectl, directory)
