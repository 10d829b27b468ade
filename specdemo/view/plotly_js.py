"""The plotly.js that draws the figures: the one that the installed plotly carries."""

from importlib.util import find_spec
from pathlib import Path

PLOTLY_JS = Path(find_spec("plotly").origin).parent / "package_data" / "plotly.min.js"
