"""Workbooks with the structure of XLSX and something wrong in it, or odd though allowed.

In: chance. Out: an .xlsx file. Sheets, cells, types, dates, formulas, shared strings, styles, relations and merged cells
are written by chance; then the XML or the archive may be broken.
"""

from __future__ import annotations

import io
import random
import zipfile
from collections.abc import Sequence
from pathlib import Path

from measure.fuzzing.case import Family
from measure.fuzzing.changes import change_bytes
from measure.fuzzing.reading import load_readers, prepare_nothing, use_file, write_case
from measure.fuzzing.reviews import PIECES

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KINDS = "application/vnd.openxmlformats-officedocument.spreadsheetml"
TYPES = ("s", "inlineStr", "str", "b", "e", "n", "d", "", "zzz", "S", "é")
VALUES = (
    "0", "1", "2", "-1", "99999", "1.5", "1e999", "-1e999", "NaN", "inf", "湯頭很濃", "", " ", "43831", "43831.99999999", "-1", "0.0", "60", "2958466", "1e300", "1e20", "2020-01-01", "2020-13-45T99:99:99Z",
    "T25:00", "true", "#REF!", "#DIV/0!", "9" * 400, "0x10", "1_0", "１", "1,5", "&#0;", "&#55356;", "&#x1F35C;", "&lt;", "&unknown;", "]]&gt;", "<![CDATA[湯]]>", "_x0000_", "_xD83C_", "_x005F_x000D_", "PT1H",
)  # fmt: skip
COLUMNS = ("A", "B", "C", "Z", "AA", "XFD", "XFE", "ZZZ", "ZZZZZZZZ", "", "a", "Ａ", "$A", "A$")
REFERENCES = ("A1:A2", "A1:XFD1048576", "B2:A1", "A1", "", "A:A", "1:1", "A0:B0", "#REF!", "A1:B2:C3", "Sheet!A1", "A1 B2", "ZZZZ1:ZZZZ2", "A-1:B5")  # fmt: skip
FORMATS = ("0", "yyyy-mm-dd", "[h]:mm:ss", "General", "@", "[$-404]e/m/d", "\\d", "[Red]", "'", "[", "hh", '"x"', "s.0")
_WHOLE = ("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml", "xl/_rels/workbook.xml.rels")


class Chance(random.Random):
    """Chance that knows how odd a file is to be."""

    rate = 0.0

    def odd(self, usual: str, others: Sequence[object]) -> str:
        """Mostly `usual`, else something odd."""
        return str(self.choice(others)) if self.random() < self.rate else usual


def make(base: Path, folder: Path, rng: random.Random) -> None:
    """A workbook, hardly odd or very; three in ten have broken XML, one in ten a broken archive."""
    chance = Chance(rng.random())
    chance.rate = chance.choice((0.0, 0.005, 0.02, 0.02, 0.1, 0.4))
    parts = _parts(chance)
    for _ in range(chance.choice((0, 0, 0, 0, 0, 1, 1, 3))):
        _change_part(parts, chance)
    content = _archive(parts, chance)
    if chance.random() < 0.08:
        content = change_bytes(content, chance)
    write_case(folder, "book.xlsx", content, chance)


def _parts(rng: Chance) -> dict[str, bytes]:
    """The files of a workbook."""
    sheets = int(rng.odd("1", (2, 3, 0, 40)))
    parts = {
        "[Content_Types].xml": _content_types(sheets),
        "_rels/.rels": _relations((("r1", "officeDocument", "xl/workbook.xml"),)),
        "xl/workbook.xml": _workbook(sheets, rng),
        "xl/_rels/workbook.xml.rels": _relations(_related(sheets, rng)),
        "xl/sharedStrings.xml": _strings(rng),
    }
    if rng.random() < 0.6:
        parts["xl/styles.xml"] = _styles(rng)
    for number in range(1, sheets + 1):
        parts[f"xl/worksheets/sheet{number}.xml"] = _sheet(rng)
    return {name: f'<?xml version="1.0" encoding="UTF-8"?>{text}'.encode() for name, text in parts.items()}


