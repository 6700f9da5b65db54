"""Back-translation: two models of the user, one for each direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import tiny_hub

from builder.augment.constraints import broken, english_cues, make_trial
from builder.augment.methods.back_translation import BackTranslation
from builder.augment.records import applied
from builder.augment.settings import make_method, make_settings
from builder.core.errors import ConfigError, ModelError


@dataclass(frozen=True)
class Words:
    """Translates word by word; each further way ends with one more mark."""

    words: dict[str, str]
    digest: str = "words"

    def translate(self, texts: Sequence[str], beams: int, ways: int) -> list[list[str]]:
        return [
            [" ".join(self.words.get(word, word) for word in text.split()) + "!" * n for n in range(ways)]
            for text in texts
        ]


def test_labelled_words_that_come_back_are_left_alone_and_others_are_seen() -> None:
    (first, *_) = tiny_hub.english(opinions=False)
    there = Words({"soup": "Suppe", "really": "wirklich", "was": "war"})
    same = BackTranslation(there, Words({"Suppe": "soup", "war": "was", "wirklich": "truly"}), 4)
    made = next(iter(same.propose([first], 2, 1)))
    assert [applied(first.text, one.edits) for one in made] == [
        "The soup was truly good, and we will come back." + "!" * n for n in range(2)
    ]
    assert [broken(make_trial(first, one, english_cues()), label_safe=False) for one in made] == [None, None]
    other = BackTranslation(there, Words({"Suppe": "broth", "war": "was", "wirklich": "really"}), 4)
    (lost, *_) = next(iter(other.propose([first], 1, 1)))
    assert broken(make_trial(first, lost, english_cues()), label_safe=False) == "label-touched"
    unchanged = BackTranslation(Words({}), Words({}), 1)
    assert list(unchanged.propose([first], 1, 1)) == [()], "what comes back as it was is no candidate"


def test_models_of_a_folder_translate_whatever_the_batches(tmp_path: Path) -> None:
    tiny_hub.save(tmp_path / "m", "bart")
    own = {"back_translation.there": str(tmp_path / "m"), "back_translation.back": str(tmp_path / "m"), "threads": 1}
    method = make_method("back-translation", make_settings(own))
    sentences = tiny_hub.english(opinions=False, labels=True)
    together = list(method.propose(sentences, 2, 1))
    assert [next(iter(method.propose([one], 2, 1))) for one in sentences] == together
    assert any(together) and all(len(row) <= 2 for row in together)
    assert (
        method.signature
        != make_method("back-translation", make_settings(own | {"back_translation.beams": 2})).signature
    )


def test_a_model_that_is_not_named_or_does_not_translate_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"back_translation.there: no model translates"):
        make_method("back-translation", make_settings({}))
    tiny_hub.save(tmp_path / "bert", "bert")
    own = {f"back_translation.{name}": str(tmp_path / "bert") for name in ("there", "back")}
    with pytest.raises(ModelError):
        make_method("back-translation", make_settings(own))
