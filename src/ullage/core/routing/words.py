"""Words that tell the kind of a task, by language (routing specification, sections 4.1 and 4.5).

An entry is a whole word, without case and accents, umlauts as two letters. `~` stands for any letters, before or
after; `_` for a
space. Of English words their regular forms are meant too. Scripts without spaces between words have no word boundaries.
"""

from __future__ import annotations

ENGLISH = {
    "debug": """
        debug bug error exception fix crash fail failure traceback stack_trace stacktrace troubleshoot broken
            leak hang freeze deadlock stuck flaky race_condition not_work doesn't_work isn't_working what_is_wrong
            what's_wrong went_wrong goes_wrong
    """,
    "refactor": "refactor cleanup clean_up cleans_up cleaning_up cleaned_up restructure reorganize reorganise tidy simplify",
    "review": "review audit code_review critique reviewer",
    "test": "test spec coverage unittest",
    "plan": "plan roadmap step strategy",
    "architecture": "architect architecture architectural design_system system_design trade-off tradeoff trade_off",
    "ops": "deploy deployment release incident production kubernetes k8s rollback rollout outage",
    "research": "research compare comparison investigate investigation",
    "explain": """
        explain explanation summarize summarise summary describe what_is what_are what_does what_do difference
            how_does how_do why
    """,
    "code-edit": "implement implementation change modify add remove update rename replace delete extend",
    "generate": "generate create write written wrote draft document documentation",
}

