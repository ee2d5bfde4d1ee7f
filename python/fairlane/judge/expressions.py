"""Evaluates arithmetic and comparisons of named numbers for claims; rejects all other syntax."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.USub: operator.neg, ast.Not: operator.not_}
_COMPARE: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


class ExpressionError(ValueError):
    """The text is not a valid expression, or a name has no value."""


def evaluate(text: str, names: Mapping[str, Any]) -> Any:
    """The value of `text`, a number or a truth value.

    Raises:
        ExpressionError: The text contains anything except names, constants, + - * / **, comparisons, and, or, not.
    """
    try:
        return _value(ast.parse(text, mode="eval").body, names)
    except (SyntaxError, ArithmeticError, TypeError) as error:
        raise ExpressionError(f"{text}: {error}") from error


def _value(node: ast.expr, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=int() | float() | str() as value):
            return value
        case ast.Name(id=name) if name in names:
            return names[name]
        case ast.Name(id=name):
            raise ExpressionError(f"{name} has no value")
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)](_value(operand, names))
        case ast.BinOp(left=left, op=binary, right=right) if type(binary) in _BINARY:
            return _BINARY[type(binary)](_value(left, names), _value(right, names))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(value, names) for value in values)
        case ast.BoolOp(op=ast.Or(), values=values):
            return any(_value(value, names) for value in values)
        case ast.Compare(left=left, ops=ops, comparators=comparators) if all(type(op) in _COMPARE for op in ops):
            terms = [_value(term, names) for term in (left, *comparators)]
            return all(_COMPARE[type(op)](a, b) for op, a, b in zip(ops, terms, terms[1:], strict=False))
        case _:
            raise ExpressionError(f"{ast.unparse(node)} is not allowed in an expression")
