"""Names of people that stand in a review, found by their place: 店員欣怡很熱心, 服務生「小雁」, 名牌寫著予安,
林大華店長, 天佑哥, 感謝怡君的服務, @柏翰.

In: a text. Out: the spans of names; roles and titles beside them (店長, 先生) stay readable. A place is what stands
before and behind a name. What stands there may be any name, and is none where the dictionary reads it otherwise: as a
common word, as a part of one with its neighbours, or as words of one character each. The text is in Simplified script,
so that a name is found in both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from builder.core.records import Span
from builder.reviews.place_names import crosses, frequency, is_area, is_word, tagged
from builder.reviews.script import converter

_HAN = "[\u4e00-\u9fff]"
_SURNAMES = (
    "陈林黄张李王吴刘蔡杨许郑谢洪郭邱曾廖赖徐周叶苏庄吕江何萧罗高潘简朱钟锺彭詹胡施沈余卢梁赵颜柯翁魏孙戴范宋邓杜侯曹薛丁卓马唐蓝蒋姚冯程汪邹阮龚严韩袁涂俞倪崔贺"
    "邵秦谭尹聂岳陶樊霍郝柳骆黎欧董孟贾毛顾陆尤邢闫阎鲁史乔翟褚耿"
)
"""The frequent ones that are no frequent words."""
_SURNAME = f"(?:欧阳|司[马徒]|上官|诸葛|范姜|张简|[{_SURNAMES}])"
_WORDLY = "白方金石古万田康童温莫游连傅"
"""Surnames that are words too: they count with a given name of two characters and a title."""
_TITLE = (
    "(?:副?店长|店员|副?经理|副理|[主大]厨|厨师长?|师傅|领班|组长|主任|老板娘?|院长|馆长|校长|管家|教练|助理|司机|导游"
    "|领队|骑[士手]|员工|外[卖送]员|[收快配送][银递送餐]员|柜姐|服务[员生]|(?:服务|工作|柜台|门市|[外内]场)人员"
    "|(?:工读|实习|女|男)生|学生[妹弟]?|学[长姐姊弟妹]|[女男]孩|姑娘|护士长?|护理长|[兽牙中]?医[师生]|牙医|房仲|业务员?|专员|顾问|教授"
    "|主播|大[哥姐姊]|小[哥弟]|小妹(?!妹)|阿姨|妹妹|姐姐|哥哥|弟弟|[小老]?先生|小姐姐?|女士|(?:老|药剂?|护理|设计|发型|造型"
    "|美[发容甲睫]|治疗|复健|心理|营养|验光|按摩|芳疗|调酒|咖啡|侍酒|律|会计|技)师(?![傅父爷范]))"
)
"""What people are called by beside their names, before or behind them."""
_ROLE = (
    f"(?:{_TITLE}|{_HAN}{{1,2}}(?:师(?![傅父爷范])|(?<!会)员(?!工))|[柜前吧]台|[外内]场|客服|房东"
    "|(?i:waiter|waitress|bartender|server))"
)
_WORDS = (
    "的了个位是在有和跟与及这那都也不很就还来去到说讲请让给被把对向从店馆厅间叫找问等着著过得地上下里前后多少老副服务每楼送取点换加倒做收帮烤炒切带忙聊端拿吃喝买卖洗擦骂笑没戴弄催赚翻评缺馈人们么吗吧呢啊呀哦喔啦哈嘛耶啰咧噢唔"
    "我你他她它您餐汤菜饭面茶酒肉味脸嘴眼手口脚发值条挺蛮帅酷爆屌赞凶跩拽惨死累懒贵差略傻佛落惊谈棒伯叔姨婆嬷妈爸爷奶丈某娘姓看妹姐哥弟妆谢躺单桌瓶盘货班搭场工客主组编版闺绕随尝包女鸡鸭由站线选兽牙药"
)
"""Words of grammar, of service and of the table, and what kin are called."""
_UNNAMED = (
    "错但要价较最排份酱且饼种态什虾慢热饮些酸块电烧像够柚葡萄订腻偏脆级虽浓炸腐净糕牌怎试咖酥饱该粥套失碗供购稍拌煎氛苦底肠准煮走菇需泡蔬熟绝蟹薯饺茄啡除柠旁蒸免并验滑肚串炖檬萝盒反却蒜粒胃嚼弹颗烂认卤拼题啥忘醋摆具馅掉冻袋厨"
    "概浆夹腥饿限纸即番洒访披此撒刺低杂筋款吸剩券隔哪票赶淋段糊笋旧貌挤退喱鹅糯肘肝鱿挑铺筷臭煲吐漂怕诉办透潢沾菠负惯紧蜜哩烫哒蘸脑蚝乱伙坑据涮响芋减扣碎项爪距莓吵呵扇蘑腌蛙坏糟韭椰蛤搞圾垃况肋担赠码湿坨凑烦腩否斤鲍粗撑厢藕裹"
    "遍址榴焗漏蹄跑抽扔俩螺压视壳笼榨仅啤谁羹酪偶焖产滴馍脏粘昨句瘾误涩鳗例息捞逛咋颇件歉激饰馄稠饨帐懂逼哎撕塑账闷熬螃枣释宵黏咯急胸抓碰私冒旅扒缘厕趣浇荤摊抵胶骗处刷馒蜊鲑疙瘩控劣鳕抄综欠剔柿鸯鸳溜腰遗孜扫嫌罐疫愧烩销丢唷蚵箱"
    "哟脊磨阪嗯酿避售束短渴诱鳝挞毫豚脂鲈握迷嘈噌桶寸吞剁憾厦核壶蕉秒喉伤穿燥韧迅喷勾侣瞬狂咽晕促呛追肴膏筒膻欺蛎搜碳煸膜穷兑璃玻趟馋婚剥溢俱籽粑颈感快料般油算辣食荐配锅质汁凉片软类物动爽肥附硬座预层坐另葱划薄腿盐贴递咬焦"
)
"""Frequent in reviews, and in next to no given name of the 27,595 persons in the dictionary."""
_FIRST = "超真好太最极巨高男现先总像连特调摔赶冒驻激代两号会几半"
_UNLIKELY = re.compile(f"[{_WORDS}{_UNNAMED}]|^[{_FIRST}]|^阿[莎沙]$")
_NEVER = re.compile(f"{_UNLIKELY.pattern}|^[二三四五六七八九十]|^(?:沙拉|添[水饭]|宣导|明明|年年)$")
"""What no given name has, begins with or is; a nickname may begin with a number: 三羊."""
_DISHES = frozenset("面饭锅汤包饼馆店粥粉丸糕线鸡鸭鹅鱼肉饺茶冰蛋排豆")
"""What words for dishes and shops end in, which are called after people: 阿芬姨面线."""
_NO_NAME = frozenset(
    ["Nice", "Good", "Great", "Very", "Super", "Perfect", "Best", "Line", "Google", "Pay", "Wifi", "Cool", "Lady",
     "Girl", "Boy", "Man", "Miss", "Btw", "Friendly", "Kind", "The", "This", "That", "And", "But", "Bar", "Vip"]
)  # fmt: skip
"""Words that reviews write with a capital where a name may stand."""
_MARKS = "[-—–(（「『“\"'【《〈]"
_START = "(?:^|(?<=[\\s，。！？,.!?~～；;、：:…]))"
_END = "(?=[\\s,，.。、!！~～;；)）」』”\"'】》〉…-]|$)"
_SAID = '[ 「『“"：:]{0,2}'
_CARE = "热情|细心|用心|贴心|专业|亲切|热心|耐心"
_STAFF = f"(?:{_ROLE}|的?(?:那位|这位|男|女)?(?:{_ROLE}|[女男][生孩的]|姑娘|妹子|帅哥|美女|小伙子))"
_TASK = "(?:服务|接待|招呼|带位|点餐|结账|负责|按摩)"
_SERVED = f"的?(?:{_CARE})?的?(?:服务|招待|推荐|介绍|接待|照顾|帮忙|协助|料理|{_CARE})"
_DEGREE = "(?:真的?是?|总是|一直|实在|超级?|非常|十分|特别|相当|有够|[也都很好蛮挺满太最不]){1,4}"
_KIND = "有?(?:亲切|热情|热心|耐心|细心|贴心|礼貌|客气|友善|健谈|幽默)"
_PRAISED = re.compile(
    f" ?(?P<name>{_HAN}{{2}})(?:(?P<kind>{_DEGREE}{_KIND}|主动|帮我)"
    f"|{_DEGREE}(?:用心|专业|仔细)|介绍|推荐|服务|解说|招呼)"
)
"""A name behind a role, and what is said of it: 店長三羊超親切. `kind`: what is said of people alone."""
_THANKED = re.compile(f" ?(?P<name>{_HAN}{{2}})(?P<kind>){_END}")
"""A name behind thanks and a role: 感謝主廚三羊。"""
_OF_PEOPLE = re.compile(
    "[人们妹姐姊哥弟妈爸爷叔姨婆娘公夫妻妇婿儿父母兄孩员生客友团队家]|奶奶"
    "|[艺度容气语吻性格文话音声相貌才品工力质程体务情神率法装长手居]$"
)
"""What nouns have that are kin of a person, or a trait."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a name stands between what is before and what is behind it. `hint` is in every text with such a place;
    `firm`: the place alone tells that it is a name.
    """

    hint: str
    before: re.Pattern[str]
    behind: re.Pattern[str]
    firm: bool


def _places(*rows: tuple[str, str, str, bool]) -> tuple[_Place, ...]:
    return tuple(_Place(hint, re.compile(before), re.compile(behind), firm) for hint, before, behind, firm in rows)


_BEHIND_ROLES = _places(
    ("", "的 ?(?=[小阿A-Z])|[ :：/]?", "", False),
    ("号", "的? ?[0-9]{1,3} ?号 ?", "", False),
    ("", "[,，、]|的?是 ?", _END, False),
    ("", f" ?{_MARKS}", _END, False),
    ("叫", f"(?:的?名字?)?(?:好[像象])?(?:是)?叫做?{_SAID}", _END, True),
)
_BEFORE_ROLES = _places(("", f"{_START}|[感谢]谢|[找由请激的]", f"(?:(?<=[a-z]) )?[（(]?{_TITLE}", False))
_PLACES = _places(
    ("叫", f"(?:[他她生孩]|[，,]|好[像象](?:是)?|(?<![店门菜])名字?)叫做?{_SAID}|叫[他她](?!们)", _END, True),
    ("叫", f"叫做?{_SAID}", f"[ 」』”]?{_STAFF}", True),
    ("名", f"(?:名字|本名)(?:是|为){_SAID}", f"{_END}|{_STAFF}", True),
    ("牌", f"[名胸工]牌上?(?:的?名字)?(?:写[的着著]?|的|叫做?|是|[:：])*{_SAID}(?<![牌上])", _END, True),
    ("", f"(?:感[谢恩]|谢谢|多谢) ?(?:{_TASK}的)?", f"{_SERVED}|{_END}|[和跟与]", False),
    ("是", f"{_TASK}[^，。]{{0,6}}是 ?(?:[0-9]{{1,3}}号 ?)?", _END, False),
    ("的", f"(?:{_TASK}|收银|送餐|外送|店里|[烤煮炒]{_HAN})的(?=[小阿])", "", False),
    ("位", '[「『“"]', f'[」』”"][这那]?位{_ROLE}', True),
    ("尤其", "(?:[员生人]们?|亲切|热情)[,，] ?尤其是", _END, False),
    ("位", _START, f"[和跟与、]{_HAN}{{2,3}}[两二三几]位(?:{_ROLE}|都|服务)", False),
    ("位", "[和跟与、]", f"[两二三几]位(?:{_ROLE}|都|服务)", False),
    ("由", "由", "(?:[来为帮替](?:我们?|大家)?)?(?:服务|介绍|接待|带位|订位|料理)", False),
    ("服务", _START, f"的?服务(?=态度|很|超|好|非常|十分|也|都|真|让|棒|一流|周到|到位|不错|{_CARE})", False),
    ("@", "@ ?", f"{_END}|和|跟", False),
    ("\ufffc", "(?<=\ufffc) ?[、和跟与及] ?", "", False),
)
_LATIN = re.compile("[A-Z][a-z]{1,11}(?: [A-Z][a-z]{2,11})?(?![A-Za-z])")
_CLOSED = re.compile(f"(?<={_MARKS}){_HAN}{{2,4}}(?=[-—–)）」』”\"'】》〉])")
_SHAPES = (_LATIN, _CLOSED, re.compile(f"{_SURNAME}{_HAN}{{2}}"), re.compile(f"{_HAN}{{2}}"))
_TITLED = re.compile(
    f"(?:(?P<name>{_SURNAME})|(?P<full>{_SURNAME}{_HAN}{{1,2}}) ?)(?:{_TITLE}|老?太太)(?!{_HAN}?[哥姐姊妹弟])"
    f"|(?P<rare>[{_WORDLY}](?:{_HAN}{{2}} ?)?(?<!连))(?:先生|小姐|女士)"
)
_KIN = re.compile("[哥姐姊](?![哥姐姊])")
_KNOWN = re.compile(_TITLE)
_NO_ROLE_END = re.compile(r"(?:\W|是|叫|做)+$")
_KINDRED = re.compile(
    f"(?:{_START}|(?<=[找由给是请跟谢激])|(?<=[员师生长板娘厨理的])(?=阿)|(?={_SURNAME}[哥姐姊董]))"
    f"(?:阿{_HAN}[哥姐姊弟妹叔伯姨婶嫂师]|(?P<name>{_HAN}{{1,2}})(?<![小大老])[哥姐姊董]"
    f"|(?P<elder>{_HAN}{{2}})[叔伯姨婶])(?![哥姐姊傅])"
)


def spans(text: str) -> list[Span]:
    """What is a name, in order and apart."""
    kept: list[Span] = []
    for start, end in sorted({*_placed(text), *_titled(text), *_kindred(text)}):
        if kept and start < kept[-1][1]:
            kept[-1] = kept[-1][0], max(end, kept[-1][1])
        else:
            kept.append((start, end))
    return kept


def role_before(text: str) -> Span | None:
    """The role that a text in any script ends with, whatever marks are behind it: 店員 of 昨天的店員「."""
    end = len(_NO_ROLE_END.sub("", text))
    for size in range(min(4, end), 1, -1):
        role = converter("t2s")(text[end - size : end])
        if re.fullmatch(_TITLE, role) or (re.fullmatch(_ROLE, role) and is_word(role)):
            return end - size, end
    return None


def _placed(text: str) -> Iterator[Span]:
    roles = [role for role in re.finditer(_ROLE, text) if not (_KNOWN.match(role[0]) and crosses(text, role.start()))]
    for role in roles:  # none is in 首先生
        thanked = text[role.start() - 1 : role.start()] == "谢"
        praised = _PRAISED.match(text, role.end()) or (thanked and _THANKED.match(text, role.end()))
        if praised and not crosses(text, praised.end("name")) and _is_nickname(praised["name"], bool(praised["kind"])):
            yield praised.span("name")
        for place in _BEHIND_ROLES:
            if before := place.before.match(text, role.end()):
                yield from _named(text, before.end(), place)
    for place in (*_PLACES, *_BEFORE_ROLES) if roles else _PLACES:
        if place.hint in text:
            for before in place.before.finditer(text):
                yield from _named(text, before.end(), place)


def _named(text: str, start: int, place: _Place) -> Iterator[Span]:
    """The name that begins at `start`, if one does; of 林先生 `_titled` finds the one character."""
    if (titled := _TITLED.match(text, start)) and titled["name"]:
        return
    for shape in _SHAPES:
        name = shape.match(text, start)
        if name and place.behind.match(text, name.end()) and not crosses(text, name.end()):
            firm = place.firm or shape is _CLOSED
            if _is_name(name[0], firm, ends=not text[name.end() : name.end() + 1].isalnum()):
                kin = _KIN.match(text, name.end())
                yield name.start(), kin.end() if kin else name.end()
                return


def _titled(text: str) -> Iterator[Span]:
    """王 of 王小姐, 林大華 of 林大華店長. A rejected match may hide another one: 謝陳 of 謝謝陳店長."""
    at = 0
    while match := _TITLED.search(text, at):
        start, end = match.span(match.lastgroup or 0)
        word = match[0] == "曾经理" and text[match.end() : match.end() + 1] not in ("、", "，", ",")
        good = (
            not word
            and not crosses(text, start)
            and not _names_dish(text, match.end())
            and (end == start + 1 or _is_name(text[start:end].strip(), firm=False))
        )
        if good:
            yield start, end
        at = match.end() if good else start + 1


def _kindred(text: str) -> Iterator[Span]:
    """天佑哥, 阿芬姐, 林姐, 阿明師; 空姐 and 表哥 are words."""
    for match in _KINDRED.finditer(text):
        name = match["name"] or match["elder"]
        if is_word(match[0]) or crosses(text, match.start()) or crosses(text, match.end()):
            continue
        if _names_dish(text, match.end()):
            continue
        if not name or (
            re.match(_SURNAME, name) or (not _NEVER.search(name) and _speaks_of(text, match.end()))
            if len(name) == 1
            else _is_name(name, firm=False)
        ):
            yield match.span()


def _names_dish(text: str, at: int) -> bool:
    """Whether a word for a dish or a shop stands at `at`: 阿芬姨|面线, not 阿芬姨|煮的."""
    word, kind = next(iter(tagged(text[at : at + 4])), ("", ""))
    return kind.startswith("n") and word[-1] in _DISHES


def _speaks_of(text: str, at: int) -> bool:
    """Whether what stands at `at` says something about what is before it, and is no noun: 坤哥炒的, not 坤哥牛肉."""
    return text[at : at + 1].isalnum() and tagged(text[at : at + 4])[0][1][0] in "vadzpru"


_NAME_COUNTS = {"nr": 300, "nrt": 45, "nrfg": 45, "nz": 45, "ns": 16, "v": 3}
"""Up to which count the dictionary's words of a kind are read as names; words of other kinds up to 16."""


