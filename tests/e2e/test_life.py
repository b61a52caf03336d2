"""A release from its first version to its end, and after: install, upgrade, rollback, uninstall, and again."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

from tests.e2e.site import ROOT, SYSTEM, Site, a_jobflow, running_site, steadily
from tests.support.helm import CHART, Object
from tests.support.kubectl import documents
from tests.support.volcano_crds import volcano_crds
from tests.support.waiting import eventually

pytestmark = [pytest.mark.real, pytest.mark.timeout(300)]

LONGEST = "the-longest-name-of-a-release-that-helm-takes-has-53x"


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The chart as an earlier version."""
    chart = tmp_path / "jobflow"
    shutil.copytree(CHART, chart)
    text = (chart / "Chart.yaml").read_text()
    (chart / "Chart.yaml").write_text(
        "".join(
            f"{line.split(':')[0]}: 0.0.9\n" if "ersion: " in line and "0.1" in line else f"{line}\n"
            for line in text.splitlines()
        )
    )
    return chart


@pytest.fixture
def site() -> Iterator[Site]:
    with running_site() as site:
        yield site


@pytest.mark.xdist_group("life")
def test_a_release_is_installed_upgraded_rolled_back_uninstalled_and_installed_again(site: Site, earlier: Path) -> None:
    site.install(earlier, webhook={"maxFlows": 4})
    five = a_jobflow("a", "b", "c", "d", "e")
    assert "must have at most 4 items" in site.judged(five)

    # An upgrade replaces every Pod, and no request fails meanwhile.
    with steadily(site.judged, at_least=50) as failures:
        site.upgrade(controller={"logLevel": 4})
    assert failures == []
    assert eventually(lambda: site.judged(five) == ""), "those that end go on serving for a while"
    assert {run.labels["app.kubernetes.io/version"] for run in site.pods("webhook") + site.pods("controller")} == {
        "0.1.0"
    }

    with steadily(site.judged, at_least=50) as failures:
        site.helm("rollback", site.release, "1", "--namespace", SYSTEM, "--wait", "--timeout=100s")
    assert failures == []
    assert eventually(lambda: "must have at most 4 items" in site.judged(five))

    # Uninstalled while a JobFlow runs.
    for each in documents(ROOT / "examples" / "diamond.yaml"):
        site.kubectl.apply(each)
    running = ("--for=jsonpath={.status.state.phase}=Pending", "--timeout=30s")
    site.kubectl("wait", *running, "jobflow/diamond")
    assert "flow.volcano.sh/allow-delete=true" in site.kubectl.refused("delete", "jobflow", "diamond")
    site.uninstall()
    assert site.left() == []
    assert site.kubectl.get("jobflow", "diamond")
    site.kubectl.apply(a_jobflow("nobody-judges", name="deletable"))
    site.kubectl("delete", "jobflow", "deletable", "--timeout=20s")

    # Installed again, it carries on what was begun.
    site.install()
    with site.player():
        site.finishes("diamond")
    assert site.judged(a_jobflow()) != ""


@pytest.mark.xdist_group("beside")
def test_it_is_installed_beside_volcanos_own_crds_under_the_longest_name_with_a_certificate_of_the_users() -> None:
    with running_site("jobflows") as site:
        before = site.kubectl(
            "get", "crds", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}\n{end}"
        )
        site.release = LONGEST
        site.kubectl("create", "namespace", "others")
        chain, key, ca = certificate_for(site.helm.template(site.release, SYSTEM))
        (site.dir / "tls.crt").write_bytes(chain)
        (site.dir / "tls.key").write_bytes(key)
        site.system(
            "create", "secret", "tls", "mine", f"--cert={site.dir / 'tls.crt'}", f"--key={site.dir / 'tls.key'}"
        )
        provided = {"mode": "provided", "provided": {"secretName": "mine", "caBundle": ca}}
        site.install(certs=provided, controller={"namespaces": ["default", "others"]})
        after = site.kubectl(
            "get", "crds", "-o", "jsonpath={range .items[*]}{.metadata.name} {.metadata.generation}\n{end}"
        )
        assert after == before
        with site.player():
            site.run_example("diamond")
        assert "spec.flows" in site.judged(a_jobflow("a", "a"))
        refused = [event for event in site.requests() if event["responseStatus"]["code"] == 403]
        assert refused == [], "in its namespaces the controller has all rights that it needs"
        assert not list(site.system.by_name("jobflows")), "and elsewhere nobody judges"
        site.system.apply(a_jobflow())
        site.system("delete", "jobflow", "tried")

        # The two commands of docs/operating.md bring our columns.
        site.kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CHART / "crds"))
        assert eventually(lambda: "PROGRESS" in site.kubectl("get", "jobflows"))
        site.kubectl("label", "jobflow", "diamond", "still=there")

        site.uninstall()
        assert site.system.get("secret", "mine"), "what the user made stays"
        assert site.kubectl.get("jobflow", "diamond")


@pytest.mark.xdist_group("beside")
def test_on_an_empty_cluster_it_is_installed_says_what_is_missing_and_begins_when_that_comes() -> None:
    with running_site("none") as site:
        said = site.helm("install", site.release, str(CHART), "--namespace", SYSTEM, values=site.values)
        assert "the CRD jobs.batch.volcano.sh is missing" in said
        assert eventually(lambda: len(site.pods("webhook")) == 2, timeout=60)
        for each in documents(ROOT / "examples" / "diamond.yaml"):
            site.kubectl.apply(each)
        assert not site.pods("controller")
        site.kubectl.install_crd(volcano_crds().job)
        with site.player():
            site.finishes("diamond")
        assert eventually(lambda: len(site.pods("controller")) == 2, timeout=60)  # the one that stands by may be later
        assert [run.restarts for run in site.pods("controller")] == [0, 0]


def certificate_for(rendered: list[Object]) -> tuple[bytes, bytes, str]:
    """A certificate for the webhook's Service, its key, and the CA that signed it."""
    services = [each["metadata"]["name"] for each in rendered if each["kind"] == "Service"]
    (name,) = [name for name in services if name.endswith("-webhook")]
    authority = trustme.CA()
    issued = authority.issue_cert(f"{name}.{SYSTEM}.svc")
    chain = b"".join(pem.bytes() for pem in issued.cert_chain_pems)
    return chain, issued.private_key_pem.bytes(), authority.cert_pem.bytes().decode()
