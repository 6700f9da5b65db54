"""The forms in which a review may write the name of its place, and names that a review says are a shop's.

In: the name as the place column has it, often with a branch, brackets and advertising. Out: the forms worth masking:
鼎香園-台北信義店 is also 鼎香園. None is so short or so common that it would hit other words. `masking` looks for them
in texts.

rjieba's dictionary of 349,000 words with counts decides what is a word. It says how frequent a piece of text in
Simplified script is, of which kind, and whether a word stands across a place. Answers are kept for the strings asked
last.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from builder.core.records import Span
from builder.reviews.script import HAN, converter

# ---- The dictionary

_LONGEST = 4


@lru_cache(maxsize=262_144)
def frequency(text: str) -> int:
    """How often the dictionary counts a word; of what it lacks, how often it would expect its characters as words of
    their own, one behind the other: 1 for 怡君, 354 for 也很.
    """
    import rjieba

    return int(rjieba.suggest_freq(text))


@lru_cache(maxsize=262_144)
def is_word(text: str, above: int = 0) -> bool:
    """Whether the dictionary has a word, and counts it more often than `above`."""
    import rjieba

    return bool(rjieba.has_word(text)) and (not above or frequency(text) > above)


def tagged(text: str) -> list[tuple[str, str]]:
    """The words of a text, each with its kind: n, v, nr for a name of a person, ns for one of a place."""
    import rjieba

    words: list[tuple[str, str]] = rjieba.tag(text)
    return words


def crosses(text: str, at: int) -> bool:
    """Whether a word stands across `at` (店員超熱|情); of two characters only where none begins there."""
    return any(
        text[end - 1] != "的" and is_word(text[start:end], above=10)
        for start in range(max(0, at - _LONGEST + 1), at)
        for end in range(at + 1, min(len(text), start + _LONGEST) + 1)
        if end - start > 2 or len(text) < at + 2 or not is_word(text[at : at + 2], above=10)
    )


# ---- Forms of a name


def is_area(name: str) -> bool:
    """Whether a name of Simplified script is that of a town, a district or another area that branches are called by."""
    return name in _simplified(tuple(_AREAS))


def _words(text: str) -> list[str]:
    return text.split()


# What a branch is called after. Also never a name by itself.
_AREAS = _words("""台北 臺北 新北 桃園 台中 臺中 台南 臺南 高雄 基隆 新竹 嘉義 苗栗 彰化 南投 雲林 屏東 宜蘭 花蓮 台東 \
臺東 澎湖 金門 馬祖 竹北 頭份 員林 斗六 羅東
    台北市 臺北市 新北市 桃園市 台中市 臺中市 台南市 臺南市 高雄市 台灣 臺灣 大台北
    信義 大安 中山 中正 松山 大同 萬華 內湖 南港 士林 北投 文山 板橋 三重 新莊 中和 永和 新店 土城 蘆洲 樹林 汐止 淡水 \
三峽 鶯歌 林口 五股 泰山
    中壢 八德 平鎮 楊梅 龜山 蘆竹 南崁 大園 青埔 西屯 北屯 南屯 豐原 大里 太平 逢甲 公益 東海 左營 鼓山 三民 苓雅 前鎮 \
楠梓 鳳山 岡山 巨蛋 夢時代
    永康 安平 仁德 東門 西門 西門町 東區 西區 南區 北區 中區 忠孝 復興 敦化 敦南 敦北 仁愛 南京 民生 民權 民族 長安 \
林森 延吉 永春 市府 公館 師大 台大 古亭
    站前 車站 火車站 高鐵 捷運 夜市 微風 京站 遠百 新光 三越 百貨 大遠百 漢神 統領 華泰 環球 統一 時代 誠品
    上海 北京 廣州 深圳 杭州 南京 成都 重慶 天津 武漢 西安 蘇州 廈門 香港 九龍 旺角 澳門 東京 大阪 京都""")
_ORDINALS = _words(
    "總 総 総本 總本 本 分 直營 加盟 旗艦 創始 創始總 概念 形象 一 二 三 四 五 1 2 3 4 5 新 舊 老 第一 第二 第三"
)
# Words that names are made of, and words that reviews are made of: a form of nothing else is no name.
_GENERIC = _words("""餐廳 餐館 飯店 酒店 小吃 小吃店 小吃部 小館 食堂 食坊 食府 廚房 美食 料理 料理店 專賣店 專門店 \
名店 老店 總店 本店 分店 門市 店 館 坊 屋 亭 居
    火鍋 火鍋店 鍋物 麻辣鍋 麻辣火鍋 麻辣 涮涮鍋 小火鍋 石頭火鍋 壽喜燒 燒肉 烤肉 燒烤 串燒 居酒屋 鐵板燒 牛排 牛排館 \