@lru_cache(maxsize=65_536)
def _common(name: str, firm: bool = False) -> bool:
    """Whether the dictionary has it as a word that is rarely a name; where the place is firm, only plain words are."""
    if is_area(name):
        return not firm
    if not is_word(name):
        return False
    if name[0] in "小阿" and name[1] in _SURNAMES:
        return False
    persons = sum(is_word(surname + name) for surname in _SURNAMES)  # 建国: 王建国, 李建国, …
    kind = tagged(name)[0][1]
    if firm and name[0] in "小阿" and kind.startswith("n"):
        return False
    if persons >= (2 if frequency(name) <= 100 or name[0] == name[1] else 4) or (
        firm and kind.startswith(("nr", "ns", "nz"))
    ):
        return False
    if name[0] == "阿":
        return frequency(name) > 200
    if kind == "nr" and name[0] in _SURNAMES:
        kind = "nrt"
    return frequency(name) > (150 if firm else _NAME_COUNTS.get(kind, 16))


def _is_nickname(name: str, kind: bool) -> bool:
    """Whether two characters between a role and its praise may be a nickname: no word, or a rarer noun. One that is
    made of characters of the table is a nickname where the praise is for people alone (`kind`): millet is not kind.
    """
    if not is_word(name):
        return frequency(name) <= 4 and not _UNLIKELY.search(name)
    rare_noun = tagged(name)[0][1][0] == "n" and frequency(name) <= (3_000 if kind else 1_000)
    return rare_noun and (kind or not _UNLIKELY.search(name)) and not is_area(name) and not _OF_PEOPLE.search(name)


def _is_name(name: str, firm: bool, ends: bool = False) -> bool:
    """Whether what stands in a place for names may be one; `ends`: a clause ends there."""
    given = name[-2:]
    if re.fullmatch(_ROLE, name) or re.fullmatch(_ROLE, given):
        return False
    if name[0].isascii():
        return _NO_NAME.isdisjoint(name.split())
    if _NEVER.search(given) or _common(name, firm):
        return False
    if len(name) > 2:
        doubled = given[0] == given[1]
        return frequency(name[:2]) <= 1_000 and (ends or doubled or not _common(given, firm))
    return firm or is_word(name) or name[0] == name[1] or name[0] in "小阿" or frequency(name) <= 4
