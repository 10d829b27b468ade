"""List the models on offer."""

import argparse

from ..models import CATALOGUE


def run(args: argparse.Namespace) -> int:
    width = max(map(len, CATALOGUE))
    for name, spec in CATALOGUE.items():
        print(f"{name:{width}}  {spec.title}")
        if spec.target != name:
            print(f"{'':{width}}  target {spec.target}, draft {spec.draft}")
        print(f"{'':{width}}  {spec.note}\n")
    print("Any two models that share a tokenizer: --target MODEL --draft MODEL, each a hub id or a folder.")
    return 0
