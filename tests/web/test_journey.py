"""From a table to a release and its files; what spends does so once."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
import time
import warnings
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pandas as pd
import pytest
from commands import run as command
from web_pages import Page, field, finish

from copula_shirley import BudgetError, PoorTableWarning, ReleaseLedger, Schema
from copula_shirley.publish.verify import verify_file
from copula_shirley.web.process import Run, Settings
from copula_shirley.web.schema_form import TEXTS, rows_of, with_people


def test_a_declared_table_becomes_a_release(
    page: Page, table: Path, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = page.begun(table, schema)
    planned = page.get(f"{path}/release?epsilon=2&delta=1e-9&rows=300")
    assert "whoever knows all others" in planned and "Rows that noise may move" in planned
    assert "0 of" in planned or "epsilon 0" in planned
    run = page.run(path)
    assert run.state == "done", run.error
    shown = page.get(f"{path}/runs/1")
    assert run.result["words"]["person"] in shown.replace("&#39;", "'")
    assert shown.count("<figure") == len(schema)
    ledger = ReleaseLedger.open(table.with_name("ledger.json"))
    assert [r.state for r in ledger.releases] == ["settled"]
    packed = page.client.get(f"{path}/runs/1/files/release.zip").content
    with zipfile.ZipFile(io.BytesIO(packed)) as files:
        files.extractall(table.parent / "got")
    got = table.parent / "got"
    csv = pd.read_csv(got / "jobs-synthetic.csv")
    pd.testing.assert_frame_equal(
        csv, pd.read_parquet(got / "jobs-synthetic.parquet"), check_dtype=False
    )
    assert Schema.read(got / "schema.yaml").names == schema.names and set(csv) == set(schema.names)
    for name in ("jobs-synthetic.csv", "jobs-synthetic.parquet", "jobs.shirley"):
        verify_file(got / name)
    card = page.client.get(f"{path}/runs/1/files/jobs-synthetic.csv.card.html?show=1")
    assert card.headers["content-security-policy"].startswith("default-src 'none'")
    commands = re.findall(r"<pre>(.*?)</pre>", page.get(f"{path}/runs/1"), re.DOTALL)
    monkeypatch.chdir(got)  # where the schema is, and what they write goes
    for line in html.unescape(commands[0]).splitlines():
        done = command(*shlex.split(line)[1:])
        assert done.code == 0, done.said
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PoorTableWarning)
        with pytest.raises(BudgetError, match="above the cap"):  # the third of epsilon 2
            exec(html.unescape(commands[1]), {})
    assert len(ReleaseLedger.open(table.with_name("ledger.json")).releases) == 2
    beside = page.get(f"{path}/runs/1/compare")
    assert "not for publication" in beside and "<figure" not in beside
    beside = page.post(f"{path}/runs/1/compare")
    assert beside.count("of the rows differ") == len(schema)


def test_made_up_rows_show_the_noise_and_none_of_the_rows(
    page: Page, table: Path, schema: Schema
) -> None:
    path = page.begun(table, schema)
    table.unlink()  # nothing reads it
    planned = page.get(f"{path}/release?epsilon=1&rows=300")
    assert "age and job" in planned and f'href="{path}/preview?epsilon=1.0&amp;' in planned
    moved = []
    for epsilon in ("0.3", "10"):
        shown = page.get(f"{path}/preview?epsilon={epsilon}&rows=2000")
        assert "No row of jobs.csv was read" in shown and '<th scope="col">job</th>' in shown
        shares = re.findall(r"([\d.]+) % of the rows differ", shown)
        assert len(shares) == len(schema)
        moved.append(sum(map(float, shares)))
    assert moved[0] > 2 * moved[1]
    assert "about how many rows" in page.get(f"{path}/preview?epsilon=1&rows=0", 422)


def test_a_run_is_started_once(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    first = field(page.get(f"{path}/release?epsilon=1&rows=300"), "key")
    second = field(page.get(f"{path}/release?epsilon=0.5&rows=300"), "key")  # another tab
    assert first == second
    run = page.run(path, epsilon="1")
    for epsilon in ("1", "0.5"):  # a double click, and the other tab
        page.post(f"{path}/runs", key=first, epsilon=epsilon)
        assert page.at == f"{path}/runs/1"
    for _ in range(3):
        page.get(f"{path}/runs/1")
        assert 'name="form_token"' in page.get(f"{path}/release")
    assert len(page.work().runs) == 1 and run.job.settings.epsilon == 1
    again = page.post(f"{path}/another", key=first)
    new = field(again, "key")
    page.post(f"{path}/another", key=first)  # a double click makes no third key
    assert new != first and field(page.get(f"{path}/release"), "key") == new
    page.post(f"{path}/runs", key=first, epsilon="1")  # the back button
    assert page.at == f"{path}/runs/1"
    assert "this form is old" in page.post(f"{path}/runs", 422, key="made up")
    ledger = ReleaseLedger.open(table.with_name("ledger.json"))
    assert len(ledger.releases) == 1


def test_a_plan_of_another_schema_or_ledger_starts_nothing(
    page: Page, table: Path, schema: Schema
) -> None:
    """In one tab the plan is looked at, in another one what it is about is changed."""
    path, work = page.begun(table, schema), page.work()
    shown = page.get(f"{path}/release?epsilon=1&rows=300")
    own = {name: field(shown, name) for name in ("key", "planned")}
    wider = schema.to_yaml().replace("maximum: 90", "maximum: 120")
    page.post(f"{path}/rules", yaml=wider, then="stay")
    assert "look at the new one" in page.post(f"{path}/runs", 422, **own, epsilon="1", rows="300")
    page.post(f"{path}/rules", yaml=schema.to_yaml(), then="stay")
    page.post(f"{path}/ledger", ledger=str(table.with_name("other.json")))
    assert "look at the new one" in page.post(f"{path}/runs", 422, **own, epsilon="1", rows="300")
    assert not work.runs and not ReleaseLedger.open(work.ledger).releases


def test_forms_that_arrive_together_start_one_run(
    page: Page, table: Path, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    page.begun(table, schema)
    begun: list[Run] = []

    def slowly(run: Run) -> None:
        time.sleep(0.05)
        begun.append(run)

    monkeypatch.setattr(Run, "begin", slowly)
    work = page.work()
    with ThreadPoolExecutor(8) as threads:
        settings = Settings(rows=300)
        runs = list(threads.map(lambda _: work.start(work.key, work.planned, settings), range(8)))
    assert len(begun) == 1 and set(map(id, runs)) == {id(begun[0])}


def test_a_table_of_which_only_kinds_are_known_is_measured(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "kinds.csv"
    table.write_text("age;place\n" + "".join(f"{i % 50};{'NS'[i % 2]}\n" for i in range(300)))
    page.post("/tables", path=str(table))
    path, work = f"/t/{page.work().id}", page.work()
    page.post(f"{path}/people", how="names", person="", max_rows="1")
    page.post(f"{path}/schema", **typed(page, path, **{"kind.0": "integer"}))
    page.post(f"{path}/ledger", ledger=str(tmp_path / "ledger.json"))
    run = page.run(path)
    assert run.state == "done", run.error
    drawn = pd.read_parquet(run.files["kinds-synthetic.parquet"])
    assert set(drawn) == {"age", "place"} and drawn["age"].between(-64, 128).all()
    assert "--domain measured" in page.get(f"{path}/runs/1")
    assert work.schema["age"].provenance == "private"


def test_a_run_above_the_cap_is_refused(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    run = page.run(path, epsilon="4")
    assert run.state == "failed" and "above the cap" in run.error
    assert "nothing was spent" in page.get(f"{path}/runs/1")
    assert not list(run.folder.glob("*.csv"))
    page.post(f"{path}/another", key=run.job.key)
    again = page.get(f"{path}/release")  # with the settings of the last one
    assert "That is above the cap" in again and 'id="run-button"' not in again
    again = page.get(f"{path}/release?epsilon=2")
    assert "above the cap" not in again and 'id="run-button"' in again


def test_a_refused_table_gives_back_what_was_reserved(
    page: Page, table: Path, schema: Schema
) -> None:
    rows = pd.read_csv(table)
    rows.loc[0, "age"] = 4711
    rows.to_csv(table, index=False)
    path = page.begun(table, schema)
    run = page.run(path)
    shown = page.get(f"{path}/runs/1")
    assert run.state == "failed" and "given back" in shown
    assert "&#39;age&#39;" in shown and "4711" not in shown


def test_a_stopped_run_says_what_was_spent(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    own = {"key": page.work().key, "planned": page.work().planned}
    page.post(f"{path}/runs", **own, epsilon="2", rows="300")
    page.post(f"{path}/runs/1/stop")
    run = page.work().runs[0]
    finish(lambda: not run.is_busy)
    assert run.state == "stopped"
    shown = page.get(f"{path}/runs/1")
    states = [r.state for r in ReleaseLedger.open(table.with_name("ledger.json")).releases]
    wanted = {"": "Nothing was reserved", "given back": "given back", "begun": "counts in"}
    assert wanted[states[0] if states else ""] in shown


def test_nothing_of_the_rows_is_shown_before_a_release(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "secret.csv"
    table.write_text("age,place\n" + "87.25,Xanadu\n12.5,Avalon\n" * 30)
    page.post("/tables", path=str(table))
    path = f"/t/{page.work().id}"
    shown = page.get(f"{path}/people")
    page.post(f"{path}/people", how="names", person="", max_rows="1")
    for step in ("schema", "rules", "release", "release?rows=60"):
        shown += page.get(f"{path}/{step}")
    assert "place" in shown
    assert not [text for text in ("Xanadu", "Avalon", "87.25", "12.5") if text in shown]
    assert "Nothing would be proved" not in shown  # kinds are said, the rest is measured


def test_an_upload_is_deleted_at_the_end(page: Page, table: Path) -> None:
    files = {"file": ("../../jobs.csv", table.read_bytes())}
    page.post("/tables", files=files, path="")
    work = page.work()
    assert (
        work.data.parent == work.folder / "upload" and work.data.read_bytes() == table.read_bytes()
    )
    assert work.folder.stat().st_mode & 0o077 == 0
    page.post(f"/t/{work.id}/end")
    assert not work.folder.exists() and not page.desk.works
    page.get(f"/t/{work.id}/people", 404)


def test_a_wrong_table_is_one_error(page: Page, tmp_path: Path) -> None:
    assert "does not exist" in page.post("/tables", 422, path=str(tmp_path / "no.csv"))
    assert "is a folder; name one of its files" in page.post("/tables", 422, path=str(tmp_path))
    assert "one of the two" in page.post("/tables", 422, path="")
    hidden = {"file": (".csv", b"a\n1\n")}
    assert "ordinary" in page.post("/tables", 422, files=hidden, path="")
    assert not page.desk.works and not list(page.desk.folder.glob("*/"))


def stays(path: Path) -> Path:
    """Rows with an identifier, texts of their own, a person's two rows, and gaps."""
    rows = [
        f"P{i // 2:05d},{i % 70 + 20},{'FM'[i % 2]},{'' if i % 9 == 0 else i * 1.5},note no {i}"
        for i in range(300)
    ]
    path.write_text("\n".join(["patient,age,sex,cost,remarks", *rows]) + "\n")
    return path


