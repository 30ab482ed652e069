"""The page that the five Spaces share: inputs, options, scores with intervals, a table that says why, and the card.

An app.py describes its metric by a subclass of `Page` and hands it to `launch`. This module knows no metric: it gets
one loaded, and asks `Page` for whatever differs.
"""

import re
from pathlib import Path

import gradio as gr

from .answering import answer, answer_call, explained_row, table_label
from .bounds import bounds_table
from .metric_page import Option, Page, all_options
from .results import CSS
from .serving import BodyBound

# Visitors who wait for a score, and those whose last results are kept for explanations, an hour long.
_WAITING, _KEPT_SESSIONS, _KEPT_SECONDS = 30, 50, 3600


def launch(page: Page, **options) -> None:
    """Serves the page; `options` are those of Gradio's launch."""
    # Fonts that every system has: nothing is fetched for them.
    theme = gr.themes.Default(font=("system-ui", "sans-serif"), font_mono=("ui-monospace", "monospace"))
    options.setdefault("app_kwargs", {"middleware": [BodyBound.of(page.bounds, len(page.uploads))]})
    build(page).queue(max_size=_WAITING).launch(
        css=CSS,
        theme=theme,
        ssr_mode=False,
        footer_links=["api", "settings"],
        state_session_capacity=_KEPT_SESSIONS,
        max_file_size=page.bounds["file"].most,
        **options,
    )


def build(page: Page) -> gr.Blocks:
    """Lays the page out and connects it."""
    with gr.Blocks(title=page.title, analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
        gr.Markdown(f"{page.title}\n===\n\n{page.lead}")
        source, table, files, allow_missing = _inputs(page)
        with gr.Accordion("Options", open=False):
            with gr.Row():
                controls = [_control(page, option) for option in all_options(page)]
        with gr.Accordion("Bounds", open=False):
            gr.Markdown(bounds_table(page.bounds))
        button = gr.Button("Compute", variant="primary")
        shown, state = _results(page)
        _card(page)

        def show(source, rows, allow_missing, *raw):
            values, paths = raw[: len(controls)], list(raw[len(controls) :])
            return answer(page, source, rows, paths, allow_missing, values)

        def explain(state, event: gr.SelectData):
            return explained_row(page, state, event.row_value)

        def api(inputs: dict, options: dict) -> dict:
            return answer_call(page, inputs, options)

        event = {
            "inputs": [source, table, allow_missing, *controls, *files],
            "outputs": [*shown.values(), state],
            "api_visibility": "private",
        }
        button.click(show, **event)
        if page.at_once:
            blocks.load(show, **event)
        shown["table"].select(explain, state, shown["why"], api_visibility="private")
        gr.api(api, api_name="compute", api_description=_API.format(keys=", ".join(page.keys)))
    return blocks


_API = "metric.compute(**inputs, **options, per_sample=True) and the signature. inputs: {keys}; options: see the page."


def _inputs(page: Page):
    source = gr.State("table")
    with gr.Tabs():
        with gr.Tab("Type") as typed:
            table = gr.Dataframe(
                [list(row) for row in page.rows],
                headers=list(page.headers),
                column_widths=page.widths,
                type="array",
                wrap=True,
                interactive=True,
                show_label=False,
                max_height=320,
            )
            gr.Markdown(page.hint)
        with gr.Tab("Upload files") as uploaded:
            with gr.Row():
                files = [
                    gr.File(label=upload.label, file_types=list(upload.endings), height=130) for upload in page.uploads
                ]
            allow_missing = gr.Checkbox(False, label="--allow-missing: score what both files have")
    typed.select(lambda: "table", None, source, api_visibility="private")
    uploaded.select(lambda: "files", None, source, api_visibility="private")
    return source, table, files, allow_missing


def _control(page: Page, option: Option):
    default = page.default(option) if option.shown_default is None else option.shown_default
    about = {"label": option.name, "info": option.about, "min_width": 210}
    if option.is_file:
        return gr.File(label=f"{option.name}: {option.about}", height=110, min_width=210)
    if option.choices is not None:
        return gr.Dropdown([str(choice) for choice in option.choices], value=str(default), **about)
    if isinstance(default, bool):
        return gr.Checkbox(default, **about)
    if isinstance(default, int | float) and not option.parse:
        return gr.Number(default, precision=0 if isinstance(default, int) else None, **about)
    return gr.Textbox("" if default is None else re.sub(r"[()]", "", str(default)), **about)


def _results(page: Page) -> tuple[dict, gr.State]:
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            scores = gr.HTML()
        with gr.Column(min_width=320):
            plot = page.plot()
    shown = {
        "scores": scores,
        "plot": plot,
        "signature": gr.Textbox(label="Signature", interactive=False, buttons=["copy"]),
        "table": gr.Dataframe(
            interactive=False, wrap=True, max_height=420, label=table_label(page), buttons=["fullscreen"]
        ),
        "why": gr.HTML(container=True, padding=True),
        "call": gr.Code(label="The same in Python", language="python", interactive=False),
    }
    with gr.Row():
        shown["csv"] = gr.DownloadButton("Results per sample (CSV)", size="sm")
        shown["inputs"] = gr.DownloadButton("Inputs (JSON)", size="sm")
    with gr.Accordion("All results (JSON)", open=False):
        shown["json"] = gr.JSON(show_label=False)
    return shown, gr.State(time_to_live=_KEPT_SECONDS)


def _card(page: Page) -> None:
    card = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    gr.Markdown(re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL), container=True, padding=True)
