"""The webhook as a program of its own: how it starts, serves, stops, and says what is wrong with its flags."""

import http.client
import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devcluster.stack.programs import free_ports
from tests.support.programs import answers
from tests.support.waiting import eventually
from tests.webhook.reviews import creation, sent, template_deletion
from tests.webhook.serving import authority, trusting
from tests.webhook.test_certificates import chain
from webhook.__main__ import main

BODY = sent(creation("get"))


@dataclass
class Process:
    """A webhook that runs, with no API server behind it."""

    popen: subprocess.Popen[bytes]
    log: Path
    certificates: Path

    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()]

    def address(self, what: str) -> tuple[str, int] | None:
        for line in self.lines():
            if line.get("what") == what:
                host, _, port = str(line["address"]).rpartition(":")
                return host, int(port)
        return None

    def get(self, path: str, of: str = "healthz") -> tuple[int, str]:
        host, port = self.address(of) or ("", 0)
        try:
            with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def connect(self) -> http.client.HTTPSConnection:
        host, port = self.address("admission") or ("", 0)
        return http.client.HTTPSConnection(host, port, context=trusting(), timeout=10)

    def put_pair(self, *, good: bool = True) -> None:
        leaf = authority().issue_cert("127.0.0.1")
        for name, content in (("tls.key", leaf.private_key_pem.bytes()), ("tls.crt", chain(leaf) if good else b"x")):
            (self.certificates / "new").write_bytes(content)
            os.replace(self.certificates / "new", self.certificates / name)


def post(connection: http.client.HTTPSConnection, body: bytes = BODY) -> http.client.HTTPResponse:
    connection.request("POST", "/validate/jobflows?timeout=5s", body, {"Content-Type": "application/json"})
    return connection.getresponse()


def serial_of(connection: http.client.HTTPSConnection) -> str:
    connection.connect()
    assert isinstance(connection.sock, ssl.SSLSocket)
    peer = connection.sock.getpeercert() or {}
    connection.close()
    return str(peer["serialNumber"])