def _content_types(sheets: int) -> str:
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{number}.xml" ContentType="{_KINDS}.worksheet+xml"/>'
        for number in range(1, sheets + 1)
    )
    rels = "application/vnd.openxmlformats-package.relationships+xml"
    return (
        f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="{rels}"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_KINDS}.sheet.main+xml"/>{overrides}'
        f'<Override PartName="/xl/styles.xml" ContentType="{_KINDS}.styles+xml"/>'
        f'<Override PartName="/xl/sharedStrings.xml" ContentType="{_KINDS}.sharedStrings+xml"/></Types>'
    )


def _relations(related: tuple[tuple[str, str, str], ...]) -> str:
    rows = "".join(
        f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>' for name, kind, target in related
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{rows}</Relationships>'


def _related(sheets: int, rng: Chance) -> tuple[tuple[str, str, str], ...]:
    rows = [(f"s{number}", "worksheet", f"worksheets/sheet{number}.xml") for number in range(1, sheets + 1)]
    rows += [("t", "sharedStrings", "sharedStrings.xml"), ("y", "styles", "styles.xml")]
    if rng.random() < rng.rate:
        odd = ("/xl/workbook.xml", "../../../etc/passwd", "/etc/passwd", "http://127.0.0.1:9/x", 'file:///a" TargetMode="External', "", "worksheets/none.xml", "workbook.xml", "é.xml", "a" * 3_000)  # fmt: skip
        kind = rng.choice(("worksheet", "chartsheet", "externalLink", "pivotCacheDefinition", "vbaProject", "theme", "", "sharedStrings", "styles"))  # fmt: skip
        rows.insert(rng.randrange(len(rows) + 1), (rng.choice(("s1", "x", "")), kind, rng.choice(odd)))
    if rng.random() < rng.rate:
        del rows[rng.randrange(len(rows))]
    return tuple(rows)


def _workbook(sheets: int, rng: Chance) -> str:
    names = ("a", "a", "評論", "x" * 300, "'", "&amp;", "", "History", "[1]", "&#10;")
    states = ("", ' state="hidden"', ' state="veryHidden"', ' state="odd"')
    rows = "".join(
        f'<sheet name="{rng.odd(f"n{number}", names)}" sheetId="{rng.odd(str(number), (1, 0, -1, 99999999999))}" '
        f'r:id="{rng.odd(f"s{number}", ("zz", "t", "s1"))}"{rng.odd("", states)}/>'
        for number in range(1, sheets + 1)
    )
    more = (
        '<workbookPr date1904="1"/>', '<workbookPr date1904="x"/>', "<definedNames><definedName name='_xlnm.Print_Titles' localSheetId='0'>Sheet!$1:$1</definedName></definedNames>",
        "<definedNames><definedName name='a' localSheetId='99'>#REF!</definedName></definedNames>", "<definedNames><definedName name='_xlnm.Print_Area' localSheetId='0'>!!!</definedName></definedNames>",
        "<externalReferences><externalReference r:id='x'/></externalReferences>", "<pivotCaches><pivotCache cacheId='1' r:id='x'/></pivotCaches>", '<bookViews><workbookView activeTab="99"/></bookViews>',
        '<calcPr calcId="x"/>', "<fileVersion/>", "<workbookProtection lockStructure='maybe'/>", "<unknown/>",
    )  # fmt: skip
    front, behind = (rng.odd("", more) for _ in range(2))
    return f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}">{front}<sheets>{rows}</sheets>{behind}</workbook>'


def _strings(rng: Chance) -> str:
    kinds = ("<si><t>{}</t></si>", '<si><t xml:space="preserve">{} </t></si>', "<si><r><t>{}</t></r><r><rPr><b/></rPr><t>x</t></r></si>", "<si/>", "<si><t/></si>", "<si><t>{}</t><rPh sb='0' eb='9'><t>ㄊㄤ</t></rPh></si>", "<si>{}</si>", "<t>{}</t>")  # fmt: skip
    rows = "".join(rng.odd(kinds[0], kinds).format(_escaped(rng)) for _ in range(rng.choice((0, 1, 3, 9))))
    return f'<sst xmlns="{_MAIN}" count="{rng.odd("3", (0, 1, -1, "x", 999999999))}" uniqueCount="3">{rows}</sst>'


