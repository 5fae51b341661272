#!/usr/bin/env python3
"""bench/plot.py RESULTS FOLDER   how costs grow, as SVG: a file for each thing that grows and each unit.

RESULTS is what bench/run writes. Both axes are logarithmic: a cost that is flat is a level line, one that grows with the cluster rises
as the dotted line does. Text stays text; colours are for light and dark, and shapes of points tell series apart without them.
"""
import json
import math
import os
import re
import sys
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 560, 280
LEFT, RIGHT, TOP, BOTTOM = 56, 184, 40, 44
KINDS = {"MiB": "memory", "ms": "time", "us": "work"}
TABLE_ONLY = {"x", "CPUs"}
STYLE = """text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-weight: 600; font-size: 13px }
.grid { stroke: #8c959f; stroke-opacity: .35; stroke-width: 1 }
.rise { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 1 4 }
.line { fill: none; stroke-width: 2 }
.s0 { stroke: #0969da } .s1 { stroke: #bc4c00 } .s2 { stroke: #1a7f37 } .s3 { stroke: #8250df }
.m0 { fill: #0969da } .m1 { fill: #bc4c00 } .m2 { fill: #1a7f37 } .m3 { fill: #8250df }
@media (prefers-color-scheme: dark) {
text { fill: #d1d7de }
.s0 { stroke: #58a6ff } .s1 { stroke: #f0883e } .s2 { stroke: #56d364 } .s3 { stroke: #bc8cff }
.m0 { fill: #58a6ff } .m1 { fill: #f0883e } .m2 { fill: #56d364 } .m3 { fill: #bc8cff }
}"""


def plots(growth):
    """File name: series that share what grows and the unit."""
    groups = {}
    for series in growth:
        if series["unit"] in TABLE_ONLY:
            continue
        points = sorted((x, y) for x, y in series["points"] if x > 0 and y > 0)
        if points:
            name = f"{re.sub('[^a-z0-9]+', '-', series['by'].lower())}-{KINDS.get(series['unit'], 'rate')}.svg"
            groups.setdefault(name, []).append(dict(series, points=points))
    return groups


def short(value):
    """A number for an axis: 20, 3k, 1M; 0.1 below one."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


class Axis:
    """Places on a logarithmic axis from the lowest value to the highest; `whole`: from decade to decade."""

    def __init__(self, values, start, end, whole):
        self.low, self.high = math.log10(min(values)), math.log10(max(values))
        if whole:
            self.low = math.floor(self.low + 1e-9)
            self.high = max(math.ceil(self.high - 1e-9), self.low + 1)
        elif self.low == self.high:
            self.high += 1
        self.start, self.end = start, end

    def at(self, value):
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self):
        steps = (1, 2, 5) if self.high - self.low <= 2 else (1,)
        values = [step * 10.0 ** power for power in range(self.low, self.high + 1) for step in steps]
        return [value for value in values if value <= 10.0 ** self.high * 1.001]


def marker(number, x, y):
    shapes = (f'<circle class="m0" cx="{x:.1f}" cy="{y:.1f}" r="4"/>',
              f'<rect class="m1" x="{x - 3.5:.1f}" y="{y - 3.5:.1f}" width="7" height="7"/>',
              f'<path class="m2" d="M{x:.1f} {y - 5:.1f}l5 5l-5 5l-5-5z"/>',
              f'<path class="m3" d="M{x:.1f} {y - 5:.1f}l5 8h-10z"/>')
    return shapes[number % len(shapes)]


def apart(places, gap):
    """Places of labels, moved down as far as they need to be apart, and up again where they would leave the picture."""
    order = sorted(range(len(places)), key=places.__getitem__)
    moved = list(places)
    for before, after in zip(order, order[1:]):
        moved[after] = max(moved[after], moved[before] + gap)
    over = max(0, moved[order[-1]] - (HEIGHT - BOTTOM + 4))
    return [place - over for place in moved]


def grid(x, y, sizes):
    lines = []
    for value in y.ticks():
        at = y.at(value)
        lines.append(f'<path class="grid" d="M{LEFT} {at:.1f}H{WIDTH - RIGHT}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{at + 4:.1f}" text-anchor="end">{short(value)}</text>')
    for value in sizes:
        at = x.at(value)
        lines.append(f'<path class="grid" d="M{at:.1f} {TOP}V{HEIGHT - BOTTOM}"/>')
        lines.append(f'<text x="{at:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{short(value)}</text>')
    return lines


def rise(x, y, sizes):
    """What grows as the cluster does, from the lower left corner as far as the picture reaches."""
    reach = min(max(sizes) / min(sizes), 10.0 ** (y.high - y.low))
    low = 10.0 ** y.low
    return (f'<path class="rise" d="M{x.at(min(sizes)):.1f} {y.at(low):.1f}'
            f'L{x.at(min(sizes) * reach):.1f} {y.at(low * reach):.1f}"/>')


def svg(series):
    sizes = sorted({x for one in series for x, _ in one["points"]})
    x = Axis(sizes, LEFT, WIDTH - RIGHT, False)
    y = Axis([value for one in series for _, value in one["points"]], HEIGHT - BOTTOM, TOP, True)
    title = f"{series[0]['unit']} by {series[0]['by']}"
    about = "; ".join(one["name"] + ": " + ", ".join(f"{v:.4g} at {s:g}" for s, v in one["points"]) for one in series)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img">',
           f"<title>{escape(title)}</title>", f"<desc>{escape(about)}</desc>", f"<style>{STYLE}</style>",
           f'<text class="title" x="{LEFT}" y="22">{escape(series[0]["unit"])}</text>',
           f'<text x="{WIDTH - RIGHT}" y="{HEIGHT - 8}" text-anchor="end">{escape(series[0]["by"])}</text>']
    out += grid(x, y, sizes) + [rise(x, y, sizes)]
    labels = apart([y.at(one["points"][-1][1]) + 4 for one in series], 16)
    for number, (one, label) in enumerate(zip(series, labels)):
        spots = [(x.at(size), y.at(value)) for size, value in one["points"]]
        out.append(f'<path class="line s{number % 4}" d="M' + "L".join(f"{a:.1f} {b:.1f}" for a, b in spots) + '"/>')
        out += [marker(number, a, b) for a, b in spots]
        out.append(f'<text x="{WIDTH - RIGHT + 12}" y="{label:.1f}">{escape(one["name"])}</text>')
    return "\n".join(out + ["</svg>"]) + "\n"


def main(words):
    if len(words) != 2:
        sys.exit("usage: bench/plot.py RESULTS FOLDER")
    with open(words[0]) as file:
        growth = json.load(file)["growth"]
    os.makedirs(words[1], exist_ok=True)
    for name, series in plots(growth).items():
        with open(os.path.join(words[1], name), "w") as file:
            file.write(svg(series))
        print(name)


main(sys.argv[1:])
