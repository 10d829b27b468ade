"""A run by a script: python examples/client.py "Explain why the sky is blue." [http://127.0.0.1:7860]

Needs `pip install gradio_client`, and a server: python -m specdemo serve
"""

import sys

from gradio_client import Client

MARKS = {"accepted": "{}", "resampled": "[{}]", "bonus": "+{}", "rejected": "", "discarded": ""}


def main(prompt: str, url: str = "http://127.0.0.1:7860") -> None:
    client = Client(url, verbose=False, analytics_enabled=False)
    run = client.submit(prompt=prompt, k=4, length=64, api_name="/run")  # run.cancel() would stop the engine
    for told in run:
        if told.get("lane") == "spec":
            for token in told["tokens"]:
                print(MARKS[token["outcome"]].format(token["text"]), end="", flush=True)
    stats = told["stats"]
    print(f"\n\nacceptance {stats['spec']['acceptance']}, speed-up {stats['speedup']}")


if __name__ == "__main__":
    main(*sys.argv[1:])
