"""A config is defaults, then one file, then options; every value knows its origin, every mistake its place."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from builder.core.config import GONE, Resolved, filled, flat, resolve
from builder.core.errors import ConfigError
from builder.core.limits import Limits, at_least, from_0_to_1
from builder.core.settings import Config, SelfTrain
from builder.pipeline import builds
from builder.store import db, runs

WHOLE = """\
seed = 7
workers = 1

[input]
text_column = "評論"

[ingest]
max_chars = 500
test_share = 0

[rules]
convention = "paper"

[self_train]
variants = ["A", "C"]
"""


def resolved(folder: Path, text: str, **options: object) -> Resolved:
    path = folder / "build.toml"
    path.write_text(text, encoding="utf-8")
    return resolve(path, options)


def refused(folder: Path, text: str) -> str:
    """The message of the error, with the file's path shortened to its name."""
    with pytest.raises(ConfigError) as caught:
        resolved(folder, text)
    return str(caught.value).replace(str(folder) + "/", "")


def test_without_a_file_every_value_is_the_default_and_says_so() -> None:
    found = resolve()
    assert found.config == Config()
    assert set(found.origin) == set(flat(Config()))
    assert set(found.origin.values()) == {"default"}


def test_a_file_changes_what_it_names_and_nothing_else(tmp_path: Path) -> None:
    found = resolved(tmp_path, WHOLE)
    changed = {key: value for key, value in flat(found.config).items() if value != flat(Config())[key]}
    assert changed == {
        "seed": 7, "workers": 1, "input.text_column": "評論", "ingest.max_chars": 500, "ingest.test_share": 0.0,
        "rules.convention": "paper", "self_train.variants": ["A", "C"],
    }  # fmt: skip
    assert {key for key, origin in found.origin.items() if origin == str(tmp_path / "build.toml")} == set(changed)
    assert isinstance(found.config.ingest.test_share, float), "a whole number where a fraction is due"


def test_an_option_wins_over_the_file(tmp_path: Path) -> None:
    found = resolve(None, {"seed": 3})
    assert (found.config.seed, found.origin["seed"]) == (3, "option")
    found = resolved(tmp_path, WHOLE, **{"seed": 3, "self_train.variants": ("D",)})
    assert (found.config.seed, found.origin["seed"]) == (3, "option")
    assert found.config.self_train.variants == ("D",)
    assert found.config.workers == 1


def test_the_printed_settings_name_each_value_with_its_origin(tmp_path: Path) -> None:
    lines = resolved(tmp_path, WHOLE, workers=2).toml().splitlines()
    assert sum(" = " in line for line in lines) == len(flat(Config()))
    assert 'backend = "embedded"  # default' in lines
    assert f"seed = 7  # {tmp_path / 'build.toml'}" in lines
    assert "workers = 2  # option" in lines
    assert f'variants = ["A", "C"]  # {tmp_path / "build.toml"}' in lines


def test_flat_names_every_value_once_by_its_dotted_key() -> None:
    assert flat(SelfTrain(variants=("A",), iterations=1), "s.")["s.variants"] == ["A"]
    assert {key.partition(".")[0] for key in flat(Config())} == {spec.name for spec in dataclasses.fields(Config)}


def test_an_empty_file_or_an_empty_table_is_no_mistake(tmp_path: Path) -> None:
    assert resolved(tmp_path, "").config == Config()
    assert resolved(tmp_path, "[ingest]\n").config == Config()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sed = 7", "build.toml: unknown key 'sed'; did you mean 'seed'?"),
        (
            "[rules]\nconvnetion = 'paper'",
            "build.toml: unknown key 'rules.convnetion'; did you mean 'rules.convention'?",
        ),
        (
            "[rules]\nconvention = 'papr'",
            "build.toml: rules.convention = 'papr' is not one of 'natural', 'paper', 'described'",
        ),
        (
            "[release]\nname = '../other'",
            'build.toml: release.name = "../other" is not a name without slashes, and no dot first',
        ),
        ("seed = 'a'", "build.toml: seed = 'a' is no int"),
        ("seed = 1.5", "build.toml: seed = 1.5 is no int"),
        ("seed = true", "build.toml: seed = True is no int"),
        ("[ingest]\ntest_share = 'half'", "build.toml: ingest.test_share = 'half' is no float"),
        ("[ingest]\ntest_share = true", "build.toml: ingest.test_share = True is no float"),
        ("[input]\ntext_column = 3", "build.toml: input.text_column = 3 is no str"),
        ("[self_train]\nvariants = 'C'", "build.toml: self_train.variants = 'C' is no list of strings"),
        ("[self_train]\nvariants = [1]", "build.toml: self_train.variants = [1] is no list of strings"),
    ],
)
def test_a_wrong_key_or_value_names_file_key_and_what_is_due(tmp_path: Path, text: str, message: str) -> None:
    assert refused(tmp_path, text) == message


