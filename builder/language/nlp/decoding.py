"""Best labellings of many chains at once, for the segmenter: max-marginals and Viterbi.

In: state scores of characters, transitions, and chains of falling length. Out: scores and labels. The chains lie in
the last axis, so that numpy's inner loops are long; a step touches only the chains that reach so far. Only E and S
precede B and S, and only B and I of the same tag precede I and E, so a step is a [2T, 2T] maximum, not [4T, 4T].
Labels stand in the order B-*, I-*, E-*, S-*.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]
NEVER = np.float32(-1e4)


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """Chains, longest first: where they start in the scores, and how many reach each character."""

    starts: Places
    lengths: Places
    reaching: list[int]

    @classmethod
    def of(cls, starts: Places, lengths: Places) -> Chains:
        """`lengths` fall."""
        return cls(starts, lengths, (lengths[:, None] > np.arange(lengths[0])).sum(axis=0).tolist())

    def places(self, i: int) -> Places:
        """Where the chains that reach character i have it."""
        return self.starts[: self.reaching[i]] + i


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """`across`: from E-* or S-* to B-* or S-*, [2T, 2T]. `inside`: from B or I to I or E of a tag, [2, 2, T]."""

    across: Floats
    inside: Floats

    @classmethod
    def of(cls, transitions: Floats) -> Transitions:
        """From those of all labels to all labels."""
        t = len(transitions) // 4
        across = transitions[2 * t :][:, [*range(t), *range(3 * t, 4 * t)]]
        blocks, tag = transitions.reshape(4, t, 4, t), np.arange(t)
        inside = np.stack([np.stack([blocks[origin, tag, goal, tag] for goal in (1, 2)]) for origin in (0, 1)])
        return cls(np.ascontiguousarray(across), inside)

    @property
    def tags(self) -> int:
        return len(self.across) // 2

    def before(self, chains: Chains, scores: Floats) -> Floats:
        """The best scores up to and with each label: [characters, labels, chains]."""
        t = self.tags
        best = np.zeros((len(chains.reaching), 4 * t, len(chains.starts)), np.float32)
        best[0] = scores[chains.starts].T
        best[0, t : 3 * t] += NEVER
        for i in range(1, len(best)):
            n = chains.reaching[i]
            previous, now = best[i - 1, :, :n], best[i, :, :n]
            begun = (previous[2 * t :, None] + self.across[:, :, None]).max(axis=0)
            now[:t], now[3 * t :] = begun[:t], begun[t:]
            going = previous[: 2 * t].reshape(2, 1, t, n) + self.inside[..., None]
            now[t : 3 * t] = going.max(axis=0).reshape(2 * t, n)
            now += scores[chains.places(i)].T
        return best

    def after(self, chains: Chains, scores: Floats) -> Floats:
        """The best scores of what follows each label: [characters, labels, chains]."""
        t = self.tags
        best = np.zeros((len(chains.reaching), 4 * t, len(chains.starts)), np.float32)
        best[chains.lengths - 1, : 2 * t, np.arange(len(chains.starts))] = NEVER
        for i in range(len(best) - 2, -1, -1):
            n = chains.reaching[i + 1]
            following = best[i + 1, :, :n] + scores[chains.places(i + 1)].T
            begun = np.concatenate([following[:t], following[3 * t :]])
            best[i, 2 * t :, :n] = (begun[:, None] + self.across.T[:, :, None]).max(axis=0)
            going = following[t : 3 * t].reshape(1, 2, t, n) + self.inside[..., None]
            best[i, : 2 * t, :n] = going.max(axis=1).reshape(2 * t, n)
        return best

    def margins(self, chains: Chains, scores: Floats, out: Floats) -> None:
        """Write to the characters' places by how much the best labelling with a gap before each beats the best
        without.
        """
        t = self.tags
        total = self.before(chains, scores)
        total += self.after(chains, scores)
        gap = np.maximum(total[:, :t].max(axis=1), total[:, 3 * t :].max(axis=1))
        gap -= total[:, t : 3 * t].max(axis=1)
        for i, n in enumerate(chains.reaching):
            out[chains.places(i)] = gap[i, :n]

    def viterbi(self, chains: Chains, scores: Floats, out: npt.NDArray[np.int32]) -> None:
        """Write the best labels to the characters' places. Of equals the first, by the label before."""
        t, count = self.tags, len(chains.starts)
        best = self.before(chains, scores)
        last = best[chains.lengths - 1, :, np.arange(count)]
        last[:, : 2 * t] += NEVER
        label = last.argmax(axis=1)
        place = np.concatenate([np.arange(t), np.zeros(2 * t, np.int64), np.arange(t, 2 * t)])
        chain = np.arange(count)
        for i in range(len(best) - 1, -1, -1):
            n = chains.reaching[i]
            now = label[:n]
            out[chains.places(i)] = now
            if i:
                previous = best[i - 1, :, :n]
                begun = (previous[2 * t :] + self.across[:, place[now]]).argmax(axis=0) + 2 * t
                goal, tag = np.divmod(np.clip(now - t, 0, 2 * t - 1), t)
                from_b = previous[tag, chain[:n]] + self.inside[0, goal, tag]
                from_i = previous[t + tag, chain[:n]] + self.inside[1, goal, tag]
                label[:n] = np.where((now < t) | (now >= 3 * t), begun, tag + t * (from_i > from_b))
