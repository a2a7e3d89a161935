"""Words that tell something else of a task, by language, written as those of `words`: several steps, code, what is not wanted."""

from __future__ import annotations

STEPS = """
    and_then after_that afterwards also then finally
    然后 并且 同时 接着 随后 最后 之后 之後 然後 並且 同時 接著 隨後 最後
    その後 それから 次に さらに そして 最後に 続いて 上で うえで
    그런_다음 그다음 그_다음 은_다음 한_다음 고_나서 그리고 또한 이후
    dann danach anschliessend ausserdem zusaetzlich schliesslich abschliessend
    luego y_despues despues, despues_de_eso ademas tambien entonces finalmente e_depois depois, depois_disso entao
        alem_disso em_seguida
    poi quindi inoltre infine successivamente
    puis ensuite aussi enfin
    затем потом также после_этого далее
"""
CODE = """
    function functions class classes method methods
    函数 函數 方法 这个类 関数 クラス メソッド 함수 클래스 메서드
    funktion funktionen klasse klassen methode methoden
    funcion funciones clase clases metodo metodos funcao funcoes funzione funzioni classe classi metodi fonction
        fonctions
    функци~ класс класса классе классы метод метода методы
"""

NEGATORS_BEFORE = """
    do_not dont don't no_need_to not never without avoid instead_of rather_than must_not mustn't should_not
        shouldn't no
    不要 不用 不必 无需 不需要 请勿 避免 别 不 無需 請勿 別
    nicht ohne kein keine keinen niemals
    sin nunca evita nao sem evite
    non senza mai
    ne n' sans jamais
    не без никогда не_надо не_нужно
"""
"""What follows one of them is not wanted."""
WITHOUT = "without ohne sin sem senza sans без"
"""Those of them that deny all of their clause, however far it goes."""
NEGATORS_AFTER = """
    ないで せずに せず しなくて 不要 必要はない 必要はありません 必要ありません なしで ことなく
    하지_말고 하지_마 하지_않고 지_말고 지_마 없이 필요_없
    nicht
"""
"""What precedes one of them is not wanted."""

FILLERS = """
    any the a an to just try trying even need it its touch touching break breaking your my our these this that
        existing other more further yet
    die den das der dem ein eine einen zu mehr etwas irgendwelche dabei jetzt
    el la los las un una ningun ninguna nada de o os as um uma il lo i gli le nessun nessuna le les des rien
    эти этот эту мои никакие ничего пока
"""
"""Words that may stand between a negator and what it denies."""
CONJUNCTIONS = """
    but and then only just und aber sondern nur y pero solo e ma mas et mais и но а только
"""
"""Words that end what a negator denies."""

ASSENTS = """
    yes yep yeah yup ok okay sure go_ahead proceed continue ja genau gut oui d'accord vas-y si vale claro adelante sim va_bene
    да ок хорошо давай 好的 好 是的 可以 行 继续 はい 了解 うん 네 예 응 좋아
"""
"""What a prompt begins with that agrees to what was proposed."""
GOING_ON = """
    y yes yep yeah yup ok okay k sure continue proceed go ahead on do it that this please pls thanks thank you great
        good fine perfect next right correct now keep going resume retry try again more same sounds lgtm the so just
        let's lets with as suggested said and all
    ja genau weiter mach bitte gut los fortfahren fahre fort weitermachen
    si vale claro continua sigue adelante hazlo por favor sim prossiga faca isso va bene procedi avanti prosegui fallo
    oui d'accord vas-y vas allez fais-le
    да ок хорошо продолжай продолжи давай дальше сделай пожалуйста ага поехали
    好的 好 是的 继续 繼續 可以 行 对 请 請 嗯 没问题 开始 吧 做 就这样
    はい 続けて 続き ください お願いします お願い 了解 うん いいよ 進めて
    네 예 응 계속 계속해 계속해줘 주세요 좋아 진행해 진행해줘 해줘 부탁해
"""
"""Words of a prompt that says no more than to go on."""
