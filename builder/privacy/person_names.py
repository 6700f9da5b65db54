"""Names of people that stand in a review: 王小姐, 林大華店長, 店員小芳, 阿芬姐, 名叫小芳的店員, 謝謝小芳的服務.

In: a text. Out: the spans of names, with the title that belongs to them. Precision goes before recall: a name is
masked where a title, a role, a verb of naming or thanks says that it is one, and never where the dictionary has a
word (高雄店長, 店員高興, 小心). The text is in Simplified script, so that a name is found in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from builder.records import Span

_SURNAMES = (
    "陈林黄张李王吴刘蔡杨许郑谢洪郭邱曾廖赖徐周叶苏庄吕江何萧罗高潘简朱钟锺彭詹胡施沈余卢梁赵颜柯翁魏孙戴范宋邓杜侯曹薛丁卓马唐蓝蒋姚冯程汪邹阮龚严韩袁涂俞倪崔贺"
    "邵秦谭尹聂岳陶樊霍郝柳骆黎欧董孟贾毛顾陆尤邢闫阎鲁史乔翟褚耿"
)
"""The frequent ones that are no frequent words."""
_WORDLY = "白方金石古万田康童温莫游连傅"
"""Surnames that are words too: they count before a given name of two characters only."""
_NOT_AFTER = {
    "何": "任如为有奈若几", "许": "也或允些少不准", "高": "最超很更较提增升太蛮满颇身", "施": "设措实",
    "程": "过课工行流路里", "马": "立出罗人斑", "翁": "老", "简": "精", "庄": "村", "江": "长九", "黄": "蛋金",
    "戴": "穿", "孙": "子", "余": "多业剩", "范": "示规模", "欧": "北西东", "周": "一二三四五六每下上这两四",
    "王": "大鱿霸", "叶": "茶荷菜落绿", "曾": "不未", "胡": "二", "柳": "杨", "黎": "巴", "梁": "桥", "董": "古",
    "林": "森园树士云员其", "张": "一两三四五几每这那紧扩开", "丁": "肉鸡萝布园补", "罗": "波暹", "苏": "紫流",
    "谢": "谢感多道致", "毛": "羽羊鸡鸭猪扒剥拔茸起发", "顾": "光照惠不", "陆": "大登着", "史": "历", "鲁": "粗",
    "乔": "小",
}  # fmt: skip
"""Surnames that end other words, by what stands before them there."""
_HAN = "[\u4e00-\u9fff]"
_ANY = f"[{''.join(_SURNAMES.split())}]"
_TITLE = (
    "老?先生|小姐|女士|老?太太|副?店长|副?经理|副理|主厨|师傅|领班|组长|大哥|大[姐姊]|小[哥妹弟]|老板娘?|阿姨|老师"
    "|主任|骑士|兽?医[师生]|中医师|牙医|护理?师|护士长?|护理长|药剂?师|治疗师|复健师|心理师|营养师|验光师|副?院长|教练|设计师|发型师|美发师"
    "|美容师|美甲师|美睫师|按摩师|芳疗师|技师|律师|会计师|房仲|业务员?|专员|顾问|导游|领队|司机|管家|教授|助理|馆长|校长|主播"
)
_KIN = "姐姊妹弟哥姨妈妈婶婶伯叔婆爷爷爸父母事夫"
_ROLE = (
    "副?店长|店员|服务人?员|服务生|副?经理|领班|主厨|师傅|柜台|[外内]场|工读生|老板娘?|员工|侍酒师|调酒师|咖啡师"
    "|组长|外送员|管家|教练|设计师|美容师|美甲师|护理师|业务|专员|助理|司机|导游|领队"
)
_PRAISED = (
    "[,，、。！!～~ \n]?"
    "(?:也|都|就|真|的|态度|非常|很|超|好|特别|十分|人|服务|亲切|热[情心]|细心|贴心|用心|专业|有礼|帮忙|"
    "介绍|推荐|主动|笑容|先生|小姐|女士|不错|可爱|给力|耐心|又|还|一直)"
)
_STAFF = (
    "的?(?:那位|这位|男|女)?(?:店员|服务|小姐|先生|员工|工读生|女[生孩]|男[生孩]|师傅|柜台|阿姨|姐姐|哥哥|妹妹|弟弟"
    "|妹子|小哥|小伙子|帅哥|美女|主厨|店长|老板|姑娘)"
)
_END = "(?=[ ,，.。、!！~～;；)）\n]|$)"
"""Where a clause ends."""
_AMBIGUOUS = "黄张高简方江何谢许叶庄杨颜唐蓝韩洪罗钟曾胡施周马戴孙余范欧梁柳苏丁温游连程"
_PLAIN = f"[{''.join(sorted(set(_ANY) - set('[]' + _AMBIGUOUS)))}]"
"""Surnames that begin no word which might describe staff."""
_LATIN = "[A-Z][a-z]{2,11}(?![A-Za-z])"
_NO_GIVEN = re.compile(
    "[的了个位是在有和跟与及这那都也不很就还又来去到说请让给被把对向从店家馆厅间叫找问等著着过得地上下中里前后多少大小老副女男服务每楼]"
)
_NO_NAME = frozenset(
    ["Nice", "Good", "Great", "Very", "Super", "Perfect", "Best", "Line", "Google", "Pay", "Wifi", "Cool", "Lady",
     "Girl", "Boy", "Man", "Friendly", "Kind", "The", "This", "That", "And", "But", "Bar", "Vip"]
)  # fmt: skip
"""Words that reviews write with a capital where a name may stand."""

_TITLED = re.compile(
    f"(?:(?P<name>{_ANY}{_HAN}{{0,2}}?)(?:{_TITLE})"
    f"|(?P<full>[{_ANY[1:-1]}{_WORDLY}]{_HAN}{{2}}) ?(?:先生|小姐|女士))(?![{_KIN}])"
)
_SHORT = re.compile(f"{_ANY}[姐姊哥董](?![{_KIN}])")
_NICK = re.compile(
    f"(?P<name>阿{_HAN})(?:[姐姊哥伯叔婶姨]|师傅?)(?![{_KIN}])|(?<![小大帅])(?P<nick>小?{_HAN})[姐姊哥](?=很|超|非常|的服|人很|真的|服务|亲切)"
)
_TWICE = f"(?P<twice>{_HAN})(?P=twice)"
"""龙龙, as many are called."""
_ROLED = re.compile(
    f"(?:{_ROLE})[ 「『:：]?"
    f"(?P<name>[小阿]{_HAN}[姐姊哥]?|{_ANY}{_HAN}{{2}}|{_ANY}(?:[姐姊哥]|先生|小姐)|{_TWICE}(?!的))(?={_PRAISED})"
)
_FULL = re.compile(f"(?:{_ROLE})[ ,，:：]?(?P<name>{_PLAIN}{_HAN}{{2}}){_END}")
"""店长林大华，后来…"""
_SMALL = re.compile(f"(?:{_ROLE})[ ,，:：]?(?P<name>[小阿]{_HAN}){_END}")
"""谢谢美容师小安。"""
_NAMED = re.compile(
    "(?:名叫|名字(?:叫做?|是|为)|叫做?|姓)[ 「『:：]?"
    f"(?P<name>[小阿]{_HAN}|{_ANY}{_HAN}{{1,2}}|{_LATIN})[」』]?(?={_STAFF})"
)
_CALLED = re.compile(
    "(?:(?<![店门])名叫|名字(?:叫做?|是|为)|好[像象](?:是)?叫做?|[他她生员]叫做?|孩叫做?|[，,]叫)[ 「『:：]?"
    f"(?P<name>小{_ANY}|{_TWICE}|{_LATIN}){_END}"
)
"""服务生好像叫小陈, 店员叫 Debby。"""
_THANKED = re.compile(
    f"(?:感[谢激]|谢谢|多谢)(?:{_ROLE})?[ ]?(?P<name>[小阿]{_HAN}[姐姊哥]?|{_ANY}{_HAN}{{2}}|{_LATIN})"
    "(?=的(?:服务|热情|细心|推荐|介绍|招待)|细心|热[情心]|亲切|专业)"
)
_FOREIGN = re.compile(f"(?:{_ROLE})[ ]?(?P<name>{_LATIN}(?: {_LATIN})?)(?! [A-Za-z])")
_HINT = re.compile(f"(?:{_TITLE}|{_ROLE}|[姐姊哥董]|阿{_HAN}|叫|姓|谢|感激)")


def spans(text: str) -> list[Span]:
    """What is a name, in order and apart."""
    if not _HINT.search(text):
        return []
    searches = (_titled(text), _short(text), _nicknamed(text), _by_role(text), _announced(text))
    kept: list[Span] = []
    for start, end in sorted(span for search in searches for span in search):
        if kept and start < kept[-1][1]:
            kept[-1] = kept[-1][0], max(end, kept[-1][1])
        else:
            kept.append((start, end))
    return kept


@lru_cache(maxsize=65_536)
def _word(text: str) -> bool:
    """Whether the dictionary has it."""
    import rjieba

    return bool(rjieba.has_word(text))


def _surname(text: str, at: int) -> bool:
    """Whether the surname at `at` ends no other word."""
    before = text[at - 1 : at]
    return not before or (
        before not in _NOT_AFTER.get(text[at], "")
        and not (before != "科" and re.match(_HAN, before) and _word(before + text[at]))  # 小兒科林醫師
    )


def _given(name: str, after: str = "") -> bool:
    """Whether what follows a surname may be a given name: no word with the surname, in itself, or with what comes
    after it.
    """
    given = name[1:]
    return not (
        _NO_GIVEN.search(given)
        or any(_word(name[:2] + area) for area in ("", "市", "县"))
        or (len(given) > 1 and given != 2 * given[0] and _word(given))
        or (after and _word(given[-1] + after))
    )


def _titled(text: str) -> Iterator[Span]:
    """王小姐, 林大華店長. A rejected match may hide another one: 謝陳 of 謝謝陳店長."""
    at = 0
    while match := _TITLED.search(text, at):
        name, start = match["name"] or match["full"], match.start()
        word = match[0] == "曾经理" and text[match.end() : match.end() + 1] not in ("、", "，", ",")
        good = not word and _surname(text, start) and (len(name) == 1 or _given(name))
        if good:
            yield match.span()
        at = match.end() if good else start + 1


def _short(text: str) -> Iterator[Span]:
    """林姐, 郭董."""
    for match in _SHORT.finditer(text):
        if _surname(text, match.start()) and not _word(match[0]) and not _word(text[match.end() - 1 : match.end() + 1]):
            yield match.span()


def _nicknamed(text: str) -> Iterator[Span]:
    """阿芬姐, 阿明師; 芳姐 and 小芳姐 where praise follows. 空姐 and 表哥 are words."""
    for match in _NICK.finditer(text):
        called = match["name"] or match["nick"]
        kin = called[-1] in _KIN + "小大老美空学女男这那位个的帅餐送骑士西墨服务店员"
        if (
            not kin
            and not _word(match[0])
            and not _word(called)
            and not (match["nick"] and _in_word(text, match.start()))
        ):
            yield match.span()


def _in_word(text: str, at: int) -> bool:
    """Whether a character belongs to the one before it."""
    return at > 0 and bool(re.match(_HAN, text[at - 1])) and _word(text[at - 1 : at + 1])


def _by_role(text: str) -> Iterator[Span]:
    """店員小芳, 店長林大華, 店員龍龍, 店員 Amy."""
    for match in _ROLED.finditer(text):
        name, after = match["name"], text[match.end() : match.end() + 1]
        if name[0] in "小阿":
            good = _pet(name, after)
        elif match["twice"]:
            good = not _word(name)
        else:
            good = name[1:] in ("先生", "小姐", "姐", "姊", "哥") or _given(name, after)
        if good:
            yield match.span("name")
    yield from (match.span("name") for match in _FULL.finditer(text) if not _NO_GIVEN.search(match["name"]))
    yield from (match.span("name") for match in _SMALL.finditer(text) if _pet(match["name"], ""))
    for match in _FOREIGN.finditer(text):
        if _NO_NAME.isdisjoint(match["name"].split()):
            yield match.span("name")


def _pet(name: str, after: str) -> bool:
    """小芳 or 阿芳, and not 小心, 小姐 or 小兩口."""
    return (
        name[0] in "小阿"
        and name[1] not in _KIN + "心声孩朋子女男伙气的"
        and not (_word(name[:2]) and name[1] not in _SURNAMES)
        and not (after and _word(name[1] + after))
    )


def _announced(text: str) -> Iterator[Span]:
    """名叫小芳的店員, 謝謝小芳的服務, 好像叫小陳。"""
    for match in _CALLED.finditer(text):
        if match["name"] not in _NO_NAME and not (match["twice"] and _word(match["name"])):
            yield match.span("name")
    for pattern in (_NAMED, _THANKED):
        for match in pattern.finditer(text):
            name = match["name"]
            latin = name[0].isascii()
            if name not in _NO_NAME if latin else _pet(name, "") or (name[0] not in "小阿" and _given(name)):
                yield match.span("name")
