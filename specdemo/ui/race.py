"""The Race tab: what a run is asked for with, and the stage that shows it."""

import json

from ..session import Session
from .controls import Controls, controls
from .labels import Labels
from .stage import stage

#: Hands the fields' values, by their names, to the stage.
_RUN = """(...values) => {
  const fields = Object.fromEntries(NAMES.map((name, place) => [name, values[place]]));
  document.dispatchEvent(new CustomEvent("sd-run", { detail: fields }));
  return [];
}"""


def race(session: Session, said: Labels) -> Controls:
    """The form that says what a run is asked for with."""
    asked = controls(said, session.own_models, session.default.name)
    stage(session)
    run = _RUN.replace("NAMES", json.dumps(list(asked.fields)))
    asked.run.click(None, list(asked.fields.values()), None, js=run, api_visibility="private")
    return asked
