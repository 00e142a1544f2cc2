"""The comparison as text: 80 columns, readable at a glance, its last line the verdict."""

from __future__ import annotations

import dataclasses

import pytest

from graphmem.measure.result import Layer, Verification
from graphmem.render.verification import verdict, verification_text
from tests.measure.examples import AS_PREDICTED, events, run_of, verification

AGREES = """\
model.py train step, batch 8: predicted and measured in 2 runs
TensorFlow 2.21.0 on this CPU, default order, 2 intra-op threads, 1 inter-op

             predicted  measured  prediction is
  variables        0 B       0 B  exact
  inputs           4 B       4 B  exact
  step peak       48 B      48 B  exact
    lowest        48 B      48 B
    highest       48 B      48 B  2 of 2 runs within the range

Op at the peak of run 1, in the nearest order
  same op  c

Alive at the peak, tensor by tensor
2 of 2 measured buffers match in op and size: 100.0 % of the bytes
  made by    in both  predicted only  measured only
  MatMul        48 B               –              –
  step peak     48 B               –              –

Note  Inputs were made up

agreement: agrees within 1 % (step peak predicted exactly)
"""

DIFFERS = """\
Op at the peak
  same op  c

Alive at the peak, tensor by tensor
1 of 3 measured buffers match in op and size: 19.0 % of the bytes
  made by             in both  predicted only  measured only
  MatMul                 16 B            32 B           64 B
  (not in the graph)        –               –            4 B
  step peak              16 B            32 B           68 B

What differs
  64 B  measured only   c
  32 B  predicted only  c
   4 B  measured only   somebody
"""


def with_threads(result: Verification) -> Verification:
    return dataclasses.replace(result, facts={"threads": "2"})


def with_peaks(predicted: int, measured: int) -> Verification:
    result = verification([run_of(AS_PREDICTED)])
    return dataclasses.replace(result, layers=[*result.layers[:2], Layer("step peak", predicted, measured)])


def test_agreement() -> None:
    result = with_threads(verification([run_of(AS_PREDICTED)] * 2, notes=["Inputs were made up."]))
    assert verification_text(result) == AGREES


def test_an_allocator_that_was_simulated_is_a_row() -> None:
    result = dataclasses.replace(verification([run_of(AS_PREDICTED)]), in_use_peak_bytes=1500)
    row = next(line for line in verification_text(result).splitlines() if line.startswith("  allocator"))
    cells = [cell.strip() for cell in row.split("  ") if cell]
    assert cells == ["allocator", "1.46 KiB", "1.48 KiB", "0.8 % too low; all in use, as BFC rounds it"]
    assert result.agrees


def test_what_differs() -> None:
    made = events(("a", 8), ("b", 16), "a", ("somebody", 4), ("c", 64), "b", "c")
    text = verification_text(with_threads(verification([run_of(made)])))
    assert DIFFERS in text
    assert text.splitlines()[-1] == "agreement: none: step peak predicted 43 % too low (tolerance 3 %)"


@pytest.mark.parametrize(
    ("predicted", "measured", "said"),
    [
        (1000, 1000, "agreement: agrees within 1 % (step peak predicted exactly)"),
        (100_001, 100_000, "agreement: agrees within 1 % (step peak predicted < 0.1 % too high)"),
        (996, 1000, "agreement: agrees within 1 % (step peak predicted 0.4 % too low)"),
        (1018, 1000, "agreement: differs within the tolerance of 3 % (step peak predicted 1.8 % too high)"),
        (969, 1000, "agreement: none: step peak predicted 3.1 % too low (tolerance 3 %)"),
        (5, 0, "agreement: none: step peak predicted infinitely too high (tolerance 3 %)"),
    ],
)
def test_verdicts(predicted: int, measured: int, said: str) -> None:
    assert verdict(with_peaks(predicted, measured)) == said


def test_a_small_tolerance_is_what_they_agree_within() -> None:
    result = verification([run_of(AS_PREDICTED)], tolerance=0.005)
    assert verdict(result) == "agreement: agrees within 0.5 % (step peak predicted exactly)"


def test_what_the_lists_leave_out_is_a_row() -> None:
    made = events(*((f"op{number}", 4 + number) for number in range(20)))
    text = verification_text(with_threads(verification([run_of(made)])), top=3)
    assert "19 others" in text  # 20 measured only and b and c predicted only, less 3
    assert all(len(line) <= 80 for line in text.splitlines())


def test_small_differences_are_added_up() -> None:
    made = events(("b", 16 << 20), ("x", 8), ("y", 16), ("c", 32 << 20))
    text = verification_text(with_threads(verification([run_of(made)])))
    assert text.count("MiB  measured only  ") == 2
    assert "72 B  4 others" in text  # b and c as predicted, x and y
