import pytest

from devcluster.schema.formats import FORMATS

CASES = {
    "datetime": (
        ["2026-11-21T16:20:00Z", "2026-11-21t16:20:00.123456+01:00"],
        ["2026-11-21", "2026-02-30T00:00:00Z", "2026-11-21T24:00:00Z", "20261121T162000Z", "2026-11-21T16:20:00"],
    ),
    "date": (["2026-11-21"], ["2026-W47-1", "20261121", "2026-13-01"]),
    "duration": (["1h2m3s", "300ms", "0", "1.5h", "2 days"], ["", "soon", "5", "-"]),
    "byte": (["aGVsbG8="], ["", "a", "%%%%"]),
    "ipv4": (["127.0.0.1"], ["256.0.0.1", "1.2.3", "::1"]),
    "ipv6": (["::1", "fe80::1"], ["127.0.0.1", "fe80::1%eth0"]),
    "cidr": (["10.0.0.0/8", "10.1.2.3/8", "fd00::/8"], ["10.0.0.0", "10.0.0.0/33"]),
    "mac": (["00:00:5e:00:53:01", "0000.5e00.5301"], ["00:00:5e"]),
    "uuid": (["6BA7B810-9DAD-11D1-80B4-00C04FD430C8", "6ba7b8109dad11d180b400c04fd430c8"], ["6ba7b810"]),
    "email": (["a@example.com"], ["a", "@example.com"]),
    "uri": (["https://example.com/x", "/x"], ["x", "example.com"]),
    "hostname": (["example.com", "a-b"], ["", "a_b", "-a", "a" * 64]),
    "k8sshortname": (["abc-1"], ["a.b", "-a", "a" * 64]),
    "k8slongname": (["a.b-c.d"], ["A.b", "a" * 254]),
}


@pytest.mark.parametrize("name", CASES)
def test_a_format_takes_what_kubernetes_takes(name):
    right, wrong = CASES[name]

    assert [text for text in right if not FORMATS[name](text)] == []
    assert [text for text in wrong if FORMATS[name](text)] == []