麻辣燙 排餐 排骨 雞排 炸雞 鹽酥雞 滷味
    牛肉麵 牛肉麵店 牛肉湯 拉麵 拉麵店 烏龍麵 麵 麵店 麵館 麵食 麵食館 乾麵 意麵 涼麵 陽春麵 刀削麵 米線 米粉 湯麵 \
義大利麵 披薩 漢堡 三明治 吐司
    飯 便當 便當店 滷肉飯 魯肉飯 雞肉飯 火雞肉飯 炒飯 燴飯 咖哩 咖哩飯 丼飯 丼 壽司 生魚片 蓋飯 粥 粥品 鹹粥 羊肉 \
羊肉爐 薑母鴨 鵝肉 鴨肉 豬腳 海鮮 熱炒 快炒
    水餃 鍋貼 小籠包 包子 湯包 蔥油餅 燒餅 油條 豆漿 早餐 早餐店 早午餐 早點 早點店 午餐 晚餐 宵夜 下午茶 點心 甜點 \
甜點店 甜品 蛋糕 蛋糕店 麵包 麵包店 烘焙 烘焙坊
    冰 冰店 冰品 刨冰 豆花 豆花店 飲料 飲料店 飲品 手搖 手搖飲 茶 茶飲 茶館 茶坊 奶茶 珍珠奶茶 紅茶 綠茶 咖啡 咖啡店 \
咖啡廳 咖啡館 酒吧 餐酒館 啤酒 啤酒屋
    日式 韓式 泰式 中式 西式 美式 義式 法式 港式 台式 川味 日本 韓國 泰國 泰 越南 義大利 法國 美國 印度 四川 客家 素食 \
蔬食 吃到飽 自助餐 無菜單 私房 私房菜 創意 傳統 古早味 手工 手作 現做 現炒 家庭
    家常 家常菜 和風
    親子 寵物 夜市 市場 路邊攤 攤 攤販 大排檔 茶餐廳 飲茶 烤鴨 燒臘 合菜 桌菜 宴會 婚宴 會館 樂園 農場 莊園 民宿 旅館 \
超市 便利商店 商店 公司 集團 食品 餐飲 國際 連鎖 品牌 企業
    好吃 好喝 美味 好味道 好滋味 好味 好好吃 超好吃 推薦 必吃 必喝 人氣 排隊 熱門 便宜 平價 划算 新鮮 健康 天然 幸福 \
快樂 開心 滿足 驚喜 溫馨 溫暖 舒服 舒適 安靜 熱情 親切 一級棒 不一樣 好地方
    老地方 大胃王 小時候
    媽媽 阿嬤 阿媽 阿公 奶奶 爺爺 爸爸 老闆 老闆娘 老板 阿姨 叔叔 大叔 阿伯 阿婆 姊姊 姐姐 妹妹 弟弟 哥哥 朋友 好朋友 \
家人 師傅 店員 服務 客人 小朋友 孩子 大家 我們 自己 今天 味道 口味 價格
    環境 氣氛 份量 湯頭 食材 小菜
    這裡 這家 那家 時光 生活 回憶 家 家鄉 鄉村 城市 森林 花園 陽光 海邊 山上 車 家族 週末 假日 公休 外帶 內用 外送 \
預約 訂位 停車
    洋食 鬆餅 輕食 定食 沙拉 麵線 蚵仔 臭豆腐 肉圓 碗粿 肉羹 蛋餅 飯糰 酸菜魚 烤魚 烤雞 可頌 布丁 仙草 芋圓 冰淇淋 \
