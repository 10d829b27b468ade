"""Gradio's own look, bent to ours: the palette's colours, system fonts, no boxes."""

import inspect

import gradio as gr

from ..palette import THEMES

_FONTS = ("-apple-system", "Segoe UI", "Roboto", "Noto Sans", "Liberation Sans", "Arial", "Noto Sans SC", "sans-serif")
_MONO = ("ui-monospace", "Cascadia Mono", "Menlo", "Consolas", "DejaVu Sans Mono", "monospace")

#: The same in both themes, since the variables change with the theme.
_BOTH = {
    "body_text_color": "var(--sd-text)",
    "body_text_color_subdued": "var(--sd-muted)",
    "block_background_fill": "transparent",
    "block_border_width": "0px",
    "block_shadow": "none",
    "block_label_background_fill": "transparent",
    "block_label_border_width": "0px",
    "block_label_text_color": "var(--sd-muted)",
    "block_title_background_fill": "transparent",
    "block_title_text_color": "var(--sd-muted)",
    "panel_background_fill": "transparent",
    "panel_border_width": "0px",
    "input_background_fill": "var(--sd-page)",
    "input_border_color": "var(--sd-line)",
    "input_border_width": "1px",
    "input_border_color_focus": "var(--sd-p)",
    "input_shadow": "none",
    "input_shadow_focus": "none",
    "border_color_primary": "var(--sd-line)",
    "button_primary_background_fill": "var(--sd-text)",
    "button_primary_background_fill_hover": "var(--sd-text)",
    "button_primary_text_color": "var(--sd-page)",
    "button_primary_border_color": "var(--sd-text)",
    "button_secondary_text_color": "var(--sd-text)",
    "slider_color": "var(--sd-text)",
    "color_accent": "var(--sd-p)",
    "color_accent_soft": "var(--sd-surface)",
    "checkbox_background_color_selected": "var(--sd-text)",
    "checkbox_border_color_selected": "var(--sd-text)",
    "checkbox_label_background_fill": "transparent",
}


def theme() -> gr.themes.Base:
    base = gr.themes.Base(font=list(_FONTS), font_mono=list(_MONO), radius_size="md", spacing_size="md", text_size="md")
    names = {*_names(base)}
    values = {f"{name}{end}": value for name, value in _BOTH.items() for end in ("", "_dark")}
    values["body_background_fill"] = THEMES["light"].page
    values["body_background_fill_dark"] = THEMES["dark"].page
    return base.set(**{name: value for name, value in values.items() if name in names})


def _names(base: gr.themes.Base) -> list[str]:
    return list(inspect.signature(base.set).parameters)
