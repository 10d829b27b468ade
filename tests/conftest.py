"""For every test: one thread. Two threads of tiny models spend their time waiting for each other."""

import torch

torch.set_num_threads(1)
