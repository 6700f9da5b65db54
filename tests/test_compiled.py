"""What was compiled is what tables and rules give, and no file but our own is believed."""

from __future__ import annotations

import os
from dataclasses import fields, replace
from pathlib import Path

import pytest

from builder.core.errors import ResourceError
from builder.language.lexicon import folders as compiled
from builder.language.lexicon.folders import Folders
from builder.language.lexicon.resources import Lexicon, load_lexicon
from builder.language.lexicon.rules import load_rules

OWN = "word\tclass\n噗丸\tfood.dish\n"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(compiled.FOLDER, str(tmp_path / "cache"))
    return tmp_path / "cache"


def values(lexicon: Lexicon) -> dict[str, object]:
    """All that a lexicon says, mappings with the order of their words."""
    out: dict[str, object] = {"words": list(lexicon.words().items()), "variants": list(lexicon.variants.table.items())}
    for field in fields(lexicon):
        value = getattr(lexicon, field.name)
        if field.name not in ("variants", "_words"):
            out[field.name] = list(value.items()) if hasattr(value, "items") else value
    return out


def own_folder(at: Path) -> Folders:
    (at / "aspects").mkdir(parents=True)
    (at / "aspects" / "mine.tsv").write_text(OWN, encoding="utf-8")
    return Folders(overlays=(at,))


@pytest.mark.parametrize("domain", ["restaurant", "laptop", "none"])
def test_a_compiled_lexicon_is_what_its_tables_give(domain: str, cache: Path) -> None:
    fresh = load_lexicon(domain=domain)
    first, again = Folders(domain=domain).load_lexicon(), Folders(domain=domain).load_lexicon()
    assert len(list(cache.iterdir())) == 1
    assert values(first) == values(again) == values(fresh)
    assert again._words is not None and fresh._words is None
    assert again.variants.canonical("裡面") == fresh.variants.canonical("裡面")


@pytest.mark.parametrize("domain", ["restaurant", "hotels", "none"])
def test_compiled_rules_are_what_their_files_give(domain: str, cache: Path) -> None:
    fresh = load_rules(domain=domain)
    first, again = Folders(domain=domain).load_rules(), Folders(domain=domain).load_rules()
    assert len(list(cache.iterdir())) == 1
    assert first == again == fresh
    for kept, rule in zip(again, fresh, strict=True):
        assert kept.written == rule.written and kept.lines == rule.lines and list(kept.params) == list(rule.params)


def test_rules_are_read_anew_where_a_file_or_a_word_of_theirs_changes(tmp_path: Path, cache: Path) -> None:
    rules, words = tmp_path / "rules", tmp_path / "own"
    rules.mkdir()
    (words / "words").mkdir(parents=True)
    (words / "word_classes.tsv").write_text("class\tabout\nvessel\t器皿\n", encoding="utf-8")
    (words / "words" / "vessels.tsv").write_text("word\tclass\n盤子\tvessel\n", encoding="utf-8")
    text = '[vessels]\nkind = "words"\norder = 1\nabout = "Vessels."\n[vessels.words]\nVESSEL = ["<vessel>"]\n'
    (rules / "mine.toml").write_text(text, encoding="utf-8")
    folders = Folders(overlays=(words,), added_rules=(rules,))

    def vessels() -> object:
        rule = next(rule for rule in folders.load_rules() if rule.name == "vessels")
        return rule.order, rule.params["words"], rule.written["words"]

    assert vessels() == vessels() == (1, {"VESSEL": ["盤子"]}, {"VESSEL": ["<vessel>"]})
    (words / "words" / "vessels.tsv").write_text("word\tclass\n碗公\tvessel\n", encoding="utf-8")
    (rules / "mine.toml").write_text(text.replace("order = 1", "order = 2"), encoding="utf-8")
    assert vessels() == (2, {"VESSEL": ["碗公"]}, {"VESSEL": ["<vessel>"]})
    assert len(list(cache.iterdir())) == 2


def test_a_table_that_changes_makes_another_lexicon(tmp_path: Path, cache: Path) -> None:
    folders = own_folder(tmp_path / "own")
    assert "噗丸" in folders.load_lexicon().aspects
    (tmp_path / "own" / "aspects" / "mine.tsv").write_text(OWN.replace("噗丸", "噗湯"), encoding="utf-8")
    changed = folders.load_lexicon()
    assert "噗湯" in changed.aspects and "噗丸" not in changed.words()
    assert len(list(cache.iterdir())) == 2


def test_a_broken_table_is_named_as_ever_and_nothing_is_kept(tmp_path: Path, cache: Path) -> None:
    folders = own_folder(tmp_path / "own")
    (tmp_path / "own" / "aspects" / "mine.tsv").write_text("word\tclass\n噗丸\n", encoding="utf-8")
    with pytest.raises(ResourceError, match=r"mine\.tsv:2"):
        folders.load_lexicon()
    assert not cache.exists()


@pytest.mark.parametrize("spoil", ["cut", "changed", "empty", "other json", "open to all", "a folder"])
def test_a_file_that_cannot_be_believed_is_as_if_it_were_not_there(spoil: str, cache: Path, tmp_path: Path) -> None:
    folders = own_folder(tmp_path / "own")
    before = values(folders.load_lexicon())
    (path,) = cache.iterdir()
    content = path.read_bytes()
    if spoil == "open to all":
        path.write_bytes(content.replace("噗丸".encode(), "噗湯".encode()))
        path.chmod(0o666)
    elif spoil == "a folder":
        path.unlink()
        path.mkdir()
    else:
        other = b"4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945\n[]"
        wrong = {"cut": content[:-9], "changed": content.replace("噗丸".encode(), "噗湯".encode()), "empty": b""}
        path.write_bytes(wrong.get(spoil, other))
    assert values(folders.load_lexicon()) == before
    if spoil != "a folder":
        assert path.read_bytes() == content
        assert not path.stat().st_mode & 0o002


def test_a_file_of_another_user_is_not_believed(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = own_folder(tmp_path / "own")
    folders.load_lexicon()
    assert folders.load_lexicon()._words is not None
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    assert folders.load_lexicon()._words is None


def test_nothing_is_kept_where_nobody_wants_it_or_can_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(compiled.FOLDER, "")
    folders = own_folder(tmp_path / "own")
    assert compiled.cache_folder() is None
    assert folders.load_lexicon()._words is None
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv(compiled.FOLDER, str(tmp_path / "file"))
    assert "噗丸" in folders.load_lexicon().aspects
    monkeypatch.delenv(compiled.FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert compiled.cache_folder() == tmp_path / "caches" / "review-triplets"


def test_six_lexicons_are_kept_those_used_last(cache: Path) -> None:
    packed = compiled.pack_lexicon(load_lexicon(domain="none"))
    for number in range(8):
        compiled.keep_compiled(f"lexicon-{number:016x}", packed)
        os.utime(cache / f"lexicon-{number:016x}.json", (number, number))
    assert sorted(path.name[-6] for path in cache.iterdir()) == list("234567")


def test_a_lexicon_that_is_made_of_another_gives_words_of_its_own() -> None:
    Folders(domain="none").load_lexicon()
    kept = Folders(domain="none").load_lexicon()
    assert kept._words is not None
    without = replace(kept, aspects={}, not_aspects={}, general={})
    assert without._words is None
    assert len(without.words()) < len(kept.words())
