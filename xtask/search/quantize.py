#!/usr/bin/env python3
"""Rounds the embedding table from eight to five bits a component.

usage: quantize.py TABLE_I8 TABLE_I5

Input: rows of 256 signed bytes, then one little-endian f32 scale per row. Output: rows of 160 bytes, eight components
in five bytes with the first in the lowest bits, then the scales. A component q stands for (q - 15.5) * scale. Each row's scale is the one with the smallest squared error.
"""
import sys

import numpy

COMPONENTS = 256


def main(source, target):
    data = open(source, "rb").read()
    rows = len(data) // (COMPONENTS + 4)
    table = numpy.frombuffer(data[: rows * COMPONENTS], dtype=numpy.int8).reshape(rows, COMPONENTS).astype(numpy.float32)
    scales = numpy.frombuffer(data[rows * COMPONENTS :], dtype="<f4")
    deviation = table.std(axis=1)
    least = numpy.full(rows, numpy.inf)
    best_step = numpy.zeros(rows, numpy.float32)
    best = numpy.zeros((rows, COMPONENTS), numpy.int8)
    for factor in numpy.linspace(0.1, 0.35, 17):
        step = (deviation * factor)[:, None] + 1e-9
        rounded = numpy.clip(numpy.floor(table / step), -16, 15)
        error = ((table - (rounded + 0.5) * step) ** 2).sum(axis=1)
        better = error < least
        least[better], best_step[better], best[better] = error[better], step[better, 0], rounded[better]
    groups = (best + 16).astype("<u8").reshape(rows, -1, 8)
    joined = (groups << numpy.arange(0, 40, 5, dtype="<u8")).sum(axis=2, dtype="<u8")
    packed = joined.view(numpy.uint8).reshape(rows, -1, 8)[:, :, :5]
    open(target, "wb").write(packed.tobytes() + (best_step * scales).astype("<f4").tobytes())


if __name__ == "__main__":
    main(*sys.argv[1:])
