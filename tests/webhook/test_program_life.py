"""The webhook as a program of its own: how it starts, serves and stops."""

import http.client
import json
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from devcluster.stack.programs import free_ports
from tests.support.programs import answers
from tests.support.waiting import eventually
from tests.webhook.process import BODY, Start, post
from tests.webhook.reviews import sent, template_deletion
from tests.webhook.serving import authority, trusting


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


def serial_of(connection: http.client.HTTPSConnection) -> str:
    connection.connect()
    assert isinstance(connection.sock, ssl.SSLSocket)
    peer = connection.sock.getpeercert() or {}
    connection.close()
    return str(peer["serialNumber"])


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
