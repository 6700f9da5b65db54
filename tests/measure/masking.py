"""What masking leaves in a release: `python tests/measure/masking.py RELEASE [--shown N]`.

In: a release. Out: a table of places that only look like personal data, by kind, found with patterns far looser than
those that mask, in texts and in aspects. Most of them are none (謝謝老闆, 走路五分鐘): a person reads them and counts.
With `--shown N`, N places of each kind are printed with the words around them, the most frequent first.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from pathlib import Path

from builder import Release
from builder.reviews.script import converter

_HAN = "[\u4e00-\u9fff]"
_SURNAME = (
    "[陈林黄张李王吴刘蔡杨许郑谢洪郭邱曾廖赖徐周叶苏庄吕江何萧罗高潘简朱钟彭詹胡施沈余卢梁赵颜柯翁魏孙戴范宋邓杜侯曹薛丁卓马唐蓝蒋姚冯程汪邹阮龚严韩袁涂俞倪崔贺邵秦谭尹聂岳"
    "陶樊霍郝柳骆黎欧董白方金石古万田康童温莫游连傅毛尤段任雷钱汤姜夏武史贾孔龙熊纪辛凌单阎孟包]"
)
_TITLE = (
    "(?:先生|小姐|女士|太太|店长|经理|副理|主厨|师傅|领班|组长|大哥|大姐|小哥|小妹|小弟|老板|阿姨|老师|主任"
    "|[姐姊哥妹弟董])"
)
_ROLE = "(?:店员|服务人?员|服务生|经理|领班|主厨|师傅|柜台|[外内]场|工读生|老板娘?|员工|店长|调酒师|[Bb]artender)"
PATTERNS = {
    "surname and title": f"{_SURNAME}{_HAN}{{0,2}}?{_TITLE}",
    "name behind a role": f"{_ROLE}[是为叫 ：:,，「]?(?:[A-Z][a-z]+|[小阿]{_HAN}|{_SURNAME}{_HAN}{{1,2}}|({_HAN})\\1)",
    "name behind a verb": "(?:名叫|名字|姓|叫做?|感?谢谢?)[ "
    f"「:：]?(?:[小阿]{_HAN}|{_SURNAME}{_HAN}{{1,2}}|[A-Z][a-z]+|({_HAN})\\1)",
    "address": f"{_HAN}{{1,5}}(?:路|街|大道|巷|弄|段)[^，。！\n]{{0,8}}?\\d+|\\d+(?:号|巷|弄)(?!线)"
    "|[一二三四五六七八九十]+(?:段|巷|弄)",
    "handle": r"@\s?[A-Za-z0-9_.]+|(?i:\b(?:ig|line|fb|insta|wechat|threads)\b\s?[:：@]?\s?[a-z0-9_.]{4,})"
    r"|[A-Za-z0-9.]+_[A-Za-z0-9_.]+",
    "phone": r"\d[\d \-]{6,}\d",
}
"""In Simplified script."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("release", type=Path)
    parser.add_argument("--shown", type=int, default=0)
    arguments = parser.parse_args()
    simplified = converter("t2s")
    places: dict[str, Counter[str]] = {kind: Counter() for kind in PATTERNS}
    around: dict[str, str] = {}
    aspects: Counter[str] = Counter()
    for review in Release(arguments.release).reviews():
        text = simplified(review.text)
        names = [simplified(triplet.aspect.text) for triplet in review]
        for kind, pattern in PATTERNS.items():
            for match in re.finditer(pattern, text):
                places[kind][match[0]] += 1
                around[match[0]] = text[max(0, match.start() - 8) : match.end() + 8].replace("\n", " ")
            aspects[kind] += sum(bool(re.search(pattern, name)) for name in names)
    print("| looks like | in texts | in aspects |\n|---|---|---|")
    for kind, counts in places.items():
        print(f"| {kind} | {counts.total():,} | {aspects[kind]:,} |")
        for text, times in counts.most_common(arguments.shown):
            print(f"    {times} {text}: {around[text]}")


if __name__ == "__main__":
    main()