OTHERS = {
    "debug": """
        调试 报错 异常 修复 错误 崩溃 排查 故障 失败 調試 除錯 報錯 異常 修復 錯誤 崩潰 失敗
            泄漏 泄露 卡住 卡死 死锁 没有反应 无响应 不起作用 不工作 无法工作 竞态 洩漏 死鎖 沒有反應
        デバッグ バグ エラー 例外 修正 直し 直す 直せ 直さ 不具合 クラッシュ
            リーク ハング フリーズ デッドロック 反応しな 反応しません 応答しな 応答しません 動かな 動きません 動作しな
            動作しません 競合状態
        디버그 디버깅 버그 오류 에러 예외 고쳐 고치 고칠 실패 누수 멈춥 멈춰 교착 데드락 동작하지_않 작동하지_않 반응하지_않
        debugge debuggen debuggt ~fehler~ behebe~ behebt behoben beheben korrigier~ reparier~ absturz~ abstuerz~
            stuerzt fehlschl~ fehlgeschlag~ fixe fixen fehl ~leck ~lecks haengt ~deadlock~ ~leak~ verklemm~ einfriert
            eingefroren funktioniert_nicht funktionieren_nicht geht_nicht tut_nichts was_nicht_stimmt wettlauf~
        depur~ se_bloquea se_cuelga error~ fallo fallos falla fallan excepcion~ corrig~ correg~ corrij~ arregl~
            solucion~ erro erros conserte consertar excecao excecoes falha falham falhas fuga fugas colgad~
            interbloqueo~ deadlock~ bloquead~ no_funciona~ no_hace_nada no_responde vazamento~ trava travou travado
            nao_funciona~ nao_responde
        eccezion~ corregg~ correzion~ risolv~ ripara riparare fallisc~ fallit~ perdita_di_memoria
            perdite_di_memoria si_blocca bloccat~ stallo non_funziona~ non_fa_nulla non_risponde
        debog~ erreur~ bogue~ reparer repare echou~ echec~ fuite fuites se_bloque fige figee interblocage~
            ne_fonctionne_pas ne_marche_pas ne_repond_pas
        ошиб~ исправ~ баг баги бага багов багу отлад~ отлаж~ исключени~ почин~ устран~ сбой сбоя сбои сбоев падает
            падают упал~ дебаг~ фикс~ пофикс~ утечк~ завис~ дедлок~ взаимн~ не_работа~ не_реагиру~ не_отвеча~ в_чем_дело
            что_не_так гонк~
    """,
    "refactor": """
        重构 整理代码 清理 简化 重構 簡化
        リファクタ 整理 簡素化 再構成
        리팩터 리팩토 리팩토링 단순화
        refaktor~ umstruktur~ aufraeum~ aufgeraeumt raeum_auf raeume vereinfach~
        refactor~ reestructur~ refator~ reestrutur~ simplific~ simplifiqu~ limpia limpiar limpe limpar
        rifattor~ ristruttur~ riorganizz~ semplific~ ripulisci ripulire
        remani~ restructur~ nettoie nettoyer nettoyez simplifi~
        рефактор~ отрефактор~ реструктур~ упрост~ упрощ~ в_порядок
    """,
    "review": """
        审查 评审 审核 审计 审阅 審查 評審 審閱
        レビュー 監査 審査 査読
        리뷰 검토
        ueberpruefe ueberpruefen ueberpruefung pruefe pruefen begutacht~ auditier~
        revisa revisar revise revisad~ revisemos revision_de revision_del audit~ ~saudit examina~ reveja revisao
        rivedi rivedere revisione revisiona~ esamina~
        revue relis relire relisez examine~
        ревью проверь проверьте проверить аудит~ рецензи~ просмотр~
    """,
    "test": """
        测试 覆盖率 測試 覆蓋率
        テスト カバレッジ 網羅率
        테스트 커버리지
        teste testen testet getestet testfall testfaell~ testabdeckung ~stests unittest~ modultest~ abdeckung
            spezifikation~
        prueba pruebas probar cobertura testear testar testes
        copertura collaud~ testare
        tester testez couverture
        тест~ протестир~ покрыти~ спецификац~
    """,
    "plan": """
        计划 步骤 迁移方案 实施方案 上线方案 发布方案 改造方案 技术方案 规划 路线图 策略 計劃 步驟
        計画 手順 ロードマップ ステップ プラン 戦略
        계획 단계 로드맵 전략
        ~splan ~splaene plaene planen planung~ geplant schritt schritte schritten schrittweise fahrplan plane_die
            plane_den plane_das plane_eine plane_einen plane_zuerst plane_bitte plane_auch ~strategie ~strategien
        planes planifica planificar planifique planificacion planifie planifier planification planea planear
            estrategia~ hoja_de_ruta paso_a_paso pasos plano planos planeje planejar planejamento passo_a_passo passos roteiro
        strategia strategie piano piani pianifica pianificare pianificazione passo_dopo passi passaggi tabella_di_marcia
        feuille_de_route etape etapes
        план плана плану планом планы планов планируй планировать планирования спланир~ дорожн~ шаг шага шаги шагов
            шагам шагами стратеги~
    """,
    "architecture": """
        架构 设计方案 系统设计 取舍 权衡 架構 系統設計 取捨
        アーキテクチャ システム設計 トレードオフ
        아키텍처 아키텍쳐 트레이드오프 시스템_설계 절충
        ~architektur~ abwaegung~ zielkonflikt~ kompromisse kompromissen systementwurf
        arquitect~ arquitet~ compensaciones
        architettur~ compromess~
        compromis
        архитект~ компромисс~
    """,
    "ops": """
        部署 线上 运维 告警 生产环境 事故 回滚 上线 線上 運維
        デプロイ リリース 本番 運用 インシデント ロールアウト
        배포 릴리스 운영 인시던트 프로덕션
        deploye~ bereitstell~ ausroll~ produktion produktionsumgebung produktivsystem~ produktivumgebung vorfall
            vorfaelle zwischenfall~
        despleg~ desplieg~ despliegue lanzamiento produccion incidente incidentes implante implantar implantacao
            producao
        produzione rilascio rilascia rilasciare distribuisci distribuire incidenti
        deploie~ deploiement
        разверн~ развертыв~ деплой~ задеплой~ релиз~ продакшн~ продакшен~ инцидент~ выкат~
    """,
    "research": """
        调研 对比 研究 比较 调查 調研 對比 比較
        調査 調べて
        조사 비교 연구
        recherch~ vergleich~ untersuch~ erforsch~
        investig~ compara~ comparer comparez pesquis~
        ricerca ricerche ricercare confronta confrontare confronto indaga~
        enquet~ etudi~
        исследу~ исследов~ сравн~ изуч~
    """,
    "explain": """
        解释 什么 原理 说明 总结 概括 描述 讲解 区别 如何 怎么 怎样 什麼 區別 解釋 說明 總結
        説明 とは何 何ですか 何に 何を 違い どのように 仕組み 要約 まとめて なぜ 理由 どうして 解説 概要
        설명 요약 원리 무엇 차이 어떻게 이유 왜
        erklaer~ erlaeuter~ beschreib~ zusammenfass~ fasse was_ist was_sind was_macht was_bedeutet
            worauf wozu wofuer unterschied~ wie_funktioniert warum wieso
        explica~ explique~ describ~ resumen resumir resuma resumelo resumiendo resume_este resume_esta resume_el
            resume_la que_es que_hace que_significa con_que para_que_sirve cual_es cuales_son diferencia~ como_funciona
            por_que
        descrev~ o_que_e o_que_faz o_que_significa qual_e diferenca~
        spieg~ descriv~ riassum~ che_cos'e cos'e cosa_fa cosa_significa a_cosa qual_e
            quali_sono differenz~ come_funziona perche
        expliqu~ que_fait que_signifie a_quoi decris decrire decrivez resumer resumez resume_ce resume_cette resume_le
            qu'est-ce quel_est
            quelle_est difference comment_fonctionne pourquoi
        объясн~ поясн~ опиши опишите описа~ резюм~ суммир~ изложи~ что_такое что_делает
            что_значит что_означает чему в_чем_разниц~ в_чем_отличи~ в_чем_смысл чем_отлича~ разниц~ как_работает
            почему зачем
    """,
    "code-edit": """
        扩展 实现 修改 新增 删除 添加 增加 移除 更新 重命名 改名 替换 更改 改变 實現 實作 刪除 增加 改變
        拡張 実装 変更 追加 削除 書き換え 置き換え
        확장 구현 변경 수정 추가 삭제 제거
        implementier~ aender~ geaendert veraender~ hinzufueg~ hinzuzufuegen fuege fuegen entfern~ loesch~ geloescht
            modifizier~ umbenenn~ benenne ersetz~ aktualisier~ ergaenz~ erweiter~
        ampli~ extiend~ extender implement~ cambi~ modific~ modifiqu~ anad~ agreg~ elimin~ quita quitar actualiz~
            renombr~ reemplaz~ sustitu~
            borra borrar
        mude mudar altere alterar altera alteracao adicion~ remova remover exclua excluir atualiz~ renome~ substitu~
        estend~ aggiung~ aggiunt~ rimuov~ aggiorna~ rinomina~ sostitu~ cancella cancellare
        etend~ changer changez modifi~ ajout~ supprim~ enleve~ remplac~ renomm~
        расшир~ реализ~ имплемент~ измен~ меняй менять добав~ удал~ замен~ обнов~ переимен~
    """,
    "generate": """
        文档 文檔 生成 创建 编写 撰写 写一 創建 編寫 撰寫
        作成 書いて 作って 文書化 ドキュメント
        생성 작성 만들어 문서
        dokumentier~ ~dokumentation generier~ erstell~ schreib~ geschrieben erzeug~ verfass~
        document~ genera generar genere crea crear creando escrib~ redacta redactar gere gerar crie criar escrev~ escreva
        generare creare scriv~
        generer generez cree creer creez ecris ecrire ecrivez redige rediger
        документ~ задокумент~ сгенерир~ генерир~ создай создать создайте созда~ напиш~ написа~ пиши
    """,
}
