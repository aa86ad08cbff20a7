"""The README shows what the program prints, and its library example runs."""

import re
import subprocess
import sys
from pathlib import Path

from support.places import ROOT
from support.processes.commands import Program

README = (ROOT / "README.md").read_text("utf-8")


def _shown(command: str) -> str:
    """The output that the README shows for a command."""
    (output,) = re.findall(rf"```\n\$ sourcebound {command}[^\n]*\n(.*?)```", README, re.DOTALL)
    return str(output)


def test_the_answer_with_its_source_is_the_programs(demo: Program) -> None:
    (question,) = re.findall(r'\$ sourcebound ask "(.*)" --collection demo', README)
    done = demo("ask", question, "--collection", "demo")
    assert (done.code, done.stdout.startswith(_shown("ask"))) == (0, True), done.stdout


def test_the_rejected_answer_is_the_programs() -> None:
    rejected = ROOT / "examples" / "rejected"
    done = Program()("check", "--bundle", rejected / "sources.json", "--answer", rejected / "answer.txt")
    assert (done.code, done.stdout) == (4, _shown("check"))


def test_the_library_example_runs(demo: Program, tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    body = "".join(f"    {line}\n" for line in code.replace('"mine"', '"demo"').splitlines())
    (tmp_path / "questions.txt").write_text("Which orchestra played?\n", "utf-8")
    program = f"import asyncio\nasync def main():\n{body}\nasyncio.run(main())\n"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=demo.variables(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-2].endswith("the filter of the HP-300 changed?"), lines
    assert lines[-1].startswith("NO_EVIDENCE")
