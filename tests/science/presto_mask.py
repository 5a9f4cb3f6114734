"""The spectra that prepfold folds where it masks, clips and fills gaps, by its own rules.

A block (2400 spectra of a filterbank file, a row of PSRFITS) is masked by the intervals that the block before it touches, the first two by
those of the first; one that touches two intervals takes the channels of the later one alone, unless some channel is masked throughout.
With clipping, the good spectra of each block set running means of the channels, which replace clipped spectra, masked
samples and gaps; without it masked samples become the mid-80 % means of the .stats file."""
import pathlib
import struct

import numpy


class Mask:
    def __init__(self, root):
        data = pathlib.Path(root + ".mask").read_bytes()
        self.interval_s = struct.unpack_from("<d", data, 24)[0]
        self.nchan, self.nint = struct.unpack_from("<2i", data, 48)
        self.at, self.data = 60, data
        self.always = self.take_counted()
        self.zapped = set(self.take_counted())
        counts = self.take(self.nint)
        self.lists = [range(self.nchan) if n == self.nchan else self.take(n) for n in counts]
        stats = pathlib.Path(root + ".stats").read_bytes()
        nchan, nint = struct.unpack_from("<2i", stats)
        means = numpy.sort(numpy.frombuffer(stats, "<f4", nchan * nint, 20 + 4 * nchan * nint).reshape(nint, nchan), axis=0)
        n = int(nint * 0.8 + 0.5)
        start = (nint - n) // 2
        self.padding = means[start : start + n].mean(axis=0, dtype=float)[::-1].astype("f4")  # spectra begin at the top of the band

    def take(self, n):
        self.at += 4 * n
        return list(struct.unpack_from(f"<{n}i", self.data, self.at - 4 * n))

    def take_counted(self):
        return self.take(self.take(1)[0])

    def find(self, start_s, duration_s):
        """Flags of channels from the top of the band; None for all."""
        lo, hi = int(start_s / self.interval_s), int((start_s + duration_s) / self.interval_s)
        lo = min(lo, self.nint - 1)
        hi = lo if hi >= self.nint else hi
        if {lo, hi} & self.zapped:
            return None
        channels = set(self.always) | set(self.lists[hi])
        if lo == hi or self.always:
            channels |= set(self.lists[lo])
        flags = numpy.zeros(self.nchan, bool)
        flags[sorted(channels)] = True
        return flags[::-1]


class Clip:
    """At 6 sigma, as prepfold by default."""

    def __init__(self):
        self.mean = self.sigma = self.levels = None

    def update(self, x):
        """Which spectra of a block are to be replaced by the levels."""
        sums = x.sum(axis=1, dtype=float)
        middle, sigma = numpy.median(sums), sums.std(ddof=1)
        good = (sums > middle - 3 * sigma) & (sums < middle + 3 * sigma)
        if good.any():
            new = sums[good].mean(), sums[good].std(ddof=1), x[good].mean(axis=0, dtype=float)
        else:
            new = self.mean, self.sigma, self.levels
        old = (self.mean, self.sigma, self.levels) if self.mean is not None else new
        self.mean, self.sigma, self.levels = (0.9 * a + 0.1 * b for a, b in zip(old, new))
        return abs(sums - self.mean) > 6 * self.sigma


def clean(x, tsamp_s, mask=None, clip=True, nblock=2400):
    """In place: spectra in floats, from the top of the band; NaN are gaps."""
    rule, padding = Clip(), mask.padding if mask else None
    for first in range(0, len(x), nblock):
        block = x[first : first + nblock]
        gap = numpy.isnan(block[:, 0])
        block[gap] = padding
        late = max(first - nblock, 0)
        masked = mask.find(late * tsamp_s, nblock * tsamp_s) if mask else numpy.zeros(x.shape[1], bool)
        if clip and masked is not None:
            bad = rule.update(block)
            padding = rule.levels
            block[bad] = padding
        if masked is None:
            block[:] = padding
        elif masked.any():
            block[:, masked] = padding[masked]
    return x