def typed(page: Page, path: str, **changed: str) -> dict[str, str]:
    """What the form of a schema sends, with what is typed into it."""
    work, form = page.work(), {}
    for number, row in enumerate(rows_of(work.schema, work.names)):
        for name in ("name", "kind", "categories", "provenance", *TEXTS):
            form[f"{name}.{number}"] = getattr(row, name)
        form |= {f"missing.{number}": "yes"} if row.missing else {}
        form |= {f"per.{number}": "yes"} if row.per else {}
    assert f'name="{"kind.1"}"' in page.get(f"{path}/schema")
    return form | changed


def test_a_drafted_table_is_declared_and_released(page: Page, tmp_path: Path) -> None:
    table = stays(tmp_path / "stays.csv")
    page.post("/tables", path=str(table))
    path, work = f"/t/{page.work().id}", page.work()
    page.post(f"{path}/people", how="draft", person="patient", max_rows="2")
    assert page.at == f"{path}/schema"
    assert work.schema.person == "patient" and work.schema.max_rows == 2
    assert {left.name for left in work.schema.left_out} >= {"remarks"}
    assert "Nothing would be proved" in page.get(f"{path}/release")
    wrong = typed(page, path, **{"minimum.1": "99"})
    shown = page.post(f"{path}/schema", 422, **wrong)
    assert "must not exceed maximum" in shown and 'value="99"' in shown
    assert work.schema["age"].minimum == 20
    assert "where it is known from" in page.post(
        f"{path}/schema", 422, **typed(page, path), declare="all"
    )
    page.post(f"{path}/schema", **typed(page, path), declare="1", known_from="p. 4")
    assert work.schema["age"].provenance == "declared" and work.schema["age"].source == "p. 4"
    assert work.schema["cost"].provenance == "drafted"
    wide = {"minimum.1": "0", "maximum.1": "120", "maximum.3": "1000", "minimum.3": "0"}
    page.post(f"{path}/schema", **typed(page, path, **wide), declare="all", known_from="codebook")
    assert (work.schema["age"].minimum, work.schema["age"].maximum) == (0, 120)
    assert not work.schema.drafted and work.schema["cost"].missing
    shown = page.get(f"{path}/release?rows=300")
    assert not work.settings.generator(work.schema).unproved(work.schema)
    assert "Nothing would be proved" not in shown and "For a person" in shown
    page.post(f"{path}/ledger", ledger=str(tmp_path / "ledger.json"))
    run = page.run(path)
    assert run.state == "done", run.error
    assert set(pd.read_parquet(run.files["stays-synthetic.parquet"])) == {"age", "sex", "cost"}
    assert ReleaseLedger.open(tmp_path / "ledger.json").unit == "person"


