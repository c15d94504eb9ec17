"""The words that the judgement of pairs knows. Data only; small on purpose: what is not here still counts as itself."""

from __future__ import annotations

STOP = frozenset(
    "the a an of to in on at for from with by as and or is are was were be been being am do does did has have had it its "
    "this that these those there here we our ours us i my you your they their them he she his her will would shall "
    "may can could should must up out off so than then which who whom whose what where when into onto over under "
    "currently basically actually also just now still get gets got getting already about via per s t".split()
)
"""Words that carry no statement. ``not`` and its kin are no part of them: they are counted as polarity."""

KEPT_PREPOSITIONS = frozenset("before after above below".split())

ZH_STOP = frozenset(
    "的了是在于已经被把由会要就都也用来对其实目前们这那和与及将得地着过很有从为可以能我你他它并所之给到而且或个"
)

NEGATIONS = frozenset("not no never none nothing neither nor without cannot nobody hardly".split())
NEGATING_PHRASES = (
    ("no longer", " not "),
    ("instead of", " insteadof "),
    ("not only", " "),
    ("no later than", " until "),
    ("no more than", " at most "),
    ("no less than", " at least "),
    ("not until", " until "),
    ("by hand", " manually "),
    ("in charge of", " owns "),
    ("is responsible for", " owns "),
    ("are responsible for", " owns "),
    ("responsibility of", " owns "),
    ("'s responsibility", " owns "),
    ("kick off", " start "),
    ("kicks off", " starts "),
    ("time out", " timeout "),
    ("times out", " timeout "),
    ("timed out", " timeout "),
    ("larger than", " over "),
    ("greater than", " over "),
    ("more than", " over "),
    ("once a week", " weekly "),
    ("every week", " weekly "),
    ("each week", " weekly "),
    ("every night", " nightly "),
    ("each night", " nightly "),
    ("every day", " daily "),
    ("each day", " daily "),
    ("per day", " daily "),
    ("every month", " monthly "),
    ("per month", " monthly "),
    ("a month", " monthly "),
    ("every hour", " hourly "),
    ("each hour", " hourly "),
    ("at rest", " "),
)

SYNONYMS = (
    "keep retain store save persist",
    "clear empty purge flush wipe",
    "deploy deployment rollout ship",
    "own owner maintain maintainer responsible",
    "finish complete end done",
    "start begin launch commence",
    "reject refuse deny disallow",
    "delete remove erase",
    "live home reside based",
    "rebuild regenerate reindex recreate",
    "send deliver",
    "use utilize employ",
    "run execute",
    "write author",
    "handle process",
    "call name named title",
    "rename renamed",
    "need require necessary",
    "at_most maximum max limit",
    "minimum min least",
    "picture image photo",
    "log logfile",
    "file files",
    "request call",
    "expire lapse invalid",
    "like love enjoy",
    "dislike hate",
    "price cost fee",
    "choose pick select chosen",
    "speed performance fast",
    "only restricted exclusively",
    "talk communicate speak",
    "repository repo",
    "database db",
    "config configuration setting",
    "environment env",
    "production prod",
    "development dev",
    "authentication auth",
    "documentation docs doc",
    "application app",
    "favourite favorite preferred",
    "second sec s",
    "minute min_",
    "hour hr",
    "week weekly",
    "day daily",
    "month monthly",
    "night nightly",
    "meet meeting",
    "error failure",
    "fix repair",
    "show display",
    "make create build",
    "change modify alter",
    "move migrate migration",
    "switch switched",
    "allow permit",
    "stop halt",
    "big large",
    "fast quick",
    "idle inactive",
    "customer client",
    "manual manually",
    "automatic automatically",
)

ANTONYMS = (
    "enable disable", "enable off", "on off", "succeed fail", "pass fail", "success failure", "success fail", "synchronous asynchronous",
    "sync async", "public private", "mandatory optional", "require optional", "increase decrease", "rise fall",
    "grow shrink", "allow forbid", "allow prohibit", "allow block", "allow deny", "allow reject", "permit forbid", "accept reject", "accept refuse",
    "before after", "above below", "minimum maximum", "least most", "open close", "start stop", "true false",
    "internal external", "add remove", "always never", "read-only writable", "encrypt unencrypted", "encrypt plaintext", "safe unsafe",
    "stable unstable", "supported unsupported", "fast slow", "high low", "more fewer", "more less", "like dislike", "love hate",
    "public internal", "automatic manual", "up down", "online offline", "valid invalid", "known unknown",
    "active inactive", "visible hidden", "keep delete", "keep drop", "include exclude", "upgrade downgrade", "merge revert",
    "local remote", "new old", "approve reject", "first last", "lock unlock", "mutable immutable", "strict lenient",
    "recommend discourage", "prefer avoid", "use avoid", "deprecate recommend", "free paid", "blocking non-blocking",
    "single-threaded multi-threaded", "stateful stateless", "ascending descending", "faster slower", "higher lower", "larger smaller",
)  # fmt: skip

