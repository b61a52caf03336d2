"""The server's own certificate: a CA and a certificate for 127.0.0.1, made when the server starts and kept nowhere."""

import ssl
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path

from certs.issue import CA_LIFE, ServerNames, authority_name, issue_ca, issue_server
from certs.keys import new_key, new_serial
from certs.pem import certificate_pem, key_pem

NAMES = ServerNames(
    ("localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"),
    (ip_address("127.0.0.1"), ip_address("::1")),
)


@dataclass(frozen=True, slots=True)
class ServingCertificate:
    """What a server on the loopback needs: PEM texts."""

    ca: bytes
    certificate: bytes
    key: bytes

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of the server."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        with tempfile.TemporaryDirectory() as folder:  # the ssl module reads files only
            chain, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
            chain.write_bytes(self.certificate)
            key.touch(mode=0o600)
            key.write_bytes(self.key)
            context.load_cert_chain(chain, key)
        return context


def issue() -> ServingCertificate:
    """Return a new CA's certificate for 127.0.0.1."""
    now = datetime.now(UTC).replace(microsecond=0)
    ca = issue_ca(new_key(), serial=new_serial(), now=now, name=authority_name("devcluster-ca"))
    server = issue_server(new_key(), ca=ca, names=NAMES, serial=new_serial(), now=now, life=CA_LIFE)
    return ServingCertificate(certificate_pem(ca.certificate), certificate_pem(server.certificate), key_pem(server.key))
