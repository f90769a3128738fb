"""How a report looks: by day and by night, on a phone and on paper."""

from __future__ import annotations

__all__ = ["ALTERNATIVE", "DECISION", "STYLE"]

# Blue and orange stay apart for every kind of colour blindness; line style and fill tell them apart without colour.
DECISION, ALTERNATIVE = "#0b62a8", "#b8500b"

_DAY = f"""
  --paper: #ffffff; --ink: #1c2126; --soft: #5b6670; --rule: #d5dbe0; --panel: #f4f6f8;
  --d: {DECISION}; --d-soft: {DECISION}2e; --a: {ALTERNATIVE}; --a-soft: #d9670f38; --street: #b9c2ca;
"""
_NIGHT = """
  --paper: #14181c; --ink: #e8ecef; --soft: #a3adb6; --rule: #39424a; --panel: #1d2328;
  --d: #62b1f2; --d-soft: #62b1f238; --a: #f59b53; --a-soft: #f59b5338; --street: #56616b;
"""

_RULES = """
.whence { background: var(--paper); color: var(--ink); max-width: 56rem; margin: 0 auto; padding: 1rem 1.1rem;
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
  box-sizing: border-box; overflow-wrap: break-word; text-align: left; }
.whence h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .4rem; }
.whence h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; padding-top: .7rem; border-top: 1px solid var(--rule); }
.whence h3 { font-size: .95rem; margin: 1.2rem 0 .3rem; }
.whence p { margin: .4rem 0; max-width: 46rem; }
.whence .wh-soft, .whence figcaption { color: var(--soft); font-size: .88rem; }
.whence .wh-verdict { background: var(--panel); border-left: 4px solid var(--a); border-radius: 0 6px 6px 0;
  padding: .7rem 1rem; margin: 1rem 0; }
.whence .wh-verdict p:first-child { font-size: 1.15rem; font-weight: 600; line-height: 1.4; margin-top: 0; }
.whence .wh-verdict ul { margin: .3rem 0; padding-left: 1.3rem; }
.whence .wh-columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr));
  gap: .8rem 2rem; }
.whence figure { margin: .3rem 0; break-inside: avoid; }
.whence .wh-chart { display: block; width: 100%; max-width: 30rem; height: auto; }
.whence .wh-map .wh-chart { max-width: 36rem; }
.whence svg text { font-size: 12px; fill: var(--ink); font-family: inherit; }
.whence svg .wh-head { font-weight: 600; }
.whence svg .wh-small { fill: var(--soft); font-size: 11px; }
.whence svg .wh-number { font-size: 12px; font-variant-numeric: tabular-nums; }
.whence svg .wh-mid { text-anchor: middle; }
.whence svg .wh-end-right { text-anchor: end; }
.whence svg .wh-scale { stroke: var(--rule); stroke-width: 1; stroke-dasharray: 2 3; }
.whence svg .wh-axis { stroke: var(--soft); stroke-width: 1; }
.whence svg .wh-bar.wh-d { fill: var(--d); stroke: var(--d); }
.whence svg .wh-bar.wh-a { fill: var(--a-soft); stroke: var(--a); stroke-width: 1.5; stroke-dasharray: 4 2; }
.whence svg .wh-step { stroke-width: 2; stroke-linejoin: round; }
.whence svg .wh-step.wh-d { fill: var(--d-soft); stroke: var(--d); }
.whence svg .wh-step.wh-a { fill: var(--a-soft); stroke: var(--a); stroke-dasharray: 5 3; }
.whence svg .wh-mark { stroke-width: 1.5; }
.whence svg .wh-mark.wh-d, .whence svg .wh-route.wh-d { stroke: var(--d); }
.whence svg .wh-mark.wh-a, .whence svg .wh-route.wh-a { stroke: var(--a); stroke-dasharray: 5 3; }
.whence svg .wh-tip.wh-d { fill: var(--d); }
.whence svg .wh-tip.wh-a { fill: var(--a); }
.whence svg .wh-street { stroke: var(--street); stroke-width: 1.3; fill: none; }
.whence svg .wh-route { fill: none; stroke-linecap: round; stroke-linejoin: round; }
.whence svg .wh-route.wh-d { stroke-width: 7; opacity: .75; }
.whence svg .wh-route.wh-a { stroke-width: 3.2; stroke-dasharray: 8 6; }
.whence svg .wh-node { fill: var(--paper); stroke: var(--soft); stroke-width: 1; }
.whence svg .wh-end { fill: var(--ink); stroke: var(--paper); stroke-width: 1.5; }
.whence svg .wh-label { font-size: 11px; paint-order: stroke; stroke: var(--paper); stroke-width: 3px;
  stroke-linejoin: round; }
.whence svg .wh-strong { font-weight: 700; }
.whence .wh-legend span { margin-right: 1.4rem; white-space: nowrap; font-size: .9rem; }
.whence .wh-key { display: inline-block; width: 1.7rem; margin-right: .45rem; vertical-align: middle;
  box-sizing: border-box; }
.whence .wh-key-line.wh-d { border-top: 6px solid var(--d); }
.whence .wh-key-line.wh-a { border-top: 3px dashed var(--a); }
.whence .wh-key-bar { height: .8rem; border-radius: 2px; }
.whence .wh-key-bar.wh-d { background: var(--d); }
.whence .wh-key-bar.wh-a { background: var(--a-soft); border: 1.5px dashed var(--a); }
.whence .wh-plan { border-left: 4px solid var(--d); padding-left: .8rem; }
.whence .wh-plan.wh-a { border-left: 4px dashed var(--a); }
.whence .wh-scroll { overflow-x: auto; margin: .4rem 0; }
.whence table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; margin: 0;
  background: none; color: inherit; }
.whence th, .whence td { text-align: left; padding: .3rem .8rem .3rem 0; border: 0; vertical-align: top;
  border-bottom: 1px solid var(--rule); background: none; }
.whence th { font-weight: 600; color: var(--soft); }
.whence td { white-space: nowrap; }
.whence .wh-wide td { white-space: normal; }
.whence .wh-names td:not(.wh-n) { white-space: normal; }
.whence .wh-names td:first-child { min-width: 6rem; }
.whence th { vertical-align: bottom; line-height: 1.25; }
.whence .wh-n { text-align: right; }
.whence th.wh-n { min-width: 4.6rem; }
.whence details { margin: .6rem 0; }
.whence summary { cursor: pointer; color: var(--soft); }
"""

# Two columns also on paper, and no ink for backgrounds.
_PRINT = """
  .whence { max-width: none; padding: 0; font-size: 11pt; }
  .whence .wh-columns { grid-template-columns: 1fr 1fr; }
  .whence .wh-scroll { overflow: visible; }
  .whence h2, .whence h3, .whence h2 + p, .whence .wh-legend { break-after: avoid; }
  .whence tr, .whence .wh-verdict { break-inside: avoid; }
  .whence .wh-key { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .whence details::details-content { content-visibility: visible; }
"""

STYLE = (
    f".whence {{{_DAY}}}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ .whence {{{_NIGHT}}} }}\n"
    f"{_RULES}"
    f"@media print {{{_PRINT}}}\n"
)