def _escaped(rng: Chance) -> str:
    if rng.random() < max(rng.rate, 0.02):
        return rng.choice(VALUES)
    text = "".join(rng.choices(PIECES, k=rng.randint(0, 4))).encode("utf-8", "replace").decode()
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return "".join(char for char in text if char >= " " or char in "\t\n\r")


def _styles(rng: Chance) -> str:
    own = rng.odd("0.00", FORMATS).replace('"', "&quot;")
    ids = [
        rng.odd(rng.choice(("0", "14", "22", "45", "47", "164")), (165, -1, 9999, "x"))
        for _ in range(rng.choice((0, 1, 4)))
    ]
    cells = "".join(f'<xf numFmtId="{i}" fontId="{rng.odd("0", (7, -1, "x"))}" fillId="0" borderId="0" xfId="0"/>' for i in ids)  # fmt: skip
    named = ("", "<cellStyle name='Normal' xfId='0' builtinId='0'/>", "<cellStyle name='a' xfId='9'/>")
    fonts = rng.odd('<fonts count="1"><font/></fonts>', ("<fonts><font><sz val='x'/></font></fonts>", "<fonts><font><color rgb='zz'/></font></fonts>", ""))  # fmt: skip
    return (
        f'<styleSheet xmlns="{_MAIN}"><numFmts><numFmt numFmtId="164" formatCode="{own}"/></numFmts>{fonts}'
        '<fills><fill><patternFill patternType="none"/></fill></fills><borders><border/></borders>'
        f"<cellStyleXfs><xf/></cellStyleXfs><cellXfs>{cells}</cellXfs>"
        f"<cellStyles>{rng.odd(named[0], named)}</cellStyles></styleSheet>"
    )


def _sheet(rng: Chance) -> str:
    rows = [_row(1, rng, header=True)]
    for number in range(2, 2 + rng.choice((1, 2, 3, 12))):
        odd = (0, -1, 1, 1048577, 99999999999, "x", "", "２", 1.5)
        rows.append(_row(rng.odd(str(number), odd), rng))
    if rng.random() < rng.rate:
        rng.shuffle(rows)
    front = ("<dimension ref='{}'/>", "<sheetPr><tabColor rgb='x'/></sheetPr>", "<sheetViews><sheetView workbookViewId='x'/></sheetViews>", "<cols><col min='1' max='99999999' width='x'/></cols>", "<sheetFormatPr defaultRowHeight='x'/>")  # fmt: skip
    behind = ("<mergeCells count='9'><mergeCell ref='{}'/><mergeCell ref='A1:C3'/></mergeCells>", "<hyperlinks><hyperlink ref='{}' r:id='x'/></hyperlinks>", "<conditionalFormatting sqref='{}'><cfRule type='x'/></conditionalFormatting>", "<dataValidations><dataValidation sqref='{}'/></dataValidations>", "<drawing r:id='x'/>", "<legacyDrawing r:id='x'/>", "<autoFilter ref='{}'/>", "<tableParts><tablePart r:id='x'/></tableParts>", "<extLst><ext/></extLst>")  # fmt: skip
    head, tail = (rng.odd("", some).format(rng.choice(REFERENCES)) for some in (front, behind))  # fmt: skip
    return (
        f'<worksheet xmlns="{_MAIN}" xmlns:r="{_OFFICE}">{head}<sheetData>{"".join(rows)}</sheetData>{tail}</worksheet>'
    )


