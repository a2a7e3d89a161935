"""Words that tell the kind of a task, by language (routing specification, sections 4.1 and 4.5).

An entry is a whole word, without case and accents, umlauts as two letters. `~` stands for any letters, before or
after; `_` for a
space. Of English words their regular forms are meant too. Scripts without spaces between words have no word boundaries.
"""

from __future__ import annotations

ENGLISH = {
    "debug": """debug bug error exception fix crash fail failure traceback stack_trace stacktrace troubleshoot broken""",
    "refactor": "refactor cleanup clean_up cleans_up cleaning_up cleaned_up restructure reorganize reorganise tidy simplify",
    "review": "review audit code_review critique reviewer",
    "test": "test spec coverage unittest",
    "plan": "plan roadmap step",
    "architecture": "architect architecture architectural design_system system_design trade-off tradeoff trade_off",
    "ops": "deploy deployment release incident production kubernetes k8s rollback rollout outage",
    "research": "research compare comparison investigate investigation",
    "explain": """
        explain explanation summarize summarise summary describe what_is what_are what_does difference how_does
            how_do why
    """,
    "code-edit": "implement implementation change modify add remove update rename replace delete extend",
    "generate": "generate create write written wrote draft",
}

OTHERS = {
    "debug": """
        调试 报错 异常 修复 错误 崩溃 排查 故障 失败 調試 除錯 報錯 異常 修復 錯誤 崩潰 失敗
        デバッグ バグ エラー 例外 修正 直し 直す 直せ 直さ 不具合 クラッシュ
        디버그 디버깅 버그 오류 에러 예외 고쳐 고치 고칠 실패
        debugge debuggen debuggt ~fehler~ behebe~ behebt behoben beheben korrigier~ reparier~ absturz~ abstuerz~
            stuerzt fehlschl~ fehlgeschlag~ fixe fixen fehl
        depur~ se_bloquea se_cuelga error~ fallo fallos falla fallan excepcion~ corrig~ correg~ corrij~ arregl~
            solucion~ erro erros conserte consertar excecao excecoes falha falham falhas
        eccezion~ corregg~ correzion~ risolv~ ripara riparare fallisc~ fallit~
        debog~ erreur~ bogue~ reparer repare echou~ echec~
        ошиб~ исправ~ баг баги бага багов багу отлад~ отлаж~ исключени~ почин~ устран~ сбой сбоя сбои сбоев падает
            падают упал~ дебаг~ фикс~ пофикс~
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
        计划 步骤 方案 规划 路线图 計劃 步驟
        計画 手順 ロードマップ ステップ プラン
        계획 단계 로드맵
        ~splan ~splaene plaene planen planung~ geplant schritt schritte schritten schrittweise fahrplan
        planes planifica planificar planifique planificacion planifie planifier planification planea planear
            hoja_de_ruta paso_a_paso pasos plano planos planeje planejar planejamento passo_a_passo passos roteiro
        piano piani pianifica pianificare pianificazione passo_dopo passi passaggi tabella_di_marcia
        feuille_de_route etape etapes
        план плана плану планом планы планов планируй планировать планирования спланир~ дорожн~ шаг шага шаги шагов
            шагам шагами
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
        デプロイ リリース 本番 運用 インシデント
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
        解释 是什么 原理 说明 总结 概括 描述 为什么 讲解 什么是 区别 如何 怎么 怎样 區別 解釋 說明 總結 為什麼
        説明 とは何 何ですか 違い どのように 仕組み 要約 まとめて なぜ 解説 概要
        설명 요약 원리 무엇인 차이 어떻게
        erklaer~ erlaeuter~ beschreib~ zusammenfass~ fasse was_ist was_sind unterschied~ wie_funktioniert warum wieso
        explica~ explique~ describ~ resumen resumir resuma resumelo resumiendo resume_este resume_esta resume_el
            resume_la que_es cual_es cuales_son diferencia~ como_funciona por_que
        descrev~ o_que_e qual_e diferenca~
        spieg~ descriv~ riassum~ che_cos'e cos'e qual_e quali_sono differenz~ come_funziona perche
        expliqu~ decris decrire decrivez resumer resumez resume_ce resume_cette resume_le qu'est-ce quel_est
            quelle_est difference comment_fonctionne pourquoi
        объясн~ поясн~ опиши опишите описа~ резюм~ суммир~ изложи~ что_такое в_чем чем_отлича~ разниц~ как_работает
            почему зачем
    """,
    "code-edit": """
        实现 修改 新增 删除 添加 增加 移除 更新 重命名 改名 替换 更改 改变 實現 實作 刪除 增加 改變
        実装 変更 追加 削除 書き換え 置き換え
        구현 변경 수정 추가 삭제 제거
        implementier~ aender~ geaendert veraender~ hinzufueg~ hinzuzufuegen fuege fuegen entfern~ loesch~ geloescht
            modifizier~ umbenenn~ benenne ersetz~ aktualisier~ ergaenz~ erweiter~
        implement~ cambi~ modific~ modifiqu~ anad~ agreg~ elimin~ quita quitar actualiz~ renombr~ reemplaz~ sustitu~
            borra borrar
        mude mudar altere alterar altera alteracao adicion~ remova remover exclua excluir atualiz~ renome~ substitu~
        aggiung~ aggiunt~ rimuov~ aggiorna~ rinomina~ sostitu~ cancella cancellare
        changer changez modifi~ ajout~ supprim~ enleve~ remplac~ renomm~
        реализ~ имплемент~ измен~ меняй менять добав~ удал~ замен~ обнов~ переимен~
    """,
    "generate": """
        生成 创建 编写 撰写 写一 創建 編寫 撰寫
        作成 書いて 作って
        생성 작성 만들어
        generier~ erstell~ schreib~ geschrieben erzeug~ verfass~
        genera generar genere crea crear creando escrib~ redacta redactar gere gerar crie criar escrev~ escreva
        generare creare scriv~
        generer generez cree creer creez ecris ecrire ecrivez redige rediger
        сгенерир~ генерир~ создай создать создайте созда~ напиш~ написа~ пиши
    """,
}