def test_the_whole_schema_can_be_written_as_yaml(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    faulty = schema.to_yaml().replace("kind: boolean", "kind: truth")
    shown = page.post(f"{path}/rules", 422, yaml=faulty, then="stay")
    assert "line " in shown and "truth" in shown and page.work().schema == schema
    ruled = schema.to_yaml() + "rules:\n- {when: {job: law}, then: {age: 20..}}\n"
    page.post(f"{path}/rules", yaml=ruled, then="stay")
    assert page.at == f"{path}/rules" and len(page.work().schema.rules) == 1
    page.post(f"{path}/rules", yaml=schema.to_yaml(), then="stay")
    assert not page.work().schema.rules


def test_rules_are_added_suggested_confirmed_and_removed(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "visits.csv"
    rows = "".join(f"{i % 50},{i % 50 + i % 7},{'no' if i % 3 else 'yes'}\n" for i in range(400))
    table.write_text(f"start,stop,died\n{rows}")
    page.post("/tables", path=str(table))
    path, work = f"/t/{page.work().id}", page.work()
    page.post(f"{path}/people", how="draft", person="", max_rows="1")
    page.post(f"{path}/schema", **typed(page, path), declare="all", known_from="codebook")
    order = {"rule": "order", "order.one": "start", "order.other": "stop"}
    page.post(f"{path}/rule", **order, known_from="p. 7")
    assert str(work.schema.rules[0]) == "start <= stop" and work.schema.rules[0].source == "p. 7"
    when = {"rule": "when", "when.one": "died", "when.other": "stop", "when.then": "..40"}
    shown = page.post(f"{path}/rule", 422, **when, **{"when.text": "perhaps"})
    assert "perhaps" in shown and 'value="perhaps"' in shown and "<details open>" in shown
    page.post(f"{path}/rule", **when, **{"when.text": "yes"})
    assert work.schema.rules[1].entry() == {"when": {"died": "yes"}, "then": {"stop": "..40"}}
    computed = {"rule": "computed", "computed.one": "stop"}
    page.post(f"{path}/rule", 422, **computed, **{"computed.text": "start + shoe"})
    page.post(f"{path}/rule", remove="0")
    page.post(f"{path}/rule", remove="0")
    assert not work.schema.rules
    page.post(f"{path}/rule", 422, remove="", rule="other")
    shown = page.post(f"{path}/rules", then="suggest")
    assert "read off the rows" in shown and "start" in str(work.schema.rules[0])
    waiting = page.get(f"{path}/release?rows=400")
    assert "Nothing would be proved yet" in waiting and f'href="{path}/rules"' in waiting
    assert "where they are known from" in page.post(f"{path}/rule", 422, then="known")
    page.post(f"{path}/rule", then="known", known_from="codebook")
    assert {rule.provenance for rule in work.schema.rules} == {"declared"}


def test_a_check_says_what_the_schema_forbids(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    assert "Every row fits" in page.post(f"{path}/rules", then="check")
    rows = pd.read_csv(table).astype({"age": object})
    rows.loc[[3, 7], "age"] = ["x", 4711]
    rows.to_csv(table, index=False)
    shown = page.post(f"{path}/rules", then="check")
    assert "not for publication" in shown and ">5<" in shown and ">9<" in shown
    assert "4711" not in shown and not page.work().runs
    table.unlink()
    assert "does not exist" in page.post(f"{path}/rules", 422, then="check")


def test_how_many_rows_a_person_has_is_never_lost(page: Page, table: Path) -> None:
    page.post("/tables", path=str(table))
    path, work = f"/t/{page.work().id}", page.work()
    for most in ("", "five"):  # what was chosen stays, so that the next click does not drop people
        shown = page.post(f"{path}/people", 422, how="names", person="job", max_rows=most)
        assert '<option value="job" selected>' in shown and f'value="{most}"' in shown
        assert re.search(r'value="names" id="names" checked', shown)
    shown = page.post(f"{path}/people", 422, how="names", person="", max_rows="5")
    assert "need the column that names the person" in shown and work.schema is None
    page.post(f"{path}/people", how="names", person="job", max_rows="5")
    kinds = typed(page, path) | {"kind.0": "integer"}
    page.post(f"{path}/schema", **kinds | {"max_rows": "8"})  # the rest of the schema stays
    assert (work.schema.max_rows, work.max_rows, work.schema["age"].kind) == (8, 8, "integer")
    shown = page.post(f"{path}/schema", 422, **kinds | {"max_rows": "x"})
    assert "rows of a person" in shown and work.schema.max_rows == 8
    page.post(f"{path}/schema", **typed(page, path), **{"per.0": "yes"})
    assert work.schema.constants == ("age",)
    assert re.search(r'name="per.0" value="yes" checked', page.get(f"{path}/schema"))
    page.post(f"{path}/schema", **{k: v for k, v in typed(page, path).items() if k != "per.0"})
    assert work.schema.constants == ()


def test_the_page_speaks_of_what_it_offers(page: Page, tmp_path: Path) -> None:
    """No options of the command line, and what one has chosen stays where it was."""
    table = stays(tmp_path / "stays.csv")
    page.post("/tables", path=str(table))
    path, work = f"/t/{page.work().id}", page.work()
    told = page.post(f"{path}/people", how="draft", person="", max_rows="")
    assert "choose it as the column that names the person" in told
    told += page.post(f"{path}/people", how="draft", person="patient", max_rows="1")
    page.post(f"{path}/schema", **typed(page, path), declare="all", known_from="handbook")
    told += page.post(f"{path}/rules", then="check")
    assert "a person has more rows than the stated most (1)" in html.unescape(told)
    page.post(f"{path}/ledger", ledger=str(tmp_path / "ledger.json"))
    run = page.run(path)
    assert run.state == "failed"
    failed = page.get(f"{path}/runs/1")
    assert "“take the nearest that it allows” at the release" in html.unescape(failed)
    told += failed + page.get(f"{path}/release?rows=300&epsilon=1")
    assert "made no table" in told and "nothing was spent" in told
    for word in ("--", "max_rows (", "on_unknown=", "histogram method"):
        assert word not in re.sub(r"<[^>]*>", "", html.unescape(told)), word
    assert work.schema.max_rows == 1


def test_settings_stay_where_made_up_rows_cannot_be_drawn(
    page: Page, table: Path, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = page.begun(table, schema)

    def none_left(*_: object) -> None:
        raise BudgetError("rules leave fewer than 2% of the rows")

    monkeypatch.setattr("copula_shirley.PrivateVine.preview", none_left)
    shown = page.get(f"{path}/preview?epsilon=0.7&delta=1e-9&rows=4321", 422)
    assert 'value="4321"' in shown and 'value="0.7"' in shown and "What to expect" in shown


def test_bounds_and_formats_are_typed(page: Page, tmp_path: Path) -> None:
    table = tmp_path / "days.csv"
    table.write_text("day;cost\n" + "01.02.2023;1,5\n2023-03-04;2,5\n" * 20)
    page.post("/tables", path=str(table))
    path, work = f"/t/{page.work().id}", page.work()
    assert "how many rows each" in page.post(f"{path}/people", 422, how="names", person="day")
    page.post(f"{path}/people", how="names", person="", max_rows="")
    day = {"kind.0": "datetime", "format.0": "%d.%m.%Y", "provenance.0": "declared"}
    day |= {"minimum.0": "01.01.2023", "maximum.0": "31.12.2023", "source.0": "handbook"}
    page.post(f"{path}/schema", **typed(page, path) | day)
    found = work.schema["day"]
    assert (found.format, found.to_dict()["maximum"]) == ("%d.%m.%Y", "2023-12-31")
    cost = {"kind.1": "continuous", "minimum.1": "0", "maximum.1": "9", "resolution.1": "0.5"}
    page.post(f"{path}/schema", **typed(page, path) | cost)
    assert work.schema["cost"].resolution == 0.5 and work.schema["day"].format == "%d.%m.%Y"
    place = {"kind.1": "place", "minimum.1": "48.8, 2.2", "maximum.1": "48.9, 2.4"}
    page.post(f"{path}/schema", **typed(page, path) | place | {"resolution.1": "2km"})
    assert work.schema["cost"].kind == "place"
    cost["maximum.1"] = "1.000,00"
    shown = page.post(f"{path}/schema", 422, **typed(page, path) | cost)
    assert "with a point before decimals" in shown and 'value="1.000,00"' in shown


def test_texts_of_a_table_are_no_html(page: Page, tmp_path: Path) -> None:
    """Names, categories, rules and notes of files run nothing and break nothing."""
    evil = "<script>alert('1')</script>\"><b x="
    rows = pd.DataFrame({evil: ["<img src=x onerror=alert(2)>", "=1+1"] * 150, "n": range(300)})
    rows[f"id {evil}"] = [f"{evil}{i}" for i in range(300)]
    rows.to_csv(tmp_path / "a'b&c.csv", index=False)
    page.post("/tables", path=str(tmp_path / "a'b&c.csv"))
    path, work = f"/t/{page.work().id}", page.work()
    shown = [page.get(f"{path}/people")]
    shown.append(page.post(f"{path}/people", how="draft", person="", max_rows="1"))
    page.post(f"{path}/schema", **typed(page, path), declare="all", known_from=evil)
    known = {"constraints": {"minimum": 0, "maximum": 300}}
    codebook = {"fields": [{"name": "n", "type": "integer", evil: 1, **known}], evil: 2}
    sent = [("import_files", ("x.json", json.dumps(codebook)))]
    shown.append(page.post(f"{path}/import", files=sent, known_from="x"))
    when = {"rule": "when", "when.one": evil, "when.text": "=1+1"}
    shown.append(page.post(f"{path}/rule", **when, **{"when.other": "n", "when.then": "0.."}))
    shown += [page.get(f"{path}/{step}?rows=300") for step in ("release", "preview", "schema")]
    shown.append(page.post(f"{path}/rules", 422, yaml=evil, then="stay"))
    page.post(f"{path}/ledger", ledger=str(tmp_path / "l.json"))
    run = page.run(path, accept_poor="yes")
    assert run.state == "done", run.error
    shown += [page.get(f"{path}/runs/1"), page.post(f"{path}/runs/1/compare"), page.get("/")]
    assert work.notes and work.imported and len(work.schema.rules) == 1
    for text in shown:
        assert not re.search(r"<script>|<b x|<img|onerror=[^&]*>", text)
    cards = [name for name in run.files if name.endswith(".html")]
    for name in cards:
        answer = page.client.get(f"{path}/runs/1/files/{quote(name)}?show=1")
        assert "<script>" not in answer.text and evil not in answer.text


def test_a_run_takes_no_module_from_the_folder_of_the_rows(
    page: Page, table: Path, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``python -m`` looks in the current folder first, where anybody may have put one."""
    monkeypatch.chdir(table.parent)
    (table.parent / "numpy.py").write_text("raise SystemExit(7)", encoding="utf-8")
    run = page.run(page.begun(table, schema))
    assert run.state == "done", run.error


def test_the_most_rows_that_a_draft_counted_stay_marked_whoever_states_them() -> None:
    rows = pd.DataFrame({"who": ["a", "a", "b", "c"] * 40, "x": [1, 2, 3, 4] * 40})
    drafted = Schema.draft(rows, person="who")
    same, more = (with_people(drafted, "who", n) for n in (drafted.max_rows, 99))
    assert same.person_provenance == more.person_provenance == "declared"
    assert (same.person_draft, more.person_draft) == (drafted.max_rows, None)  # the card tells it