def _row(number: object, rng: Chance, header: bool = False) -> str:
    names = ("review_id", "text", "rating")
    cells = []
    for place, column in enumerate(("A", "B", "C")[: int(rng.odd("3", (2, 1, 0)))]):
        plain = header and rng.random() >= rng.rate
        kind = rng.odd("inlineStr", TYPES)
        value = names[place] if plain else _escaped(rng)
        if kind == "inlineStr" and not plain and rng.random() < 0.5:
            kind, value = rng.choice((("s", "0"), ("s", "1"), ("n", "43831.5"), ("b", "1"), ("d", "2020-01-01"), ("str", value)))  # fmt: skip
        reference = rng.odd(f"{column}{number}", [f"{rng.choice(COLUMNS)}{row}" for row in (number, 0, -5, "")])
        style = f' s="{rng.odd("0", (1, 2, 3, 99, -1, "x"))}"' if rng.random() < 0.3 else ""
        formulas = ("<f>A1</f>", "<f t='shared' si='0' ref='A1:A9'>A1</f>", "<f t='shared' si='9'/>", "<f t='array' ref='x'>1</f>", "<f t='dataTable' ref='A1' r1='x'/>", "<f t='odd'/>")  # fmt: skip
        formula = rng.odd("", formulas)
        inside = (
            f"<is><t>{value}</t></is>" if kind == "inlineStr" and rng.random() >= rng.rate / 4 else f"<v>{value}</v>"
        )
        cells.append(f'<c r="{reference}"{style} t="{kind}">{formula}{inside}</c>')
    if rng.random() < rng.rate:
        rng.shuffle(cells)
    return f'<row r="{number}" spans="{rng.odd("1:3", ("x", "", "9:1"))}">{"".join(cells)}</row>'


def _change_part(parts: dict[str, bytes], rng: Chance) -> None:
    """One of the files, broken or changed as XML, or away."""
    name = rng.choice(list(parts))
    content = parts[name]
    match rng.randrange(9):
        case 0:
            parts[name] = change_bytes(content, rng)
        case 1:
            del parts[name]
        case 2:
            parts[name] = content.replace(b"UTF-8", rng.choice((b"utf-16", b"gbk", b"big5", b"nonsense", b"", b"utf-7", b"ucs4")))  # fmt: skip
        case 3:
            parts[name] = content.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-8-sig", "utf-32")))
        case 4:
            entity = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY f "&e;">]>'
            parts[name] = content.replace(b"?>", b"?>" + entity, 1).replace(b"<t>", b"<t>&e;")
        case 5:
            parts[name] = content.replace(_MAIN.encode(), rng.choice((b"", b"urn:x", b"http://purl.oclc.org/ooxml/spreadsheetml/main")))  # fmt: skip
        case 6:
            parts[name] = rng.choice((b"", b"\x00" * 9, b"<a/>", b"<a>" * 5_000 + b"</a>" * 5_000, b"<a " + b'b="1" ' * 9 + b"/>"))  # fmt: skip
        case 7:
            tags = [b"<row", b"<c ", b"<v>", b"</v>", b"<sheetData>", b"</row>", b"<sheet ", b"<is>", b"</t>", b"<si>"]
            parts[name] = content.replace(rng.choice(tags), rng.choice((b"", b"<x>", b"<row><row>", b"<c><c>")), 1)
        case _:
            parts[rng.choice(_WHOLE)] = content


def _archive(parts: dict[str, bytes], rng: Chance) -> bytes:
    """The parts in a zip file, now and then an odd one."""
    out = io.BytesIO()
    odd = rng.random() < 0.1
    packing = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(out, "w", packing if odd else zipfile.ZIP_DEFLATED) as packed:
        for name, content in parts.items():
            packed.writestr(name.upper() if odd and rng.random() < 0.1 else name, content)
            if odd and rng.random() < 0.1:
                packed.writestr(name + "/", b"")
                packed.writestr(rng.choice(("../a", "/a", "C:\\a", "é", "a" * 300)), content)
        if odd:
            packed.comment = b"PK\x05\x06" * rng.choice((0, 1, 9))
    content = bytearray(out.getvalue())
    if odd:
        if rng.random() < 0.3 and (at := content.rfind(b"PK\x01\x02")) >= 0:
            content[at + 8] |= rng.choice((1, 8, 0x40))  # the flags: encrypted, for one
        if rng.random() < 0.3:
            content = bytearray(rng.choice((b"junk", b"MZ", b"\x00" * 900))) + content
    return bytes(content)


FAMILY = Family("workbooks", "XLSX: cells, types, dates, formulas, strings, styles, relations and archives that are odd or broken", 2_400, prepare_nothing, load_readers, make, use_file)  # fmt: skip
