"""Words that name nothing, compared without case and accents."""

from __future__ import annotations

import re

STOPWORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a able about above after again against all almost alone along already also although always am among an and another
        any anyone anything are aren around as ask at away back be became because become been before being below between
        both but by call came can cannot come could couldn did didn do does doesn doing don done down during each either
        else enough even ever every everything few find first for from further get gets getting give given go goes going
        good got had hadn has hasn have haven having he hello help her here hers hey hi him his how however i if in
        instead into is isn it its itself just keep kind know last least less let like ll look looks made make makes many
        may maybe me mean might mine more most much must my myself need needs never new next no none nor not nothing now
        of off often old on once one only onto or other others our ours out over own per perhaps please put quite rather
        re really said same say see seem seems shall she should shouldn show since so some someone something sometimes
        soon still such take tell than thank thanks that the their theirs them then there therefore these they thing
        things think this those though through thus to together too toward two under until up upon us use used uses using
        ve very via want was wasn way we well went were weren what whatever when where whether which while who whole whom
        whose why will with within without won would wouldn yes yet you your yours

        ack agreed alright apply approve approved begin carry change check continue correct exactly execute fine fix great
        implement nice nope ok okay perfect proceed ready resume retry right run start stop sure try understood update
        work works write yeah yep

        agli ai al alla alle allo anche ancora avere aveva bene che chi ci come con continua contro cosa cosi da dagli dai
        dal dalla dalle dallo degli dei del della delle dello dentro di dopo dove dunque e ecco ed era esegui essere fai
        fare fatto fino fra gli grazie ha hai hanno ho il implementa in io la le lei li lo loro lui ma me mi mia mio molto
        negli nei nel nella nelle nello no noi non nostro o ogni ora per perche perfetto piu poi prima procedi prossimo
        quale quando quanto quella quello questa questo qui riprendi sara se sei senza si sia siamo siete solo sono sopra
        sotto sta stato stesso su sua subito sugli sul sulla sulle sullo suo tra tu tua tuo tutti tutto un una uno va vai
        vi voi vostro
        """,
    )
)
"""Of English and Italian, as the planner specification asks (section 17). Those of acknowledgement and of going on with the work
are among them, so that "ok, continue" asks for nothing."""
