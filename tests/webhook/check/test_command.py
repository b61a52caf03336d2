"""The check as a program: its arguments, what it prints, its exit code, and what it costs to start."""

import errno
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from shared import __version__
from tests.webhook.check.test_findings import GET, jobflow
from webhook.check.__main__ import main
from webhook.check.catalogue import CATALOGUE
from webhook.check.sources import MOST_BYTES, sources

EXAMPLES = Path(__file__).parents[3] / "examples"
RIGHT = jobflow() + "---\n" + GET
WRONG = jobflow("[]")


class Folder:
    """A directory to check things in."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, name: str, content: str | bytes) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())

    def check(self, *arguments: str, stdin: str | bytes = b"") -> subprocess.CompletedProcess[str]:
        """Run it as a process, from within the directory."""
        done = subprocess.run(
            [sys.executable, "-m", "webhook", "check", *arguments],
            cwd=self.path,
            input=stdin if isinstance(stdin, bytes) else stdin.encode(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8"), done.stderr.decode("utf-8")
        )

    def document(self, *arguments: str) -> Any:
        return json.loads(self.check(*arguments).stdout)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_what_is_right_ends_with_0_and_prints_nothing_but_the_sum(folder: Folder) -> None:
    folder.put("a.yaml", RIGHT)
    done = folder.check("a.yaml")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "1 JobFlow and 1 JobTemplate in 1 file: 0 errors, 0 warnings\n"


def test_faults_end_with_1_and_are_printed_each_on_its_line(folder: Folder) -> None:
    folder.put("a.yaml", RIGHT)
    folder.put("b/c.yaml", "# a comment\n" + WRONG)
    done = folder.check("a.yaml", "b")
    assert done.returncode == 1
    assert "b/c.yaml:6: spec.flows: Required value: must have at least one entry\n" in done.stdout


def test_warnings_alone_end_with_0_unless_they_are_to_count(folder: Folder) -> None:
    folder.put("a.yaml", jobflow())
    lenient, strict = folder.check("a.yaml"), folder.check("--strict", "a.yaml")
    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert lenient.stdout == strict.stdout
    assert lenient.stdout.startswith("a.yaml:5: warning: spec.flows: ")


@pytest.mark.parametrize("content", [b"a: [\n", b"\xff\xfe\x00", b"{{ .Values }}\n", b"x" * (MOST_BYTES + 1)])
def test_a_file_that_cannot_be_read_ends_with_2_and_others_are_judged_all_the_same(
    folder: Folder, content: bytes
) -> None:
    folder.put("a.yaml", content)
    folder.put("b.yaml", WRONG)
    done = folder.check("a.yaml", "b.yaml")
    assert done.returncode == 2
    assert re.match(r"a\.yaml:[0-9]+:[0-9]+: ", done.stdout)
    assert "\nb.yaml:5: spec.flows: " in done.stdout


def test_a_file_that_is_not_there_ends_with_2(folder: Folder) -> None:
    done = folder.check("absent.yaml")
    assert (done.returncode, done.stdout) == (2, "absent.yaml:1:1: No such file or directory\n")


@pytest.mark.parametrize(
    "arguments", [[], ["-o", "xml", "a"], ["--max-flows", "0", "a"], ["--max-flows", "x", "a"], ["--nope", "a"]]
)
def test_wrong_arguments_end_with_2_and_a_usage(folder: Folder, arguments: list[str]) -> None:
    done = folder.check(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "usage: jobflow-webhook check" in done.stderr


def test_a_dash_is_standard_input_beside_files(folder: Folder) -> None:
    folder.put("get.yaml", GET)
    assert folder.check("-", "get.yaml", stdin=jobflow()).returncode == 0
    done = folder.check("-", stdin=WRONG)
    assert done.returncode == 1
    assert done.stdout.startswith("-:5: ")


def test_directories_are_searched_to_the_bottom_for_yaml_and_json_but_not_hidden_ones(folder: Folder) -> None:
    for name in ("a/b/c.yaml", "a/d.yml", "a/e.json", "a/.git/f.yaml", "a/g.txt"):
        folder.put(name, "{" if name.endswith("json") else "a: [\n")
    done = folder.check(".")
    assert sorted(line.partition(":")[0] for line in done.stdout.splitlines()) == ["a/b/c.yaml", "a/d.yml", "a/e.json"]


def test_a_directory_that_cannot_be_looked_into_is_told(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.put("a.yaml", RIGHT)
    folder.put("closed/b.yaml", WRONG)
    look = os.scandir

    def refusing(path: str) -> Any:
        if path.endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return look(path)

    monkeypatch.setattr(os, "scandir", refusing)
    found = list(sources([str(folder.path)]))
    assert [(Path(each.name).name, each.error) for each in found] == [("a.yaml", ""), ("closed", "Permission denied")]


def test_the_console_script_is_the_same_program(capsys: pytest.CaptureFixture[str]) -> None:
    scripts = tomllib.loads((EXAMPLES.parent / "pyproject.toml").read_text())["project"]["scripts"]
    module, _, function = scripts["jobflow-check"].partition(":")
    program = getattr(importlib.import_module(module), function)
    assert program([str(EXAMPLES / "refused" / "cycle.yaml")]) == 1
    assert "must not close a loop" in capsys.readouterr().out


def test_a_file_of_any_name_is_checked_where_it_is_named_itself(folder: Folder) -> None:
    folder.put("flows.txt", WRONG)
    assert folder.check("flows.txt").returncode == 1


def test_a_file_that_is_named_twice_is_read_once(folder: Folder) -> None:
    folder.put("a/a.yaml", RIGHT)
    (folder.path / "link.yaml").symlink_to("a/a.yaml")
    assert folder.check("a", "a/a.yaml", "./a/../a/a.yaml", "link.yaml").returncode == 0


def test_names_of_files_cannot_forge_lines(folder: Folder) -> None:
    folder.put("a\nb\x1b[31m.yaml", WRONG)
    folder.put(os.fsdecode(b"\xff.yaml"), WRONG)
    done = folder.check(".")
    assert len(done.stdout.splitlines()) == 3  # each has a fault, and both are of one name
    assert "\x1b" not in done.stdout


def test_no_standard_input_and_no_letters_of_the_locale_are_no_trouble(folder: Folder) -> None:
    folder.put("\u00e9.yaml", WRONG)
    command = f"PYTHONIOENCODING=ascii {sys.executable} -m webhook check - \u00e9.yaml <&-"
    done = subprocess.run(["bash", "-c", command], cwd=folder.path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout.startswith("-:1:1: there is no standard input\n\\xe9.yaml:5: ")


def test_it_does_not_complain_where_nobody_reads_on(folder: Folder) -> None:
    folder.put("a.yaml", jobflow("\n" + "".join(f"  - name: A{i}\n" for i in range(3000))))
    command = f"{sys.executable} -m webhook check --max-flows 5000 a.yaml | head -1"
    done = subprocess.run(["bash", "-c", command], cwd=folder.path, capture_output=True, text=True, check=False)
    assert len(done.stdout.splitlines()) == 1
    assert "Traceback" not in done.stderr
    assert "Error" not in done.stderr


def test_control_c_while_it_waits_for_its_input_ends_it_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting:
        buffer = property(lambda self: self)

        def read(self, _: int) -> bytes:
            raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdin", Waiting())
    assert main(["-"]) == 130


def test_help_says_what_the_exit_codes_mean(folder: Folder) -> None:
    done = folder.check("--help")
    assert done.returncode == 0
    assert "Exit code: 0 nothing is wrong; 1 something is; 2 " in done.stdout
    assert folder.check("--version").stdout == f"jobflow-webhook check {__version__}\n"


def test_nothing_slow_is_imported_for_files_in_which_nothing_is_wrong() -> None:
    slow = ["aiohttp", "asyncio", "kubernetes", "pydantic", "prometheus_client", "networkx", "cryptography", "uvloop"]
    program = (
        "import sys; sys.argv = ['webhook', 'check', *sys.argv[1:]]\n"
        "from webhook.__main__ import main\n"
        f"assert main() == 0; print([name for name in {slow} if name in sys.modules])"
    )
    right = [str(EXAMPLES / name) for name in ("diamond.yaml", "ml-pipeline", "nightly-report.yaml")]
    done = subprocess.run([sys.executable, "-c", program, *right], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_examples_are_right_and_the_refused_ones_are_not() -> None:
    folder = Folder(EXAMPLES)
    assert folder.check("diamond.yaml", "ml-pipeline", "nightly-report.yaml", "--strict").returncode == 0
    for refused in ("cycle.yaml", "duplicate.yaml"):
        assert folder.check(f"refused/{refused}").returncode == 1


# Output for programs


def test_json_is_one_document_with_all_that_people_read(folder: Folder) -> None:
    folder.put("a.yaml", jobflow("[{name: a}, {name: a}]", "{name: etl, namespace: ml}"))
    folder.put("b.yaml", "kind: X\n---\na: [\n")
    document = folder.document("-o", "json", "a.yaml", "b.yaml")
    warning, fault, unreadable = document["findings"]
    assert (document["version"], document["exitCode"]) == (1, 2)
    assert document["summary"] == {
        "files": 2,
        "jobFlows": 1,
        "jobTemplates": 0,
        "passedOver": 1,
        "errors": 2,
        "warnings": 1,
    }
    assert fault == {
        "file": "a.yaml",
        "line": 5,
        "column": 23,
        "level": "error",
        "rule": "names-are-unique",
        "path": "spec.flows[1].name",
        "message": 'Duplicate value: "a"',
        "reason": "FieldValueDuplicate",
        "object": {"kind": "JobFlow", "namespace": "ml", "name": "etl"},
    }
    assert (warning["level"], warning["rule"]) == ("warning", "templates-exist")
    assert (unreadable["file"], unreadable["line"], unreadable["rule"]) == ("b.yaml", 4, "files-are-readable")


def test_json_is_a_document_where_nothing_is_wrong_too(folder: Folder) -> None:
    folder.put("a.yaml", RIGHT)
    document = folder.document("-o", "json", "a.yaml")
    assert (document["findings"], document["exitCode"]) == ([], 0)


def test_sarif_has_every_rule_with_its_words_and_a_result_for_each_finding(folder: Folder) -> None:
    folder.put("with blank/é.yaml", jobflow("[{name: a}, {name: a}]"))
    log = folder.document("-o", "sarif", ".")
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-2.1.0.json")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert (driver["name"], driver["version"]) == ("jobflow-check", __version__)
    assert [rule["id"] for rule in driver["rules"]] == list(CATALOGUE)
    for rule in driver["rules"]:
        level, says = CATALOGUE[rule["id"]]
        assert rule["help"]["text"] == rule["shortDescription"]["text"] == " ".join(says.split())
        assert rule["defaultConfiguration"] == {"level": level.value}
    (fault,) = (result for result in run["results"] if result["level"] == "error")
    assert driver["rules"][fault["ruleIndex"]]["id"] == fault["ruleId"] == "names-are-unique"
    assert fault["message"] == {"text": 'spec.flows[1].name: Duplicate value: "a"'}
    (location,) = fault["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "with%20blank/%C3%A9.yaml"},
        "region": {"startLine": 5, "startColumn": 23},
    }
    assert location["logicalLocations"] == [
        {"name": "spec.flows[1].name", "fullyQualifiedName": "JobFlow/default/etl: spec.flows[1].name"}
    ]
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]


def test_sarif_says_where_not_everything_was_judged(folder: Folder) -> None:
    folder.put("a.yaml", "a: [\n")
    (run,) = folder.document("-o", "sarif", "a.yaml")["runs"]
    assert run["invocations"] == [{"executionSuccessful": False, "exitCode": 2}]
    assert run["results"][0]["ruleId"] == "files-are-readable"


def test_absolute_paths_are_uris_of_files(folder: Folder) -> None:
    folder.put("a.yaml", WRONG)
    (run,) = folder.document("-o", "sarif", str(folder.path / "a.yaml"))["runs"]
    uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == (folder.path / "a.yaml").as_uri()


def test_what_the_readme_shows_is_what_is_printed() -> None:
    root = EXAMPLES.parent
    section = (root / "README.md").read_text().split("## Checking files\n", 1)[1].split("\n## ", 1)[0]
    (block,) = re.findall(r"```console\n(.*?)```", section, re.DOTALL)
    shown = re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    assert len(shown) == 2
    for command, printed in shown:
        shell = ["bash", "-c", f"({command}) 2>&1"]
        done = subprocess.run(shell, cwd=root, env=environment, capture_output=True, text=True, check=False)
        assert done.stdout == printed, command
