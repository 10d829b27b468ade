"""How many replicas, and what each gets of the machines."""

import re
from collections.abc import Mapping
from typing import NamedTuple

MOST = 64


class Count(NamedTuple):
    """Always `most`; or from `least` to `most`, as many as there is work for."""

    least: int
    most: int

    @classmethod
    def of(cls, text: str) -> "Count":
        """ "2" or "1-4". Raises ValueError with the legal range."""
        found = re.fullmatch(r"(\d{1,3})(?:-(\d{1,3}))?", text.strip(), re.ASCII)
        least, most = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
        if not 1 <= least <= most <= MOST:
            raise ValueError(f"{text!r}; it must be a whole number from 1 to {MOST}, or two such as 1-4")
        return cls(least, most)

    def options(self) -> dict[str, object]:
        """As Ray Serve wants it. A run is one request, and a replica works on one at a time."""
        if self.least == self.most:
            return {"num_replicas": self.most}
        return {
            "autoscaling_config": {
                "min_replicas": self.least,
                "max_replicas": self.most,
                "target_ongoing_requests": 1,
                "upscale_delay_s": 2,
            }
        }

    def share(self, resources: Mapping[str, float]) -> dict[str, float]:
        """What each of them gets of a cluster's `resources`: CPUs, in whole numbers where there are enough, and a GPU.

        Ray gives a process as many threads as it has CPUs. Raises ValueError where nothing is left.
        """
        cpus, gpus = (resources.get(name, 0) / self.most for name in ("CPU", "GPU"))
        if not cpus:
            raise ValueError("the cluster has no CPU")
        share = {"num_cpus": float(int(cpus)) if cpus >= 1 else round(cpus, 2)}
        return share | ({"num_gpus": min(1.0, round(gpus, 2))} if gpus else {})
