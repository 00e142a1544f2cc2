"""The table as a whole."""

from __future__ import annotations

import pytest

from graphmem.errors import InternalError
from graphmem.ops import registry
from graphmem.ops.inline import NEVER_EXPENSIVE
from graphmem.ops.registry import Rule, all_rules, lookup, register
from graphmem.ops.words import LIST_WORDS, explain


def test_unknown_op_has_no_row() -> None:
    assert lookup("NoSuchOp") is None


def test_second_row_is_refused() -> None:
    lookup("Relu")
    with pytest.raises(InternalError, match="Relu is registered twice"):
        register("Relu", Rule())


def test_lookup_gives_the_row() -> None:
    rule = lookup("AddV2")
    assert rule is not None
    assert rule.forward == ((0, (0, 1)),)
    assert rule.view == ()


def test_reads_of_variables_are_not_inline() -> None:
    inline = {name for name, rule in all_rules().items() if rule.inline}
    assert inline == set(NEVER_EXPENSIVE.split())
    assert "ReadVariableOp" not in inline


def test_every_row_says_where_it_comes_from() -> None:
    assert [name for name, rule in all_rules().items() if not rule.source] == []


def test_every_formula_says_what_it_is() -> None:
    assert [name for name, rule in all_rules().items() if any(line.endswith(": ") for line in explain(rule))] == []


def test_no_row_is_both_a_view_and_in_place() -> None:
    assert [name for name, rule in all_rules().items() if rule.view and rule.forward] == []


def test_kinds_are_those_of_the_contract() -> None:
    rules = all_rules().values()
    assert {rule.variable for rule in rules} == {"", "read", "assign", "update", "sparse"}
    assert {rule.control for rule in rules} == {"", "switch", "merge", "enter", "exit", "next", "cond"}
    lists = {"", *LIST_WORDS}
    assert {rule.list_op for rule in rules} == lists


def test_amend_changes_one_field() -> None:
    before = lookup("Tan")
    assert before is not None
    try:
        registry.amend("Tan", inline=True)
        changed = lookup("Tan")
        assert changed is not None
        assert changed.inline
        assert changed.forward == before.forward
    finally:
        registry.amend("Tan", inline=before.inline)


@pytest.mark.tf
def test_every_row_is_an_op_of_tensorflow() -> None:
    from tensorflow.core.framework import op_def_pb2
    from tensorflow.python.client import pywrap_tf_session

    ops = op_def_pb2.OpList()
    ops.ParseFromString(pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList()))
    known = {op.name for op in ops.op}
    elsewhere = {"HostConst", "_Copy", "_Call", "_Return"}  # registered with the first eager call; made by the trace
    assert set(all_rules()) - known - elsewhere == set()
