"""Classes of words that rules share: `<guest>` in a list of a rule stands for the words of that class.

In: folders of lexicons, whose `word_classes.tsv` and `words/*.tsv` name classes and their words; rules as their files
have them. Out: the rules with the words in place of the names. Pure but for reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from builder.core.errors import ResourceError, did_you_mean
from builder.language.lexicon.tsv_rows import read_rows, table_files

Classes = Mapping[str, tuple[str, ...]]
"""Class -> its words, as lists of rules write them: words, classes of aspects (`@staff`), endings (`…味`)."""
_NAME = re.compile(r"<([a-z][a-z0-9-]*)>")
_TAKES = re.compile(r"-(.+)")


def load_word_classes(folders: Sequence[Path]) -> Classes:
    """The classes of folders of lexicons. What a folder says of a class of those before it is added to its words.

    ResourceError with file:line on a word of a class that no table names, or one that stands twice in a folder.
    """
    classes: dict[str, dict[str, None]] = {}
    for folder in folders:
        seen: dict[tuple[str, str], str] = {}
        for path in table_files(folder, "word_classes"):
            for (name, _), where in read_rows(path, 2):
                if not _NAME.fullmatch(f"<{name}>"):
                    fix = "use small letters, digits and -"
                    raise ResourceError(f"{name!r} cannot name a class of words", where=where, fix=fix)
                classes.setdefault(name, {})
        for path in sorted((folder / "words").glob("*.tsv")):
            for (word, name), where in read_rows(path, 2):
                if name not in classes:
                    fix = f"{did_you_mean(name, classes)}correct it, or add it to {folder / 'word_classes.tsv'}"
                    raise ResourceError(f"{name!r} is in no word_classes.tsv", where=f"{folder}/{where}", fix=fix)
                if first := seen.get((word, name)):
                    fix = f"keep this row or {folder}/{first}"
                    raise ResourceError(f"{word!r} is in {name} already", where=f"{folder}/{where}", fix=fix)
                seen[word, name] = where
                classes[name][word] = None
    return MappingProxyType({name: tuple(words) for name, words in classes.items()})


def name_words(
    params: Mapping[str, object], classes: Classes, rule: str, at: Callable[[str], str]
) -> Mapping[str, object]:
    """The parameters of a rule as its file has them, with the words of classes in place of their names.

    ResourceError names `rule` and where (`at`) it names a class that is not there, or takes away a word where there is
    none.
    """
    return MappingProxyType({key: _expand(value, classes, rule, at(key)) for key, value in params.items()})


def list_classes(params: Mapping[str, object]) -> tuple[str, ...]:
    """The names of the classes that the parameters of a rule name as its file has them, each once."""
    tables = [cells for cells in params.values() if isinstance(cells, Mapping)]
    lists = [*params.values(), *(cell for cells in tables for cell in cells.values())]
    items = (item for cell in lists if isinstance(cell, list) for item in cell if isinstance(item, str))
    return tuple(dict.fromkeys(name[1] for item in items if (name := _NAME.fullmatch(item))))


def _expand(value: object, classes: Classes, rule: str, where: str) -> object:
    """A list with the words of its classes, in the order of the list, less what `-word` takes away; a table of lists
    so too. A list that names no class is as it was.
    """
    if isinstance(value, Mapping):
        return {name: _expand(cell, classes, rule, where) for name, cell in value.items()}
    if not isinstance(value, list) or not any(isinstance(item, str) and _NAME.fullmatch(item) for item in value):
        return value
    words: dict[object, None] = {}
    for item in value:
        if name := _NAME.fullmatch(str(item)):
            if name[1] not in classes:
                fix = f"{did_you_mean(name[1], classes)}correct it, or add it to word_classes.tsv of a lexicon"
                raise ResourceError(f"rule {rule!r}: no class of words is {item}", where=where, fix=fix)
            words |= dict.fromkeys(classes[name[1]])
        elif taken := _TAKES.fullmatch(str(item)):
            if taken[1] not in words:
                message = f"rule {rule!r}: {item!r} takes away a word that does not stand before it"
                raise ResourceError(message, where=where, fix="write it behind a class that has the word")
            del words[taken[1]]
        else:
            words[item] = None
    return list(words)
