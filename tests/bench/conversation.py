"""A long conversation of two friends, one turn a document, with questions about it; in English and Chinese.

Made from templates and a seed, so that it is the same everywhere. An exchange is a lead (often a question that
names the topic), an answer (the evidence: often with "it", "there" or "she" for what the lead named) and a
reaction. Topics, people and places come back in many sessions with other details, so a question is answered by
one of several look-alikes. Questions differ from their evidence by word order, tense and number; some name only
what the lead said, some ask for a month.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from tests.bench.sets import Question, QuestionSet, Turn

# (kind, lead, evidence, question); S is who tells, O the other one
EXCHANGES = (
    ("direct", "What have you been up to, {S}?", "I bought {n} {plants} for the {spot} and planted them before it rained. My back still hurts.", "What did {S} plant in the {spot}?"),
    ("direct", "You look tired today.", "Well, I ran the {city} half marathon with {friend} this morning! We finished in {n} minutes over two hours.", "Who ran the half marathon in {city} with {S}?"),
    ("context", "How is the {craft} class going, {S}?", "Really fun. We made a {thing} last week and the teacher let me keep it.", "What did {S} make in the {craft} class?"),
    ("context", "Did you hear back about the {job} position?", "Yes, they called {day}. I start on the {n}th and the pay is better than I hoped.", "When does {S} start the {job} position?"),
    ("context", "Tell me about your trip to {city}!", "The food was the best part. {friend} took us to a tiny place near the {spot} and we stayed until midnight.", "Where did {friend} take {S} during the trip to {city}?"),
    ("direct", "Any news from the family?", "My {kin} is moving to {city} next month because of a new job at the {work}.", "Why is the {kin} of {S} moving to {city}?"),
    ("direct", "What are you reading these days?", "I am halfway through a book about {subject}, {friend} lent it to me. Slow start, but it grows on you.", "Which book did {friend} lend to {S}?"),
    ("context", "Is the {pet} feeling better?", "Much better, thanks! The vet said it was only {ill}, so we give her drops twice a day.", "What was wrong with the {pet} of {S}?"),
    ("direct", "So, the weekend?", "We drove to the {spot} near {city} and slept in a tent. It got so cold that {friend} wore {n} sweaters.", "Where did {S} sleep in a tent?"),
    ("temporal", "Did anything happen {S}?", "Yesterday I finally passed the {exam} exam. I had failed it {n} times, so I cried a little.", "When did {S} pass the {exam} exam?"),
    ("temporal", "Long time no see!", "I know, I was in {city} last week for a {subject} workshop and barely slept.", "When was {S} at the {subject} workshop in {city}?"),
    ("direct", "Have you been playing any music lately?", "I've started learning the {instrument}. {friend} teaches me every {day} evening after work.", "Who is teaching {S} to play the {instrument}?"),
    ("context", "Did the {thing} ever arrive?", "It came {day}, broken. They sent me {n} dollars back and an apology.", "How much money did {S} get back for the broken {thing}?"),
    ("direct", "What did you cook?", "I tried {friend}'s recipe for {dish} and burned it, so we ordered pizza. The kitchen smelled for {n} days.", "Whose recipe for {dish} did {S} try?"),
    ("context", "And the charity {event}?", "We raised {n} hundred dollars! The money goes to the {work} in {city}.", "How much was raised by {S} at the charity {event}?"),
    ("context", "You were worried about your {kin}, right?", "She broke her wrist falling off a ladder, but the cast comes off in {n} weeks.", "How did the {kin} of {S} break her wrist?"),
    ("direct", "Anything new at home?", "We painted the {room} {color} over the weekend. {friend} hates it, I love it.", "What color did {S} paint the {room}?"),
    ("temporal", "I saw pictures of the party.", "Oh yes, we threw {friend} a surprise party in the {room} two days ago, with {n} guests and a {dish} cake.", "When was the surprise party for {friend} thrown by {S}?"),
    ("context", "Why did you leave the {club} club?", "Too many rules, honestly. {friend} and I want to found our own one by the {spot}.", "Why did {S} quit the {club} club?"),
    ("direct", "Big plans?", "I signed up to volunteer at the {work}, every {day} for {n} weeks. They train you first.", "Where is {S} volunteering?"),
    ("month", "What a month.", "I sold my old {vehicle} to {friend} for {n} hundred dollars and took the bus instead.", "What did {S} sell in {month}?"),
    ("month", "How have you been?", "Busy! I gave a talk on {subject} at the {work} and nobody fell asleep.", "What was the talk about that {S} gave in {month}?"),
    ("direct", "Do you still have that allergy?", "Yes, the doctor told me to avoid {dish} and {plants}. I carry {n} pills in my bag now.", "What should {S} avoid because of the allergy?"),
    ("context", "How did the meeting at the {work} go?", "They chose my design! We begin building in the spring with {friend} as the lead.", "Who leads the building of the design chosen at the {work}?"),
)  # fmt: skip
FILLER = (
    "That sounds lovely, {S}! I wish I had been there.", "Wow, {S}, I am so happy for you.", "Oh no, I am sorry to hear that.",
    "I have been thinking about the {craft} class too, maybe next year.", "Remember when we went to {city} with {friend}? Good times.",
    "Did {friend} ever tell you about the {event}? Ask him, it is hilarious.", "My {pet} is asleep on the {thing} right now.",
    "The weather in {city} was awful again this week.", "Thanks for listening, {S}, it means a lot.", "I could never learn the {instrument}, my hands are too slow.",
    "Same here. The {work} has been so busy lately.", "{friend} says hi, by the way! What did you two do at the {event}?", "I love {dish}, we should cook it together soon.",
    "What do you think about {subject}? I know so little.", "The {room} at my place needs some paint as well.", "Haha, that is so you.", "You should write a book about it one day, {S}.",
    "I am going to buy some {plants} tomorrow, any tips?", "Everyone needs a friend like {friend}.", "Where did you find the {vehicle}? I am looking for one.",
)  # fmt: skip
SLOTS = {
    "plants": "tulips|tomatoes|lavender bushes|strawberries|sunflowers|pepper seedlings", "spot": "balcony|riverbank|courtyard|lighthouse|old mill|front yard|vineyard|reservoir",
    "city": "Lisbon|Denver|Kyoto|Leeds|Oslo|Montreal|Lima|Riga|Seville", "friend": "Priya|Tomas|Gwen|Oscar|Leila|Hugo|Ingrid|Samir|Paula|Dmitri", "craft": "pottery|weaving|woodworking|calligraphy|glass blowing|origami|sewing",
    "thing": "lamp|blanket|teapot|bookshelf|mirror|vase|armchair", "job": "librarian|nurse manager|data analyst|translator|park ranger|pastry chef", "day": "Monday|Tuesday|Wednesday|Thursday|Friday",
    "kin": "sister|mother|aunt|grandmother|cousin|niece", "work": "shelter|museum|hospital|food bank|observatory", "subject": "whales|old maps|stoicism|bridges|fermentation|glaciers",
    "pet": "cat|rabbit|parrot|puppy|hamster|tortoise", "ill": "an ear infection|stress|a vitamin deficiency", "exam": "driving|pharmacy|sailing|welding", "instrument": "cello|banjo|accordion|harp",
    "dish": "lasagna|ramen|pumpkin soup|shakshuka|dumplings", "event": "auction|bake sale|concert|quiz night|regatta|flea market", "room": "kitchen|hallway|bedroom|attic", "color": "mint green|burgundy|pale yellow|navy blue",
    "club": "chess|rowing|debate|hiking|knitting|film", "vehicle": "scooter|van|bicycle|motorbike",
}  # fmt: skip
MONTHS = "January February March April May June July August September October November December".split()

EXCHANGES_ZH = (
    ("direct", "{S}，最近忙什么呢？", "我在{spot}种了{n}棵{plants}，累得腰都直不起来。", "{S}在{spot}种的是什么？"),
    ("context", "{craft}课上得怎么样？", "很有意思，上周我们做了一个{thing}，老师让我带回家了。", "{S}在{craft}课上做了什么东西？"),
    ("context", "去{city}的旅行好玩吗？", "吃的最棒！{friend}带我们去了{spot}旁边的小店，坐到半夜。", "去{city}旅行时{friend}带{S}去了哪里？"),
    ("direct", "家里有什么消息吗？", "我{kin}下个月搬到{city}，因为她在{work}找到了新工作。", "{S}的{kin}为什么要搬去{city}？"),
    ("direct", "你在看什么书？", "看一本讲{subject}的书，是{friend}借给我的，开头有点慢。", "{friend}借给{S}的书讲的是什么？"),
    ("context", "你家{pet}好点了吗？", "好多了，医生说只是{ill}，每天滴两次药水就行。", "{S}的{pet}得了什么病？"),
    ("temporal", "有什么好消息？", "我昨天终于通过了{exam}考试，之前考了{n}次都没过。", "{S}是什么时候通过{exam}考试的？"),
    ("direct", "最近还玩音乐吗？", "我开始学{instrument}了，{friend}每个{day}晚上教我。", "谁在教{S}学{instrument}？"),
    ("direct", "周末做饭了吗？", "按{friend}的菜谱做了{dish}，结果烧糊了，只好点外卖。", "{S}用的是谁的{dish}菜谱？"),
    ("context", "慈善{event}办得如何？", "我们筹到了{n}百块钱，全部捐给{city}的{work}。", "慈善{event}上{S}筹了多少钱？"),
    ("direct", "家里有变化吗？", "我们把{room}刷成了{color}，{friend}不喜欢，我很喜欢。", "{S}家的{room}刷成什么颜色了？"),
    ("month", "这个月怎么样？", "我把旧{vehicle}卖给了{friend}，卖了{n}百块，现在坐公交。", "{month}{S}把什么卖掉了？"),
)  # fmt: skip
FILLER_ZH = (
    "听起来真不错，{S}！", "太好了，我真为你高兴。", "哎呀，真替你难过。", "我也想报{craft}课，明年吧。", "还记得我们和{friend}一起去{city}吗？", "我家{pet}现在睡在{thing}上。",
    "这周{city}的天气又很糟糕。", "谢谢你听我说这些。", "我永远学不会{instrument}，手太慢。", "最近{work}特别忙。", "{friend}让我向你问好。", "我最爱吃{dish}，改天一起做。", "你对{subject}怎么看？", "我家{room}也该重新刷了。",
)  # fmt: skip
SLOTS_ZH = {
    "plants": "郁金香|番茄|薰衣草|草莓|向日葵", "spot": "阳台|河边|院子|灯塔|老磨坊|葡萄园|水库", "city": "杭州|成都|京都|大连|厦门|西安|昆明", "friend": "小芳|老李|阿杰|王姐|陈晨|张伟|丽丽|周老师", "craft": "陶艺|编织|木工|书法|剪纸",
    "thing": "台灯|毯子|茶壶|书架|花瓶|木碗", "kin": "妹妹|妈妈|姑姑|表姐", "work": "博物馆|医院|图书馆|天文台", "subject": "鲸鱼|古地图|桥梁|发酵|冰川", "pet": "猫|兔子|鹦鹉|小狗", "ill": "耳朵发炎|紧张|缺维生素",
    "exam": "驾照|药师|航海|焊工", "instrument": "大提琴|手风琴|竖琴|二胡", "dish": "饺子|拉面|南瓜汤|红烧肉", "event": "拍卖会|义卖|音乐会", "room": "厨房|走廊|卧室|阁楼", "color": "薄荷绿|酒红色|浅黄色|深蓝色",
    "vehicle": "摩托车|面包车|自行车", "day": "周一|周二|周三|周四",
}  # fmt: skip
MONTHS_ZH = [f"{name}月" for name in "一 二 三 四 五 六 七 八 九 十 十一 十二".split()]


def english() -> QuestionSet:
    return _conversation("conversation", 7, 1900, EXCHANGES, FILLER, SLOTS, ("Nora", "Elliot"), MONTHS, ": ")


def chinese() -> QuestionSet:
    return _conversation(
        "chinese", 11, 1900, EXCHANGES_ZH, FILLER_ZH, SLOTS_ZH, ("小红", "大明"), MONTHS_ZH, "："
    )


def _conversation(
    name: str,
    seed: int,
    size: int,
    exchanges: tuple[tuple[str, str, str, str], ...],
    fillers: tuple[str, ...],
    slots: dict[str, str],
    speakers: tuple[str, str],
    months: list[str],
    colon: str,
) -> QuestionSet:
    random_ = random.Random(seed)
    at = datetime(2025, 10, 3, 18, 0, tzinfo=UTC)
    turns: list[Turn] = []
    asked: dict[str, tuple[set[str], str]] = {}

    def say(who: str, text: str) -> str:
        turns.append(Turn(f"t{len(turns):04}", f"{who}{colon}{text}", at.isoformat()))
        return turns[-1].id

    while len(turns) < size:
        if len(turns) % 48 < 3:
            at += timedelta(days=random_.randint(5, 12))
        at += timedelta(minutes=1)
        teller, other = random_.sample(speakers, 2)
        values = {slot: random_.choice(words.split("|")) for slot, words in slots.items()}
        values |= {"S": teller, "O": other, "n": str(random_.randint(2, 29)), "month": months[at.month - 1]}
        if random_.random() < 0.42:
            say(random_.choice(speakers), random_.choice(fillers).format(**values))
            continue
        kind, lead, answer, question = random_.choice(exchanges)
        say(other, lead.format(**values))
        evidence = say(teller, answer.format(**values))
        asked.setdefault(question.format(**values), (set(), kind))[0].add(evidence)
        if random_.random() < 0.6:
            say(other, random_.choice(fillers).format(**values))
    questions = [Question(text, frozenset(ids), kind) for text, (ids, kind) in asked.items() if len(ids) <= 5]
    random_.shuffle(questions)
    return QuestionSet(name, tuple(turns), tuple(questions[:400]))
