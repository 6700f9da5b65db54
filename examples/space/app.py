"""A page that finds aspect sentiment triplets in a review: an app for a Gradio Space, or for `python app.py`."""

from __future__ import annotations

import gradio as gr

from builder import Extractor

EXAMPLES = ["餐點不會太鹹，服務人員也很親切", "湯頭濃郁，可惜麵條煮得太爛", "等了一小時才上菜，甜點倒是很驚豔"]
COLUMNS = ["aspect", "opinion", "polarity", "valence", "rule"]
extract = Extractor()


def find_triplets(text: str) -> tuple[str, list[list[object]]]:
    """The review with its triplets marked, as HTML, and a row for each."""
    document = extract(text)
    rows = [
        [triplet.aspect.text, triplet.opinion.text, triplet.polarity, triplet.valence, triplet.rule]
        for triplet in document
    ]
    return document._repr_html_(), rows


page = gr.Interface(
    find_triplets,
    inputs=gr.Textbox(label="Review", lines=3, max_length=2000),
    outputs=[gr.HTML(label="Triplets"), gr.Dataframe(headers=COLUMNS, label="As rows")],
    examples=EXAMPLES,
    title="Aspect sentiment triplets in Chinese reviews",
    flagging_mode="never",
)

if __name__ == "__main__":
    page.launch()
