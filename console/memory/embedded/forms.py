"""Other forms of an English word that a stemmer cannot know: irregular verbs and plurals, and a few words that
people swap freely. General English only; nothing here knows what is stored."""

from __future__ import annotations

_GROUPS = """
    go goes going went gone; buy buys buying bought; bring brings bringing brought; think thinks thinking thought;
    teach teaches teaching taught teacher; catch catching caught; fight fighting fought; seek sought; make makes making made;
    take takes taking took taken; give gives giving gave given; get gets getting got gotten; forget forgot forgotten;
    see sees seeing saw seen; say says said; tell tells told telling; sell sells selling sold; find finds finding found;
    keep keeps kept keeping; sleep sleeps sleeping slept; feel feels feeling felt; leave leaves leaving left; meet meets meeting met;
    lose loses losing lost; send sends sending sent; spend spends spending spent; lend lends lending lent; build builds building built;
    write writes writing wrote written; ride rides riding rode ridden; drive drives driving drove driven; rise rose risen;
    speak speaks speaking spoke spoken; break breaks breaking broke broken; choose chooses choosing chose chosen choice;
    eat eats eating ate eaten; fall falls falling fell fallen; know knows knew known; grow grows growing grew grown;
    throw throws throwing threw thrown; draw draws drawing drew drawn; fly flies flying flew flown flight; show shown showed showing;
    swim swims swimming swam swum; sing sings singing sang sung song; drink drinks drinking drank drunk; begin begins beginning began begun;
    run runs running ran; come comes coming came; become becoming became; win wins winning won; hold holding held; stand stood standing;
    understand understood; pay pays paying paid payment; hear hears hearing heard; read reading reader; wear wears wore worn wearing;
    bear bore born; tear tore torn; hide hid hidden; bite bit bitten; steal stole stolen; freeze froze frozen; wake woke woken;
    shake shook shaken; lead leads leading led leader; feed fed feeding; hang hung; stick stuck; strike struck; dig dug; swear swore sworn;
    shoot shot shooting; sit sat sitting; shut shutting; lie lay lain; bind bound; deal dealt; mean meant; dream dreamt dreamed;
    learn learnt learned; burn burnt burned; bend bent; sweep swept; blow blew blown; withdraw withdrew withdrawn; overcome overcame;
    child children kid kids; person people; man men; woman women; mouse mice; foot feet; tooth teeth; goose geese; wife wives;
    life lives live living; knife knives; leaf leaves; half halves; analysis analyses; index indices indexes; criterion criteria;
    mom mum mother moms mums mothers; dad father dads fathers; grandma grandmother; grandpa grandfather; husband spouse; sibling siblings brother sister;
    photo photos picture pictures photograph photographs; movie movies film films; bike bicycle bikes bicycles; phone telephone;
    tv television; fridge refrigerator; apartment flat; doctor physician dr; vet veterinarian; gym fitness; job position occupation;
    quit leave left quitting; start starts started starting begin began begun; begin began start started; end ended finish finished; finish finished end ended complete completed;
    fix fixed repair repaired; buy bought purchase purchased; color colour colors colours; favorite favourite; happy glad; sick ill illness; angry mad;
    big large huge; small little tiny; choose pick picked select selected; error errors bug bugs failure; delete remove deleted removed; config configuration settings;
    db database databases; auth authentication authorization; repo repository repositories; docs documentation; env environment; dir directory folder;
    one 1; two 2; three 3; four 4; five 5; six 6; seven 7; eight 8; nine 9; ten 10; eleven 11; twelve 12;
    1 one; 2 two; 3 three; 4 four; 5 five; 6 six; 7 seven; 8 eight; 9 nine; 10 ten
"""
_LEAVES = frozenset(
    {
        "leaves",
        "left",
        "lives",
        "saw",
        "bit",
        "lay",
        "bound",
        "1",
        "2",
        "3",
        "4",
        "5",
        "6",
        "7",
        "8",
        "9",
        "10",
    }
)
"""Words of two groups: they are looked up under the first only."""


def _table() -> dict[str, tuple[str, ...]]:
    groups = [tuple(group.split()) for group in _GROUPS.split(";")]
    table: dict[str, tuple[str, ...]] = {}
    for group in groups:
        for word in group:
            if word in table and word in _LEAVES:
                continue
            known = table.get(word, ())
            table[word] = tuple(dict.fromkeys((*known, *(other for other in group if other != word))))
    return table


_TABLE = _table()


def others(word: str) -> tuple[str, ...]:
    """Without the word itself; () for most words."""
    return _TABLE.get(word, ())
