"""The page, on localhost and on a Space: python app.py"""

import os
import sys

from specdemo.ui.serve import serve

if __name__ == "__main__":
    on_space = "SPACE_ID" in os.environ
    sys.exit(serve(host=None if on_space else "127.0.0.1"))
