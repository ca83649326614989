"""bench/results.svg: a panel of bars for each section, readable on a light and on a dark page."""

from xml.sax.saxutils import escape

WIDTH, MARGIN, LABEL, BAR, STEP, GAP = 960, 16, 178, 14, 21, 34
STYLE = """\
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.head { font-weight: 600; font-size: 14px }
.unit { fill: #59636e }
.peer { fill: #8c959f }
.mine { fill: #0969da }
.page { fill: #ffffff }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .unit { fill: #9198a1 }
  .peer { fill: #6e7681 }
  .mine { fill: #58a6ff }
  .page { fill: #0d1117 }
}
"""


def figure(value):
    """Three figures that say something, without an exponent."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def text(x, y, words, name="", end=False):
    return (f'<text x="{x:.0f}" y="{y:.0f}"' + (f' class="{name}"' if name else "")
            + (' text-anchor="end"' if end else "") + f">{escape(words)}</text>")


def panel(chart, x, y, width):
    """(lines, height). Bars begin at zero and are to one scale within a panel."""
    room = width - LABEL - 70
    most = max(value for _, value, _ in chart["bars"]) or 1
    lines = [text(x, y + 14, chart["title"], "head"),
             text(x + width, y + 14, chart["unit"], "unit", end=True)]
    top = y + 26
    for label, value, mine in chart["bars"]:
        length = max(value / most * room, 1)
        lines += [text(x + LABEL - 8, top + BAR - 3, label, end=True),
                  f'<rect x="{x + LABEL}" y="{top}" width="{length:.1f}" height="{BAR}" '
                  f'class="{"mine" if mine else "peer"}"/>',
                  text(x + LABEL + length + 6, top + BAR - 3, figure(value))]
        top += STEP
    return lines, top - y


def draw(title, charts):
    """The whole picture; panels fill two columns, the next one always the shorter."""
    width = (WIDTH - 3 * MARGIN) // 2
    heights = [52, 52]
    body = []
    for chart in charts:
        column = heights.index(min(heights))
        lines, height = panel(chart, MARGIN + column * (width + MARGIN), heights[column], width)
        body += lines
        heights[column] += height + GAP
    height = max(heights) - GAP + MARGIN
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img">',
        f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>",
        f'<rect class="page" width="{WIDTH}" height="{height}"/>',
        text(MARGIN, 28, title, "head"), *body, "</svg>"]) + "\n"
