"""The contract of a generator as tests: ``pytest --shirley-generator module:Class``.

Nothing heavy is imported here: pytest loads this module whenever it starts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from copula_shirley.evaluation.contract.subject import Subject


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the contract."""
    group = parser.getgroup("shirley", "contract of a generator (copula-shirley)")
    group.addoption(
        "--shirley-generator",
        action="append",
        default=[],
        metavar="MODULE:CLASS",
        help="test this generator against the contract; module:name, or an installed generator's "
        "name; may be given several times",
    )
    group.addoption(
        "--shirley-settings",
        default="{}",
        metavar="JSON",
        help="settings of these generators, as JSON: '{\"epsilon\": 2.0}'",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Add a test for each check of each generator that was named."""
    for name in config.getoption("--shirley-generator"):
        collector = ContractCollector.from_parent(
            session, name=f"contract of {name}", generator=name, path=Path(config.rootpath)
        )
        items.extend(collector.collect())


class ContractCollector(pytest.Collector):
    """All checks of one generator."""

    def __init__(self, generator: str, **rest: Any) -> None:
        super().__init__(nodeid=f"contract::{generator}", **rest)
        self.generator = generator

    def collect(self) -> Iterator[ContractItem]:
        """One test for each check."""
        from copula_shirley.evaluation.contract import CHECKS  # noqa: PLC0415
        from copula_shirley.evaluation.contract.subject import Subject  # noqa: PLC0415

        subject = Subject(named(self.generator), _settings(self.config))
        for check in CHECKS:
            name = check.replace(" ", "_")
            yield ContractItem.from_parent(self, name=name, check=check, subject=subject)


class ContractItem(pytest.Item):
    """One check of one generator."""

    def __init__(self, check: str, subject: Subject, **rest: Any) -> None:
        super().__init__(**rest)
        self.check = check
        self.subject = subject

    def runtest(self) -> None:
        """Run the check; one that is not applicable is skipped with its reason."""
        from copula_shirley.evaluation.contract import ContractError, run_check  # noqa: PLC0415

        outcome = run_check(self.subject, self.check)
        if outcome.status == "not applicable":
            pytest.skip(outcome.reason)
        if outcome.status == "failed":
            raise ContractError(f"{outcome.meaning} {outcome.reason}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> str:
        """What is broken; a traceback of this file would help nobody."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[Path, None, str]:
        """What pytest calls the test."""
        return self.path, None, f"contract of {self.subject.name}: {self.check}"


def named(name: str) -> Any:
    """The generator of a module, or an installed one."""
    from copula_shirley.registry import find_class  # noqa: PLC0415

    try:
        return find_class(name)
    except ValueError as error:
        raise pytest.UsageError(f"--shirley-generator {name}: {error}") from None


def _settings(config: pytest.Config) -> dict[str, Any]:
    text = config.getoption("--shirley-settings")
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise pytest.UsageError(f"--shirley-settings {text}: {error}") from None
    if not isinstance(settings, dict):
        raise pytest.UsageError(f"--shirley-settings {text}: must be a JSON object")
    return settings
