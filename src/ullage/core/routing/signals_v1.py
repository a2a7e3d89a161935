"""Signals as the described system reads them, kept to compare with (routing specification, sections 4.1 and 4.2)."""

from __future__ import annotations

import re

from .signals import KINDS, Signals

_WORDS = {
    "debug": (r"debug|bug|error|exception|stack trace|fix", "调试|报错|异常|修复"),
    "refactor": (r"refactor|cleanup|restructure", "重构|整理代码"),
    "review": (r"review|audit|code review", "审查|评审"),
    "test": (r"test|spec|coverage", "测试|用例|覆盖率"),
    "plan": (r"plan|roadmap|step|steps", "计划|步骤|方案"),
    "architecture": (r"architect|design system|trade-off|tradeoff", "架构|设计方案"),
    "ops": (r"deploy|incident|production|kubernetes|k8s", "部署|线上|运维|告警"),
    "research": (r"research|compare|investigate", "调研|对比|研究"),
    "explain": (r"explain|what is|how does", "解释|是什么|原理"),
    "code-edit": (r"implement|change|modify|add|remove", "实现|修改|新增|删除"),
    "generate": (r"generate|create|write", "生成|创建|编写"),
}
_KINDS = {
    kind: re.compile(rf"\b(?:{words})\b|{unspaced}", re.ASCII | re.IGNORECASE)
    for kind, (words, unspaced) in _WORDS.items()
}
_CODE = re.compile(r"\b(?:function|class|const|let|import)\b|\b```\b|[{};]", re.ASCII)
_TRACE = re.compile(r"at \S+ \(|Error:|Exception|Traceback", re.IGNORECASE)
_STEPS = re.compile(r"\b(?:and then|after that|also|then)\b|然后|并且|同时", re.ASCII)


def read_signals_v1(prompt: str) -> Signals:
    """The signals of a prompt, every code point one letter."""
    text = prompt.strip()
    return Signals(
        kinds=tuple(kind for kind in KINDS if _KINDS[kind].search(text)),
        code=_CODE.search(text) is not None,
        trace=_TRACE.search(text) is not None,
        steps=_STEPS.search(text) is not None,
        letters=len(text),
    )
