"""What figures and sentences say, in English; a translation is another mapping with the same keys.

Placeholders in braces are filled in by `str.format`. Texts are plain; only a figure turns them into what Plotly reads.
"""

from collections.abc import Mapping

from ..palette import PALETTE

Words = Mapping[str, str]

ENGLISH: Words = {
    **{outcome.value: swatch.label for outcome, swatch in PALETTE.items()},
    **{f"{outcome.value}_meaning": swatch.meaning for outcome, swatch in PALETTE.items()},
    "token": "token {id}",
    "everything_else": "everything else",
    # the figure of p and q
    "alpha": "α = Σ min(p, q) = {alpha}",
    "alpha_unjudged": "never judged; α = Σ min(p, q) = {alpha}",
    "p_alone": "p alone: {meaning}",
    "shared": "shared min(p, q): {mass}",
    "over": "over-proposed q − p: {mass}",
    "gap": "gap p − q: {mass}",
    "pq_axis": "p target, q draft",
    "p_axis": "p target",
    "residual_axis": "residual",
    "not_to_scale": "(not to scale)",
    # the figure of the coin
    "coin": "The coin of {token}",
    "kept": "u = {u} < p/q = {ratio}: kept",
    "kept_surely": "p/q = {ratio} ≥ 1: kept whatever u is",
    "refused": "u = {u} ≥ p/q = {ratio}: refused",
    "keep": "keep",
    "refuse": "refuse",
    # the figure of the residual
    "residual": "Drawn from the residual",
    "residual_formula": "max(0, p − q) / (1 − α)",
    # the sentences: a label and a text each
    "why_label": "why",
    "why_resampled": "The draft at this place was refused, so a token was drawn from the residual, without a coin.",
    "why_discarded": "The round had ended before this draft: a draft before it was refused, or the text was finished."
    " It was never judged.",
    "why_bonus": "No draft of the round was refused, so the target's pass gives one more token, drawn from p.",
    "why_plain": "The target alone, one token a pass, drawn from p.",
    "alone_label": "chance",
    "alone": "p = {p}",
    "ratio_label": "ratio",
    "ratio": "p/q = {p} / {q} {sign} {ratio}, so it is kept with probability min(1, p/q) = {chance}",
    "ratio_unjudged_label": "ratio",
    "ratio_unjudged": "p/q = {p} / {q} {sign} {ratio}; judged, it would have been kept with probability"
    " min(1, p/q) = {chance}",
    "no_ratio_label": "ratio",
    "no_ratio": "p = {p}, q = 0: the draft can never propose this token",
    "u_label": "coin",
    "u": "u = {u}, drawn evenly from 0 to 1",
    "verdict_label": "verdict",
    "verdict": "u·q = {u} × {q} {sign} {product} {relation} p = {p} → {outcome}",
    "alpha_sum_label": "α",
    "alpha_sum": "α = Σ min(p, q) = {terms} {sign} {alpha}: the chance that a draft is kept at this place; it is"
    " refused with 1 − α = {refused}",
    "alpha_none_label": "α",
    "alpha_none": "α = Σ min(p, q) = 0: p and q have no token in common, so every draft is refused at this place",
    "others": " (everything else)",
    "share_label": "residual",
    "share": "(p − q) / (1 − α) = ({p} − {q}) / {left} {gap_sign} {gap} / {left} {sign} {share}",
    "lossless_label": "lossless",
    "lossless": "kept as a draft, or drawn after a refusal: min(p, q) + (1 − α) × residual = {kept} + {left} × {share}"
    " {sign} {p} = p",
    # the figures of time
    "rounds": "Time of each round",
    "run": "Where the time went",
    "seconds": "{s} s",
    "share_of_time": "{part} {s} s ({percent} %)",
    "round": "round {number}: {accepted} of {drafted} drafts kept, {emitted} tokens",
    "prefill": "prompt",
    "draft": "draft",
    "verify": "verify",
    "other": "other",
}