def test_an_unknown_key_that_is_like_none_lists_the_known_ones(tmp_path: Path) -> None:
    message = refused(tmp_path, "zzzzzz = 1")
    assert message.startswith("build.toml: unknown key 'zzzzzz'; known: ")
    assert all(key in message for key in flat(Config()))


def test_a_section_written_as_a_value_and_a_value_written_as_a_section_are_unknown(tmp_path: Path) -> None:
    assert "unknown key 'ingest'" in refused(tmp_path, "ingest = 3")
    assert "unknown key 'seed.value'" in refused(tmp_path, "[seed]\nvalue = 3")


def test_an_unknown_option_says_that_it_is_an_option() -> None:
    with pytest.raises(ConfigError, match=r"^option: unknown key 'relase.licence'; did you mean 'release.licence'\?$"):
        resolve(None, {"relase.licence": "MIT"})
    with pytest.raises(ConfigError, match=r"^option: unknown key 'relase'; did you mean 'release'\?$"):
        resolve(None, {"relase": {}})
    with pytest.raises(ConfigError, match=r"^option: unknown key 'annotate'; it is a section with annotate.backend, "):
        resolve(None, {"annotate": 3})


def test_a_file_that_cannot_be_read_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: no such config file$"):
        resolve(tmp_path / "none.toml")
    with pytest.raises(ConfigError, match=r"cannot be read as TOML: "):
        resolve(tmp_path)
    assert refused(tmp_path, "seed = = 1").startswith("build.toml: cannot be read as TOML: ")


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("CC-BY-4.0", "CC-BY-4.0"),
        ("cc-by-4.0", "CC-BY-4.0"),
        ("mit or apache-2.0", "MIT OR Apache-2.0"),
        ("LicenseRef-House", "LicenseRef-House"),
        ("", ""),
    ],
)
def test_a_licence_is_spelt_as_spdx_spells_it(written: str, canonical: str) -> None:
    assert resolve(options={"release.licence": written}).config.release.licence == canonical


@pytest.mark.parametrize("setting", ["release.licence", "release.licences"])
def test_a_licence_that_is_not_on_the_list_is_refused_with_one_that_is(setting: str) -> None:
    for name, fix in (
        ("CC-BY-4", "did you mean 'CC-BY-4.0'?"),
        ("cc by", "did you mean 'CC-BY-4.0'?"),
        ("gpl", "did you mean 'GPL-3.0'?"),
        ("mit licence", "did you mean 'MIT'?"),
        ("foo", "see https"),
        ("MIT AND", "did you mean 'MIT'?"),
    ):
        with pytest.raises(ConfigError, match=re.escape(f"'{name}' is no SPDX licence; {fix}")):
            resolve(options={setting: [f"survey={name}"] if setting.endswith("s") else name})


def test_sources_have_licences_of_their_own_once_each() -> None:
    assert resolve(options={"release.licences": ["web=cc0-1.0", "a=b=MIT"]}).config.release.licences == (
        "a=b=MIT",
        "web=CC0-1.0",
    )
    for pairs, message in (
        (["MIT"], "'MIT' is no SOURCE=LICENCE"),
        (["a=MIT", "a=MIT"], "the source 'a' has two licences"),
    ):
        with pytest.raises(ConfigError, match=message):
            resolve(options={"release.licences": pairs})


@dataclass(frozen=True)
class Oven:
    heat: float = 0.5
    racks: int = 2

    def limits(self) -> Limits:
        return {"heat": from_0_to_1(self.heat), "racks": at_least(1, self.racks)}


@dataclass(frozen=True)
class Kitchen:
    name: str = "back"
    oven: Oven = field(default_factory=Oven)

    def limits(self) -> Limits:
        return {"name": (self.name != "none" or not self.oven.racks, "a name")}


def test_every_dataclass_of_settings_declares_its_limits_and_one_check_holds_them() -> None:
    assert filled(Kitchen, {"oven.heat": 1}) == Kitchen(oven=Oven(1.0))
    with pytest.raises(ConfigError, match=r"^here: oven\.racks = 0 is not at least 1$"):
        filled(Kitchen, {"oven.racks": 0}, "here")
    with pytest.raises(ConfigError, match=r'^here: name = "none" is not a name$'):
        filled(Kitchen, {"name": "none"}, "here")


@pytest.mark.parametrize("key", GONE)
def test_a_setting_that_is_gone_says_what_to_do_and_old_working_directories_are_read(key: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"unknown key '{key}'; leave it out: ") as raised:
        resolve(options={key: 3})
    assert GONE[key] in str(raised.value)
    kept = {"inputs": [], "out": "releases", "config": flat(Config()) | {key: 3, "seed": 7}}
    with db.writing(tmp_path) as connection, db.atomic(connection):
        runs.set_setting(connection, "build", json.dumps(kept))
    assert builds.remembered(tmp_path).resolved.config == Config(seed=7)


def test_a_mode_that_is_gone_says_what_judges_now() -> None:
    with pytest.raises(ConfigError, match="'cross-fit' is not one of 'auto', 'paper'; leave it out: "):
        resolve(options={"discriminate.mode": "cross-fit"})