Start = Callable[..., Process]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start webhooks; what still runs in the end is killed."""
    started: list[subprocess.Popen[bytes]] = []
    numbers = itertools.count()

    def start(*, pair: bool = True, **flags: str) -> Process:
        log = tmp_path / f"{next(numbers)}.log"
        process = Process(None, log, tmp_path)  # type: ignore[arg-type]
        process.put_pair(good=pair)
        values = {
            "master": "http://127.0.0.1:1",
            "bind-address": "127.0.0.1",
            "port": "0",
            "tls-cert-file": str(tmp_path / "tls.crt"),
            "tls-private-key-file": str(tmp_path / "tls.key"),
            "healthz-address": "127.0.0.1:0",
            "metrics-address": "127.0.0.1:0",
            "shutdown-delay": "0s",
            **{name.replace("_", "-"): value for name, value in flags.items()},
        }
        command = [sys.executable, "-m", "webhook", *(f"--{name}={value}" for name, value in values.items())]
        with log.open("wb") as output:
            process.popen = subprocess.Popen(command, stderr=output)
        started.append(process.popen)
        assert eventually(lambda: process.address("admission") or process.popen.poll() is not None, 60), log.read_text()
        assert process.popen.poll() is None, log.read_text()
        return process

    yield start
    for popen in started:
        popen.kill()
        popen.wait()


def test_it_serves_says_that_it_is_ready_and_ends_with_code_0(start: Start) -> None:
    webhook = start()
    assert webhook.get("/healthz")[0] == 200
    assert webhook.get("/readyz") == (200, "[+]certificate ok\n[+]not stopping ok\nreadyz check passed\n")
    connection = webhook.connect()
    assert b'"allowed":true' in post(connection).read()
    numbers = webhook.get("/metrics", "metrics")[1]
    assert 'jobflow_admission_requests_total{allowed="true",operation="CREATE",resource="jobflows"} 1.0' in numbers
    assert "jobflow_certificate_expiry_timestamp_seconds" in numbers
    connection.close()
    webhook.popen.send_signal(signal.SIGTERM)
    assert webhook.popen.wait(20) == 0
    assert "Traceback" not in webhook.log.read_text()


def test_it_is_alive_and_ready_whatever_becomes_of_the_api_server(start: Start) -> None:
    webhook = start(master="http://127.0.0.1:1")
    assert eventually(lambda: any(line["msg"] == "list or watch failed" for line in webhook.lines()))
    assert webhook.get("/healthz")[0] == webhook.get("/readyz")[0] == 200


def test_an_api_server_that_says_nothing_holds_up_nothing_but_what_depends_on_it(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        webhook = start(master=f"http://127.0.0.1:{silent.getsockname()[1]}")
        asking, other = webhook.connect(), webhook.connect()
        began = time.monotonic()
        body = sent(template_deletion("get"))
        asking.request("POST", "/validate/jobtemplates?timeout=5s", body, {"Content-Type": "application/json"})
        assert b'"allowed":true' in post(other).read()
        response = json.loads(asking.getresponse().read())["response"]
        assert 3.5 < time.monotonic() - began < 5, "before the API server gives up, which waits 5 s"
        assert (response["allowed"], response["status"]["code"]) == (False, 503)
        assert "cannot verify that no JobFlow uses it; try again" in response["status"]["message"]
        asking.close()
        other.close()


def test_it_waits_for_a_good_certificate_and_is_ready_only_then(start: Start) -> None:
    webhook = start(pair=False)
    status, said = webhook.get("/readyz")
    assert (status, webhook.get("/healthz")[0]) == (503, 200)
    assert "no certificate" in said
    with pytest.raises((ssl.SSLError, ConnectionError)):
        webhook.connect().connect()
    webhook.put_pair()
    assert eventually(lambda: webhook.get("/readyz")[0] == 200, 10)
    connection = webhook.connect()
    assert b'"allowed":true' in post(connection).read()
    connection.close()


def test_a_new_certificate_is_picked_up_and_a_bad_one_counts(start: Start) -> None:
    webhook = start()
    before = serial_of(webhook.connect())
    webhook.put_pair(good=False)
    failures = "jobflow_cert_reload_failures_total 1.0"
    assert eventually(lambda: failures in webhook.get("/metrics", "metrics")[1], 10)
    assert serial_of(webhook.connect()) == before
    assert webhook.get("/readyz")[0] == 200
    webhook.put_pair()
    assert eventually(lambda: serial_of(webhook.connect()) != before, 10)


def test_no_request_fails_while_it_stops(start: Start) -> None:
    """Clients that stay connected and clients that do not, until the last has been asked to connect elsewhere."""
    webhook = start(shutdown_delay="2s")
    stopping = threading.Event()
    closed: list[bool] = []
    failed: list[Exception] = []
    answered = 0

    def ask(keep: bool) -> None:
        nonlocal answered
        connection = webhook.connect()
        try:
            while True:
                answer = post(connection)
                assert b'"allowed":true' in answer.read()
                answered += 1
                if stopping.is_set() and answer.getheader("Connection") == "close":
                    closed.append(keep)
                    return
                if not keep:
                    connection.close()
                time.sleep(0.005)
        except Exception as error:
            failed.append(error)
        finally:
            connection.close()

    clients = [threading.Thread(target=ask, args=(i % 2 == 0,)) for i in range(6)]
    for client in clients:
        client.start()
    assert eventually(lambda: answered > 30)
    webhook.popen.send_signal(signal.SIGTERM)
    stopping.set()
    assert eventually(lambda: webhook.get("/readyz")[0] == 503, 2, every=0.02)
    for client in clients:
        client.join()
    assert not failed
    assert len(closed) == 6
    assert webhook.popen.wait(20) == 0


def test_a_request_in_work_is_finished_before_it_ends(start: Start) -> None:
    webhook = start()
    connection = webhook.connect()
    connection.putrequest("POST", "/validate/jobflows")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", str(len(BODY)))
    connection.endheaders(BODY[:100])
    assert webhook.get("/healthz")[0] == 200  # it has had its time to read the head
    time.sleep(0.3)
    webhook.popen.send_signal(signal.SIGTERM)
    assert eventually(lambda: any(line["msg"] == "asked to stop" for line in webhook.lines()))
    connection.send(BODY[100:])
    answer = connection.getresponse()
    assert (answer.status, answer.getheader("Connection")) == (200, "close")
    assert b'"allowed":true' in answer.read()
    assert webhook.popen.wait(20) == 0


def test_nobody_has_to_read_its_log(tmp_path: Path) -> None:
    """A pipe takes 64 KB, and whoever then writes into it waits until somebody reads."""
    authority().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(tmp_path / "tls.pem")
    port, probes = free_ports(2)
    command = [
        *(sys.executable, "-m", "webhook", "--master=http://127.0.0.1:1", "--bind-address=127.0.0.1"),
        *(f"--port={port}", f"--healthz-address=127.0.0.1:{probes}", f"--metrics-address=127.0.0.1:{probes}"),
        *(f"--tls-cert-file={tmp_path / 'tls.pem'}", f"--tls-private-key-file={tmp_path / 'tls.pem'}"),
        "--shutdown-delay=0s",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as webhook:
        try:
            assert eventually(lambda: answers(f"http://127.0.0.1:{probes}/readyz"), 60)
            connection = http.client.HTTPSConnection("127.0.0.1", port, context=trusting(), timeout=10)
            for _ in range(1000):
                assert b'"allowed":true' in post(connection).read()
            body = sent(template_deletion("get"))
            for _ in range(50):  # of each of which the other log has a line as well
                connection.request("POST", "/validate/jobtemplates", body, {"Content-Type": "application/json"})
                assert b'"code":503' in connection.getresponse().read()
            connection.close()
            assert webhook.stderr
            lines = [json.loads(webhook.stderr.readline()) for _ in range(100)]
            assert sum(line["msg"] == "request" for line in lines) > 50
            webhook.send_signal(signal.SIGTERM)
            webhook.stderr.close()
            assert webhook.wait(20) == 0
        finally:
            webhook.kill()


def test_a_second_signal_ends_it_at_once(start: Start) -> None:
    webhook = start(shutdown_delay="60s")
    webhook.popen.send_signal(signal.SIGTERM)
    assert eventually(lambda: any(line["msg"] == "asked to stop" for line in webhook.lines()))
    webhook.popen.send_signal(signal.SIGTERM)
    assert webhook.popen.wait(20) == -signal.SIGTERM


PAIR = (f"--tls-cert-file={__file__}", f"--tls-private-key-file={__file__}")


@dataclass
class Ended:
    code: object
    out: str
    err: str


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """The command, as far as it comes without serving anything."""
    for variable in [variable for variable in os.environ if variable.startswith("JOBFLOW_")]:
        monkeypatch.delenv(variable)

    def run(*arguments: str, **environment: str) -> Ended:
        for variable, value in environment.items():
            monkeypatch.setenv(variable, value)
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return Ended(ended.value.code, *capsys.readouterr())

    return run


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--port=http"], "--port=http: must be a whole number"),
        (["--port=70000"], "--port=70000"),
        (["--tls-cert-file=/nowhere/tls.crt"], "no such file"),
        ([*PAIR, "--shutdown-delay=soon"], "must be a duration"),
        ([*PAIR, "--max-flows=0"], "--max-flows=0"),
        (["--prot=1"], "did you mean --port?"),
        (["serve"], "unexpected argument 'serve'"),
        ([], "--tls-cert-file is required (or set JOBFLOW_TLS_CERT_FILE)"),
    ],
)
def test_a_wrong_value_is_one_clear_line_and_code_2(run: Callable[..., Ended], arguments: list[str], said: str) -> None:
    ended = run(*arguments)
    assert ended.code == 2
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_every_flag_is_also_an_environment_variable(run: Callable[..., Ended]) -> None:
    ended = run(*PAIR, JOBFLOW_MAX_FLOWS="none")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "JOBFLOW_MAX_FLOWS=none" in ended.err


def test_the_help_explains_every_flag(run: Callable[..., Ended]) -> None:
    ended = run("--help")
    assert ended.code == 0
    for flag in ("--kubeconfig", "--port", "--tls-cert-file", "--healthz-address", "--metrics-address", "--max-flows"):
        assert flag in ended.out
    assert "JOBFLOW_TLS_CERT_FILE" in ended.out


def test_a_port_that_is_taken_is_one_clear_line_and_code_1(tmp_path: Path) -> None:
    (tmp_path / "tls.crt").write_text("not yet")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = subprocess.run(
            [
                sys.executable,
                *("-m", "webhook", "--master=http://127.0.0.1:1", "-v=0", "--bind-address=127.0.0.1"),
                *("--healthz-address=127.0.0.1:0", "--metrics-address=127.0.0.1:0"),
                *(f"--tls-cert-file={tmp_path / 'tls.crt'}", f"--tls-private-key-file={tmp_path / 'tls.crt'}"),
                f"--port={taken.getsockname()[1]}",
            ],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 1
    assert "Address already in use" in ended.stderr
    assert "Traceback" not in ended.stderr


def memory(webhook: Process, which: str = "VmRSS") -> float:
    """MiB that the process has, or with VmHWM: has had at most."""
    lines = Path(f"/proc/{webhook.popen.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(f"{which}:"))


HOSTILE = {
    "spaces": lambda size: b"{" + b" " * (size - 2) + b"}",
    "a string": lambda size: b'{"a":"' + b"x" * (size - 8) + b'"}',
    "escapes": lambda size: b'{"a":"' + b"\\u0001" * ((size - 8) // 6) + b'"}',
    "numbers": lambda size: b"[" + b"1," * ((size - 3) // 2) + b"1]",
    "lists": lambda size: b"[" + b"[]," * ((size - 4) // 3) + b"[]]",
    "as many lists as there may be": lambda size: b"[" + b"[[]]," * 170_000 + b"1]",
    "as many objects as there may be": lambda size: b"[" + b'{"a":{}},' * 170_000 + b"1]",
    "nesting": lambda size: b"[" * size,
    "flows": lambda size: sent(creation(*["x"] * 100_000)),
    "one byte too many": lambda size: b" " * (size + 1),
}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process in /proc")
@pytest.mark.timeout(300)
def test_hostile_bodies_cost_little_memory_and_leave_none_behind(start: Start) -> None:
    """Eight of each kind at the same time, in chunks and with a length."""
    webhook = start()
    before = memory(webhook)
    statuses: set[int] = set()

    def send(make: Callable[[int], bytes], *, in_chunks: bool) -> None:
        connection = webhook.connect()
        body = make(7 * 1024 * 1024)
        pieces = (body[i : i + 65536] for i in range(0, len(body), 65536)) if in_chunks else body
        try:
            connection.request("POST", "/validate/jobflows", pieces, {"Content-Type": "application/json"})
            statuses.add(connection.getresponse().status)
        except OSError:
            pass  # refused before all of it was sent
        finally:
            connection.close()

    for make in HOSTILE.values():
        senders = [threading.Thread(target=send, args=(make,), kwargs={"in_chunks": i % 2 == 0}) for i in range(8)]
        for sender in senders:
            sender.start()
        for sender in senders:
            sender.join()
    assert statuses <= {200, 400, 413, 503}
    assert webhook.get("/readyz")[0] == 200
    assert memory(webhook, "VmHWM") <= 150
    assert eventually(lambda: memory(webhook) - before < 40)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads the memory of a process in /proc")
def test_a_large_review_leaves_little_behind_on_its_connection(start: Start) -> None:
    """Clients keep connections, and TLS has buffers for each."""
    webhook = start()
    body = sent(creation("get", metadata={"annotations": {"a": "x" * 400_000}}))
    connections = [webhook.connect() for _ in range(100)]
    for connection in connections:
        connection.connect()
    assert b'"allowed":true' in post(connections[0], body).read()
    before = memory(webhook)
    for connection in connections[1:]:
        assert b'"allowed":true' in post(connection, body).read()
    assert memory(webhook) - before < 25
    for connection in connections:
        connection.close()
