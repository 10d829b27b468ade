"""All that the page says, in English; a translation is another mapping with the same keys.

Placeholders in braces are filled in on the page. What figures say stands in `view.words`, outcomes in `palette`.
"""

from collections.abc import Mapping

Words = Mapping[str, str]

ENGLISH: Words = {
    "name": "Speculative sampling, live",
    "lead": "A small draft model guesses a few tokens ahead; the target model checks all of them in one pass. "
    "Every token shows how it came to be.",
    "theme": "Dark or light",
    "tab_race": "Race",
    # controls
    "prompt": "Prompt",
    "placeholder": "Ask something, or begin a text",
    "examples": "Examples",
    "pair": "Models",
    "own": "Two models of my own …",
    "own_target": "Target: hub id or folder",
    "own_draft": "Draft: hub id or folder",
    "k": "K: drafts a round",
    "temperature": "Temperature",
    "more": "More settings",
    "top_k": "Top-k (0 = off)",
    "top_p": "Top-p (1 = off)",
    "min_p": "Min-p (0 = off)",
    "seed": "Seed",
    "seed_placeholder": "random",
    "length": "Length in tokens",
    "chat": "Chat template (off: raw text)",
    "run": "Run",
    "stop": "Stop",
    # phases
    "phase_idle": "Press Run.",
    "phase_recorded": "A recorded run. Press Run for your own.",
    "phase_loading": "Loading the models. {sentence}",
    "phase_waiting": "Waiting for the machine: {ahead} before you.",
    "phase_prompt": "Both lanes read the prompt of {tokens} tokens.",
    "phase_running": "Writing.",
    "phase_done": "Finished.",
    "phase_stopped": "Stopped.",
    "phase_failed": "No run.",
    "phase_lost": "The connection to the server is lost. What is on the page stays; reload it when the server is back.",
    "phase_sent": "Sent to the server.",
    "short_temperature": "temperature",
    "short_seed": "seed",
    "short_raw": "raw text",
    # lanes
    "spec": "Speculative",
    "spec_sub": "draft + target",
    "plain": "Target only",
    "plain_sub": "one pass a token",
    "end_stop": "ended with a stop token",
    "end_cap": "reached the length",
    "end_context": "the context is full",
    "show_lost": "Show refused drafts",
    "download": "Save this run as JSON",
    # numbers
    "per_second_spec": "tokens/s, speculative",
    "per_second_plain": "tokens/s, target only",
    "per_pass": "tokens per target pass",
    "acceptance": "accepted: {accepted} of {judged} judged",
    "drafted": "drafted",
    "passes": "target passes",
    "tokens": "tokens",
    "prefill": "prompt",
    "first_token": "first token",
    "draft": "draft",
    "verify": "verify",
    "other": "other",
    "speedup": "measured speed-up",
    "why_faster": "A pass of the target brings {per_pass} tokens, which outweighs the cost of drafting.",
    "why_draft_slow": "Slower, because drafting costs too much: with a draft that cost nothing it would have won.",
    "why_acceptance_low": "Slower, because too few drafts were accepted for a pass to bring enough tokens.",
    "why_verify_costly": "Slower, because checking K + 1 tokens in one pass costs far more here than one token.",
    "why_overhead": "Slower, because the time between the passes ate the gain.",
    # rounds and inspector
    "rounds": "Rounds",
    "rounds_hint": "A column a round: solid tokens became text, hollow ones were drafted in vain.",
    "round": "round {round}",
    "inspector": "One token, worked out",
    "inspector_hint": "Click any token, or walk with the arrow keys.",
    "where_draft": "round {round}, draft {place} of {k}",
    "where_last": "round {round}, the target’s own token",
    "where_plain": "pass {round} of the target alone",
    "no_text": "(begins a character)",
    "legend": "How to read the colours",
    "half": "A character that needs several tokens is shown whole on the token that completes it; the tokens before it "
    "are a small mark.",
}