ZH_ANTONYMS = (
    "开启 关闭", "启用 禁用", "启用 停用", "打开 关闭", "必填 选填", "必填 可选", "必须 可选", "允许 禁止", "允许 拒绝", "成功 失败", "通过 失败",
    "增加 减少", "上升 下降", "提高 降低", "公开 私有", "公开 保密", "同步 异步", "之前 之后", "最大 最小", "最多 最少", "上限 下限", "接受 拒绝",
    "支持 反对", "加密 明文", "自动 手动", "内部 外部", "在线 离线", "有效 无效", "喜欢 讨厌", "开始 结束", "保留 删除", "包含 排除", "免费 收费",
    "快 慢", "高 低", "早于 晚于", "升级 降级", "合并 回滚", "可变 不可变", "稳定 不稳定", "只读 可写", "本地 远程", "变快 变慢", "添加 移除",
)  # fmt: skip

SCOPES = frozenset(
    "staging production prod development dev test testing local locally ci linux macos mac windows android ios free paid trial premium "
    "enterprise team starter europe eu us asia admin admins guest guests backend frontend client server mobile web desktop first "
    "second third morning evening weekday weekend read write left right primary secondary source target".split()
)
"""Of these, two different ones speak of two different things."""
ZH_SCOPES = "测试环境 生产环境 开发环境 预发环境 免费 付费 前端 后端 移动端 网页端 管理员 访客 第一 第二 第三 上午 下午 本地 线上 国内 海外".split()

ADDITIVE = frozenset(
    "like love enjoy dislike hate support review write know speak visit meet attend click open press select include contain "
    "offer provide cover mention add fix read work learn buy eat watch play help test handle discuss suggest see "
    "depend import export call join emit accept also find report log send_ teach explain present create make document "
    "check cause affect want plan try ask need require say install describe list show".split()
)
"""What someone may do to several things at once: another object is no contradiction."""
ZH_ADDITIVE = (
    "喜欢",
    "支持",
    "审查",
    "撰写",
    "包含",
    "参加",
    "点击",
    "打开",
    "提供",
    "修复",
    "会说",
    "依赖",
    "讨论",
    "编写了",
    "需要",
    "提到",
    "检查",
    "安装",
)

OWNING = frozenset("own maintain lead manage run_ head chair approve".split())
"""Of which there is one: another subject contradicts."""
ZH_OWNING = ("负责", "维护", "领导", "管理", "主管", "拥有", "负责人")

VERBS = frozenset(
    "use run own maintain lead manage keep store save send live work write need require allow accept reject refuse support retry listen "
    "expire start end finish open close move migrate rename call name contain hold take give cost meet prefer like dislike love hate "
    "own approve review deploy release render hash back rotate rebuild return talk speak share log mean go come know make build create delete "
    "remove reset resize stay change fail pass succeed increase decrease wait limit serve read handle process belong own sit depend connect "
    "authenticate encrypt sign test check validate publish consume emit trigger schedule target point resolve map throw raise cache poll push "
    "pull sync clear freeze include exclude happen last begin include timeout default fall rise switch replace choose pick become remain "
    "export import get".split()
)

ZH_VERBS = (
    "改名为", "负责", "维护", "使用", "采用", "监听", "保留", "保存", "存储", "发送", "发到", "住在", "编写", "需要", "允许", "拒绝", "支持",
    "迁移", "改名", "叫做", "叫", "收费", "开会", "失效", "过期", "上线", "开放", "运行", "喜欢", "审查", "备份", "重试", "批准", "位于", "属于", "是",
    "用", "由", "为", "在", "有",
)  # fmt: skip

ZH_SYNONYMS = (
    ("编写", "写"), ("撰写", "写"), ("重新构建", "重建"), ("失效", "过期"), ("每周都", "每周"), ("周期", "期"), ("保存", "保留"), ("存放", "保留"), ("存储", "保留"),
    ("发邮件", "邮件发送"), ("的负责人是", "负责"), ("负责人", "负责"), ("叫做", "叫"), ("名为", "叫"), ("采用", "使用"), ("没有活动", "空闲"), ("期为", "会"), ("移除", "删除"),
    ("礼拜", "周"), ("星期", "周"), ("数据库", "库"), ("大于", "超过"), ("多于", "超过"), ("至多", "最多"), ("进行", ""), ("处理", ""), ("我们", ""),
    ("选择", ""), ("月费", "每月收费"), ("只能由", "只有"), ("用户", ""), ("如果", ""), ("的话", ""), ("时候", ""), ("目前", ""), ("其实", ""), ("现在", ""), ("备注", ""), ("注意", ""),
)  # fmt: skip

MONTHS = {
    name: n + 1
    for n, names in enumerate(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept|october oct|november nov|december dec".split("|")
    )
    for name in names.split()
}  # fmt: skip
WEEKDAYS = {
    name: n + 1
    for n, names in enumerate("monday mon|tuesday tue tues|wednesday wed|thursday thu thurs|friday fri|saturday sat|sunday sun".split("|"))
    for name in names.split()
}  # fmt: skip
NUMBERS = {
    word: str(n)
    for n, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
    )
} | {"twenty": "20", "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100", "dozen": "12", "once": "1", "twice": "2"}  # fmt: skip
ZH_DIGITS = {
    "零": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
LABELS = frozenset(
    "build adr issue ticket pr version release sprint chapter rule step run phase milestone job order invoice task story page section "
    "case row line item experiment node shard room floor batch commit incident".split()
)
"""``build 812``: the number behind these names a thing; where it is the subject, another number is another thing."""