霜淇淋 果汁 鮮奶 碳烤 炭烤 炭火 炭燒 鍋 鍋燒 鍋燒意麵 嫩豆腐 豆腐煲 煲 雞湯 湯 菜 魚 蝦 蟹 肉
    雞 鴨 鵝 牛 豬 羊""")
_GENERIC_LATIN = frozenset(
    _words("""
    the a an and of at in on by to for my your our no new old good great best yummy tasty delicious nice fresh food
    foods kitchen house home
    restaurant restaurants cafe café coffee bar bistro pub diner dining eatery bakery pizza pasta steak steakhouse
    burger burgers brunch
    breakfast lunch dinner tea sushi ramen noodle noodles rice soup beef pork chicken fish seafood bbq grill hot pot
    hotpot buffet hotel lounge
    shop store branch taipei taiwan taichung tainan kaohsiung japan japanese korean korea thai italian french
    chinese american india indian vegan vegetarian
    dessert desserts cake cakes ice cream wine beer ok wow cp line ig fb app menu google open original""")
)
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20}
_BRACKETED = re.compile(r"\([^()]*\)|\[[^\[\]]*\]|【[^【】]*】|《[^《》]*》|〈[^〈〉]*〉|「[^「」]*」|『[^『』]*』")
# A hyphen inside a Latin word or a number (7-11, Coca-Cola) separates nothing.
_SEPARATOR = re.compile(r"\s[-/~]\s|(?<![A-Za-z0-9])[-/~]|[-/~](?![A-Za-z0-9])|[–—―─|｜:;,，、•●★☆➤│]")
_ATOM = re.compile(r"[a-z0-9\u00c0-\u024f]+|[^\W_]", re.IGNORECASE)
_GAP = "[^\\w\\ufffc\n]{0,3}"


_SAID = "[^\\s\\ufffc，,。！!？?；;：:、…~～的了很就得我们这那有没「」『』“”\"'（）()\\[\\]]{2,10}"
_ANNOUNCED = re.compile(
    rf"""店名就?(?:[貌好]似)?(?:是|叫做?|为|[:：])\s?[「『“]?(?P<verb>{_SAID})
    | [这那]?[间家]店?名?叫做?\s?[「『“]?(?P<called>{_SAID})
    | [「『“](?P<quoted>{_SAID})[」』”][这那]?[间家店餐]
    | 叫做?[「『“]?(?P<of>{_SAID})[」』”]?的(?:店(?![员长])|餐[厅馆]|小店|咖啡[厅店])""",
    re.VERBOSE,
)


def announced(text: str) -> Iterator[str]:
    """The names that a text of Simplified script gives to shops: 店名是…, 這家叫…, 「…」這家, 叫做…的店."""
    return (match[match.lastgroup] for match in _ANNOUNCED.finditer(text) if match.lastgroup)


def pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    """What finds the names in a text of Simplified script and ASCII width; None if no form is worth looking for."""
    spellings = {converter("t2s")(form) for name in names for form in forms(name)}
    whole = {converter("t2s")(_tidy(name)) for name in names}
    if not spellings:
        return None
    spelt = "|".join(
        _marked(form) if form not in whole and _ordinary(form) else _spelt(form)
        for form in sorted(spellings, key=lambda form: (-len(form), form))
    )
    return re.compile(f"(?:{spelt})(?:{_branch()})?", re.IGNORECASE)


def spans(text: str, names: re.Pattern[str]) -> list[Span]:
    """Where `names` stand in a text, short ones not as parts of other words: 大王品質 has no 王品."""
    found = [match.span() for match in names.finditer(text)]
    return [(start, end) for start, end in found if end - start > 3 or not (crosses(text, start) or crosses(text, end))]


def forms(name: str) -> tuple[str, ...]:
    """The name and its short forms, the longest first."""
    candidates = {" ".join(form.split()) for form in _candidates(_tidy(name))}
    return tuple(sorted((form for form in candidates if _tells(form)), key=lambda form: (-len(form), form)))


def _tidy(name: str) -> str:
    return " ".join(unicodedata.normalize("NFC", name.translate(_WIDTH)).split())


def _candidates(name: str) -> Iterator[str]:
    yield name
    if (leading := _BRACKETED.match(name.strip())) and leading[0][0] not in "([":
        yield from _shorter(leading[0][1:-1])
    for aside in _BRACKETED.findall(name):
        if not HAN.search(aside):  # 鼎香園 (Ding Xiang Yuan); in Han it is a note such as (週一公休)
            yield aside[1:-1]
    bare = _BRACKETED.sub(" ", name)
    yield bare
    heads = [part.strip() for part in _SEPARATOR.split(bare)]
    if head := next((part for part in heads if _tells(_without_branch(part))), None):
        yield from _shorter(head)


def _shorter(head: str) -> Iterator[str]:
    yield head
    short = _without_branch(head)
    yield short
    # What comes after the first name in a script describes it: Woosa洋食‧鬆餅屋. One Han character is part of 85度C or
    # 50嵐.
    if run := re.search(r"[\u3400-\u9fff\U00020000-\U0003ffff]{2,}", short):
        yield run[0]
        yield from _without_kind(run[0])
    if run := re.search(r"[A-Za-z\u00c0-\u024f][A-Za-z0-9\u00c0-\u024f '’&.-]*", short):
        yield run[0]


def _without_branch(name: str) -> str:
    """鼎香園 from 鼎香園信義店, 鼎香園 信義 and 鼎香園 不知名路店."""
    branch, spaced = _branch_patterns()
    before = ""
    while before != name:
        before = name
        for ending in (branch, spaced):
            shorter = ending.sub("", name).strip()
            name = shorter if _tells(shorter) else name
    return name


def _without_kind(name: str) -> Iterator[str]:
    """王品牛排 and 王品 of 王品牛排餐廳: a name without one and more of the words that end it."""
    while kind := next((name[-size:] for size in (4, 3, 2, 1) if _ends_in_kind(name, size)), ""):
        name = name.removesuffix(kind)
        yield name


def _ends_in_kind(name: str, size: int) -> bool:
    """Whether the last characters are a word for a kind of shop or food, and what they leave can be a name."""
    kind = converter("t2s")(name[-size:])
    enough = _han(name) - size >= (2 if size > 1 or kind in _ORDINALS else 3)
    return enough and (kind in _simplified((*_AREAS, *_GENERIC, *_ORDINALS)) or (size > 1 and is_word(kind, above=10)))


def _ordinary(form: str) -> bool:
    """Whether a short form is a word of its own, or a frequent one and a character: 春天, 好天氣."""
    split = ((form[:1], form[1:]), (form[:2], form[2:]))
    return is_word(form, 25) or (
        len(form) == 3 and any(is_word(left, 1_000) and is_word(right, 1_000) for left, right in split)
    )


def _tells(form: str) -> bool:
    """Whether a form is long enough and made of more than generic words."""
    atoms = _ATOM.findall(form)
    han = _han(form)
    letters = sum(char.isalpha() for char in form) - han
    others = sum(len(atom) for atom in atoms) - han
    if han / 2 + others / 3 < 1 or not (han or letters >= 2):
        return False
    latin = [atom.casefold() for atom in atoms if not HAN.match(atom)]
    rest = "".join(atom for atom in atoms if HAN.match(atom))
    named_in_han = bool(rest) and _find_ending(converter("t2s")(rest), _generic_words()) > 0
    return named_in_han or any(word not in _GENERIC_LATIN and not word.isdigit() for word in latin)


def _han(text: str) -> int:
    return len(HAN.findall(text))


def _spelt(form: str) -> str:
    """A pattern for a form: marks and spaces between its parts may differ; one space may part Han characters."""
    atoms = list(_ATOM.finditer(form))
    parts = [re.escape(atoms[0][0])]
    loose = _han(form) >= 3  # with two, 很好 吃香 would hold the name 好吃
    for before, atom in pairwise(atoms):
        joined = before.end() == atom.start() and HAN.match(before[0]) and HAN.match(atom[0])
        parts.append((" ?" if loose else "") if joined else _GAP)
        parts.append(re.escape(atom[0]))
    word = "[A-Za-z0-9]"
    left = f"(?<!{word})" if re.match(word, atoms[0][0]) else ""
    right = f"(?!{word})" if re.match(word, atoms[-1][0][-1]) else ""
    return left + "".join(parts) + right


def _marked(form: str) -> str:
    """A pattern for a form that is a word too: 「春天」 and 春天信義店 are names, 春天 alone is none."""
    return f'(?<=[「『“"【]){form}(?=[」』”"】])|{form}(?={_branch()})'


@cache
def _simplified(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(converter("t2s"), words))


def _any(words: list[str]) -> str:
    """Either script, the longest word first."""
    return "|".join(sorted(_both(*words), key=lambda word: (-len(word), word)))


@cache
def _both(*words: str) -> frozenset[str]:
    """Words in either script."""
    return frozenset(form for word in words for form in (word, converter("t2s")(word)))


@cache
def _generic_words() -> frozenset[str]:
    return _both(*_AREAS, *_GENERIC, *_ORDINALS, *(f"{word}店" for word in _ORDINALS))


def _find_ending(text: str, words: frozenset[str]) -> int:
    """Where the longest ending of a text begins that consists of some words. No expression: 牛肉麵店 is one word, two,
    and three, so ten of them are read in a million ways.
    """
    starts = {len(text)}
    longest = max(map(len, words))
    for start in reversed(range(len(text))):
        if any(end in starts and text[start:end] in words for end in range(start + 1, start + longest + 1)):
            starts.add(start)
    return min(starts)


@cache
def _branch() -> str:
    """The branch that a review may name behind a place's name: 信義店, (台北信義店), 二店; never 這家店 or 最好的店."""
    kinds, plain = (
        "(?:分店|門市|门市|(?:店|館|馆)(?![員员長长面家裡里]))",
        "[^\\W\\da-zA-Z的了很最真太超是在有好這这那家間间]",
    )
    named = f"(?:(?:{_any(_AREAS)}){{1,4}}{plain}{{0,3}}?|{plain}{{1,4}}?[路街]|(?:{_any(_ORDINALS)})){kinds}"
    return f"[ _-]?{named}|[ ]?[(（]{named}[)）]"


@cache
def _branch_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    areas, ordinals, kinds = _any(_AREAS), _any(_ORDINALS), "(?:分店|門市|门市|店|館|馆)"
    named = rf"(?<![\s_-])[\s_-]*(?:(?:{areas}){{1,4}}[\u4e00-\u9fff]{{0,4}}|(?:{ordinals})){kinds}$"
    spaced = rf"(?<![\s_-])[\s_-]+(?:\S{{1,10}}{kinds}|(?:{areas}){{1,4}})$"
    return re.compile(named), re.compile(spaced)
