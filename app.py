"""The page, on localhost and on a Space: python app.py"""

import os
import sys

from specdemo.space.zero import ZeroGPU, chosen, gpu, on_zero
from specdemo.ui.serve import serve

if __name__ == "__main__":
    if "SPACE_ID" in os.environ:
        pairs = chosen()
        sys.exit(serve(host=None, pair=pairs[0], place=ZeroGPU(pairs, gpu()) if on_zero() else None))
    sys.exit(serve())
