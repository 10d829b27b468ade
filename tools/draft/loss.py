"""What a draft is trained for: first to predict like the target, then to be accepted.

Acceptance of a proposal from q by a target p is sum(min(p, q)), so that sum itself is the second objective. Both losses
have a gradient of the form a * q + (something on the teacher's few tokens), which is written down here by hand: the
automatic one would keep four float32 copies of (positions, head_size).
"""

import torch
from torch import Tensor


class Distil(torch.autograd.Function):
    """cross_weight * cross-entropy + overlap_weight * (1 - overlap at a temperature), summed over rows."""

    @staticmethod
    def forward(ctx, logits: Tensor, place: Tensor, p: Tensor, p_at: Tensor, temperature: float,
                cross_weight: float, overlap_weight: float) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """logits (n, head); place (n, top) columns of the teacher's tokens, -1 outside the head; p (n, top) at
        temperature 1 and p_at (n, top) at `temperature`. Returns loss, cross-entropy and overlap, all summed."""
        z = logits.float()
        inside = place >= 0
        column = place.clamp_min(0)
        p, p_at = p * inside, p_at * inside
        z -= z.amax(-1, keepdim=True)
        picked = z.gather(1, column)
        gradient = torch.zeros_like(z) if cross_weight == 0 else None
        cross = z.new_zeros(())
        if cross_weight:
            e = z.exp()
            total = e.sum(-1, keepdim=True)
            cross = (p * (total.log() - picked)).sum()
            gradient = e.mul_(cross_weight * p.sum(-1, keepdim=True) / total)
            gradient.scatter_add_(1, column, -cross_weight * p)
        e = (z / temperature).exp_()
        q = e.div_(e.sum(-1, keepdim=True))
        q_picked = q.gather(1, column)
        overlap = torch.minimum(p_at, q_picked)
        if overlap_weight:
            below = (q_picked < p_at) & inside  # where more q is still accepted
            useful = q_picked * below
            scale = overlap_weight / temperature
            gradient.scatter_add_(1, column, -scale * useful)
            gradient.add_(q.mul_(scale * useful.sum(-1, keepdim=True)))
        ctx.save_for_backward(gradient.to(logits.dtype))
        overlap = overlap.sum()
        return cross_weight * cross + overlap_weight * (len(z) - overlap), cross, overlap

    @staticmethod
    def backward(ctx, grad: Tensor, *_: Tensor) -> tuple[Tensor, None, None, None, None, None, None]:
        (gradient,) = ctx.saved_tensors
        return gradient * grad, None, None, None, None, None, None


def sharpen(logp: Tensor, temperature: float) -> Tensor:
    """p at another temperature from the top log-probabilities at 1. Their tail is negligible below 1; at 1 nothing
    changes, and the missing rest stays missing."""
    if temperature == 1:
        return logp.exp()
    return (logp / temperature).softmax(-1)
