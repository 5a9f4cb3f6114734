/* clean_auto.h: automatic cleaning: finds interference in spectra while it removes it. */
#ifndef PSRKIT_CLEAN_AUTO_H
#define PSRKIT_CLEAN_AUTO_H

#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/obs.h>

PSR_API_BEGIN

/* Finds interference in a stream of spectra by its statistics, removes it, and makes 8-bit integers
 * of what is left, with a common level and scatter, so that all that follows is exact sums.
 *
 * Time is divided into windows of 16 blocks; a block is the power of two of spectra nearest to
 * 0.125 s, 64 to 2048.  A cell is one channel in one block of B spectra.  Below, a median of an even
 * number is the mean of the two middle ones; medians are of floats, other arithmetic is in double
 * precision; scatter is 1.4826 times the median of absolute values.
 *
 * Cells.  S1 and S2 are the sums of the samples and of their squares; m = S1 / B is a cell's mean,
 * d = sqrt((S2 - S1 S1 / B) / (B - 1)) its deviation.  l and s are the medians of m and d over the
 * blocks of the window, L and S those of l and s over the last 16 windows; but where l differs from
 * the L of the window before by more than 5 * 1.2533 s / sqrt(spectra of the window's blocks), the noise of a
 * median, the level has stepped, and the channel's history begins anew.  A pulse does this only if it fills
 * half of a window with more than that in single channels.  A cell with a value that is not a number is masked
 * and does not count.
 *  - zm = (m - l) sqrt(B) / s and zd = (d / s - 1) sqrt(2 B), minus their medians over the channels of
 *    the block, over the larger of 1 and their scatter over all cells of the window.
 *    z = max(|zm|, |zd|).  z' is the same of zm' and zd', which have, instead of the median over all channels, the
 *    nearer of two taken off: medians of the medians of five sub-bands (see below), of which the channel's is the last or
 *    the first; at the ends of the band, the five there; without sub-bands that have no such channel.  So what a
 *    receiver's gain does to all channels of three such sub-bands is in z, and not in z'.
 *  - A channel is masked in the window if S or s is 0; if z > 5 and z' > 5 in a quarter of its blocks, at least 2;
 *    or if both log(sum zm^2) and log(sum zm'^2) exceed their medians over channels by more than 5 scatters: a
 *    bright burst does the same to all channels in zm, and a receiver in zm'.
 *  - Another cell with z > 5 is masked if fewer than half of the 8 channels on either side (of those
 *    not masked) have z > 2.5 in this block or in the one before or after it.  So a dispersed burst
 *    stays, whatever its brightness: it crosses a channel in less than a quarter of a window, and its
 *    neighbours at the same time.
 *
 * Samples.  y = x (5 / S) + (32 - L 5 / S), both factors rounded to floats, in float arithmetic
 * without fused multiply-adds; L and S move from the values of the window before to those of this
 * one in 16 equal steps, of which block k uses number k + 1; those of a channel that was masked in the window
 * before begin at their new values.  But where the band has stepped, those of the window before hold in all of this one, and
 * those of the next begin at their new values: x, the median over channels of (l - L) / S of the window before, is more than
 * 0.2 in size, and 0.8 x of it comes within two blocks (the median over channels of (m - L) / S differs by that between blocks k and k + 2,
 * the last of the window before counted), or is in that last block already.  Output is y rounded to the nearest
 * (halves to even) within 0 .. 255; masked samples are 32.  1 sigma is 5 levels, which loses 0.2 % of
 * S/N; a sample is clipped at 44.6 sigma.
 *
 * The band as a whole.  With up to 16 sub-bands, sub-band g of G from channel g nchan / G on, u(t, g)
 * is the sum of y - 32 over its channels that are not masked; n(g) of these.  A sub-band counts in a
 * block if n(g) is at least a quarter of its channels; fewer than 4 that count make M = 0.
 *  - Sparks.  For widths w = 1, 2, 4 .. up to B / 4 in turn, tile j of a block is spectra j w to (j + 1) w - 1,
 *    without those that are sparks already: n of them; with fewer than w / 2, M = 0.
 *    M(w, j) = sqrt(G') / 1.2533 times the median over the G' sub-bands that count of sum u / (5 sqrt(n(g) n)).
 *    If M, minus the median of the nine tiles of the window around it, exceeds clip_sigma
 *    times the larger of 1 and its scatter over the window, in size, and Q, with the same sign, clip_sigma,
 *    the tile is masked in all channels,
 *    with w / 2 spectra (rounded down) of the window on either side.  Lost packets are sparks, too.
 *    Q = sqrt(G') / 1.3626 times (q + 0.6745) if the lower quartile q of the same is above 0, (q' - 0.6745) if the upper
 *    one q' is below, otherwise 0 (number G' / 4 from either end): sparks are in all receivers, and a gain of one of them
 *    is left to what follows.
 *    A dispersed burst that crosses less than half of the band in w spectra is not seen.
 *  - Delays.  A pulse that takes longer than its sweep is bright in most of the band at once, too; interference on Earth has no
 *    delay across the band.  A run is successive spectra, and a quarter of their number (rounded up) on either side, up to the
 *    next run: T together.  With s(t, g) = u / (5 sqrt n(g)), 0 in sub-bands that do not count, and p(t) = sum_g s, weights W(t) are the sum of
 *    p over the a = T / 4 spectra (rounded up) after t less that over the a before t, within the run, less their mean over the run.
 *    d(g) = sum_t s(t, g) W(t) is fitted by (c + b f(g)) x(g), by least squares, x(g) = sum_t s(t, g) p(t), f from -1/2 to 1/2
 *    the centre of the sub-band in the band: what has one shape p in all sub-bands, whatever that is and however bright in each, has b = 0,
 *    but for noise.  The delay is D = b sum p^2 / h spectra, with h = sum_t W(t) (p(t - e) - p(t + e)) / 2 e, e = a / 2 (rounded up), what a
 *    spectrum of delay adds to sum W p.  Its noise is that of b, from sum W^2 in each d, or from the residuals of the fit
 *    if these are larger (n - 2 degrees of freedom), and 0.02 a, added as squares: as much may shapes differ.  If h is
 *    not below 0 or fewer than 3 x differ from 0, there is none.  z = D over its noise, 0 without.
 *    Each run of sparks of any width is judged.  Of the last 64 of these runs, if sum z (each within -3 .. 3) is more than 5 sqrt(their number)
 *    in size, there is a source, of delay D0: the median, weighted by z^2 within the same limits, of the D whose z has the sign of the sum.
 *    A run is a burst if |z| > 4, or if there is a source and D is less than 3 of its noise short of D0, or if a delay fits it better than
 *    none.  Then its spectra are no sparks.
 *    A delay fits better if Y^2 > 1.003 X^2 + 4: by 2 sigmas, and by more than shapes may differ.  Of the run, without what is beside it, and as
 *    many spectra as it has twice, at least 8, on either side, up to the window's ends and the next runs, 128 bins of equal length are
 *    made (fewer, where there are not so many spectra; what is over at the end is left out): v(i, g) = sum s / sqrt(their spectra).  X is the
 *    largest S/N of a triangle that falls to 0 in k bins on either side of a bin, k = 1 2 3 4 6 8 11 16 23 32 45 64, in sum_g v(i, g): the sum of
 *    products over the root of the sum of squares of the triangle times the number of sub-bands that differ from 0.  Y is the same in sum_g
 *    v(i + rint(e f(g)), g), of triangles in the middle of a bin of the run as wide as X's or up to four of these narrower, for e = max(1, k / 10) of X's k and then 1.4 times as much each,
 *    while that is less than all bins; -e if the first channel is the lowest.  What has one shape in all sub-bands has Y <= X without noise, whatever
 *    shape and spectrum are.  A run whose sum of v is not above 0 has no delay.
 *  - Spectra without data.  If y is below 10 on average, u / n(g) < -22, in more than half of the sub-bands that count, samples were cut
 *    off, and nobody knows by how much: whatever clip_sigma, with zerodm too, the spectrum is a spark and of no burst.  This comes after
 *    sparks, delays and pulses, so that it is judged as none of these.
 *  - Pulses.  A tile with the same M and Q above 2.5 is a pulse, whatever clip_sigma, without spectra beside it.  It
 *    stays, but common noise is not measured there: that is there most of the time, and of a bright pulsar whose sweep
 *    is shorter than its pulses the sub-bands have as much in common.  Runs of pulses that are no sparks are judged as those of sparks are, and
 *    are bursts if also |z| > 2, unless d(g) = c x(g), with one c for the sub-bands below a place in the band and another for those above
 *    (at least 3 with x on either side), fits better at the best place than the line does: so do the gains of two receivers.  All spectra of bursts, with those beside them, are pulses.  If more than a seventh of the window's
 *    spectra are pulses and not of bursts, or runs of pulses, no bursts, whose sum of s is below 0 have more than half as many
 *    spectra as the others, these are none: crests and dips of hum are no pulses.
 *  - Steps of the band.  b(t) = sum u / (5 sqrt(sum n)) over the sub-bands that count, in cells of B / 16 spectra, without
 *    sparks and bursts.  Of all ways to choose stretches of at least 16 cells (2 at either end of the window) with means b
 *    over N spectra, that with the largest sum of (b^2 N - 400) is taken, so that each is beyond 20 sigmas.  An edge is where
 *    8 spectra and the 8 before them differ by most, within a cell of that of the stretch, in units of their noise; by more than 5,
 *    and half of what the means of the stretches on either side differ by (0 outside stretches), or the stretch stays: a
 *    dispersed pulse, or one that is not as sharp as that, is no step.  If three quarters of the sub-bands (all but n / 4) have more than half of the median of their
 *    means in it, and it is a run of pulses, without sparks, with |z| > 4, it is a burst by that rule; one that begins with the window, if also the last window
 *    ended in a burst.  A stretch that begins with the window has its edge in the last
 *    (which ended with a stretch that was taken, and did not hold), or spectra 24 to 31 and the same number from the end of the last window,
 *    without the stretches that were taken there, differ so.
 *    Where levels hold, edges that are not sharp are those of cells.  The means of u / (5 sqrt n) in a stretch are taken out of
 *    the sub-bands and, before y is rounded, out of y.  Nothing of this in a first window that is shorter; of a last one of fewer than 64 spectra
 *    all is one stretch, if the last window ended with one that was taken and did not hold, and b^2 N >= 400.
 *  - Common noise.  The gain of a receiver, which strong interference changes too, moves its sub-bands
 *    together; an observation with several receivers has as many such modes.
 *    For each width w = 1, 2, 4 .. up to B / 2: tiles are of 2 w spectra (of 1 if w = 1) without sparks, with
 *    weights h that step by 1 each w / 4 spectra, 1 2 3 4 4 3 2 1 (1 2 2 1 if w = 2), as a box would let
 *    through much of what varies faster.  Spectra of pulses count as 0, and tiles of which they are more than half do
 *    not count.  r(g) is sum h u / (5 sqrt(n(g) sum h^2)) in up to 512 tiles, evenly
 *    chosen, at least 4, minus its median, within 3 times the larger of 1 and its scatter, so that
 *    pulses hardly count, and then minus its mean (of r rounded to 2^-20): of coarse or skewed samples, the medians of all
 *    sub-bands are off their means together.  C is the mean of r(g) r(h) over the N tiles, at least 12, of the last 16 windows, less
 *    what is along the modes of narrower widths.  An eigenvector v of C, of length 1, is a mode if its eigenvalue
 *    is above what noise has, (1 + sqrt(G / N))^2 (Marchenko and Pastur 1967), and if it is of more than two
 *    sub-bands, 1 / sum v^4 > 2, and makes sums over the band noisier by a fifth: e(x) = (x - 1) s^2 / sum n > 0.4,
 *    or 0.8 with fewer than 8 windows,
 *    where s is the larger of the sums of |v| sqrt n over the g where v is positive and where it is negative.
 *    x is the median over the windows of the variance along v, and e is taken of their lower quartile (of n, number
 *    n / 4 from 0; the median if n < 8): pulses are in few windows, modes in most.  Both are that of this window if its e is above 8
 *    and above 4 times that other one, and w <= B / 32: then a level has stepped.
 *    In each spectrum that is no spark and of no burst (there a = 0), a is fitted to u / (5 sqrt n) = sum over modes of a v: mode by mode by least absolute
 *    deviations, then all by two steps of least squares, with residuals within 3 (one-step M-estimates, Huber
 *    1981), so that a pulse in fewer than half of the mode's sub-bands hardly counts.  A is the running
 *    median of a over w / 2 spectra (rounded down) to either side.  Unless a level has stepped along v, and if
 *    e is above that at no width above 2^(k - 1), neither of the two widest (k = 0: at none): a mode that
 *    is fast, as hum is, must not take slow pulses; A is less by its mean (of A rounded to 2^-20) over 2^(k + 1)
 *    spectra to either side.  What is subtracted from y before it is
 *    rounded is the sum over modes of 5 q (A s + D r (N / X - N / (w D^2))) v / sqrt n, with N = w c / (2 floor(w / 2) + c), c = pi / 2, and
 *    X = x - 1 + N: a median of m values has c / (m - 1 + c) of their variance, within 2 %; s = (x - 1) / X; D is A less the mode's level, the sum of v times the medians of
 *    single spectra, or A where the slow is taken out; and r = 2 (w D^2 / X - b) within 0 .. 1, b = 1.5,
 *    but where v is nearly the same in all sub-bands, (sum v)^2 > 0.7 G, b = 4 if w <= B / 32, beyond the crests of hum, and r = 0 if w is more: what is slow in the whole band may be a pulse.  So a pulse loses the share s,
 *    whatever the mode is there, and only what is beyond mode and noise, as steps are, goes by what it is itself.
 *    This takes from a pulse what most of a receiver's band has of it for longer than w / 2 and less than 2^(k + 2);
 *    in the first windows, before there is a history, also of what is longer.
 *  - With zerodm, there is neither of these; y is less by the mean of all channels not masked, minus its
 *    mean over the window.
 *
 * Weights.  With weights, output is not y but (y - 32) q / 5 + 32, of floats, so that 1 sigma of channel c is q levels
 * and sums over channels, still exact, are weighted by whole numbers.  r is the median L of the channel and of 8 on either side (of those kept, with S > 0), over its S; q = 5 r over the median r of kept
 * channels with S > 0, to the nearest whole number (halves to even) within 0 .. 10; 5 throughout if that
 * median is not above 0.  Where the level of no signal is 0 and the system temperature is that of the channels around,
 * L is proportional to the gain, which varies slowly, and r to the S/N that a source of flat spectrum has in a
 * channel: these are its best weights.  A channel with steady interference has more scatter, and weighs less.  Sparks and common noise are found before.  q is that of the window.
 *
 * The stream's last window may be incomplete, and spectra after its last whole block are treated as
 * those of that block.  With fewer than 4 whole blocks it has no statistics: L, S and the channels masked
 * are those of the window before.  A stream shorter than 4 blocks has blocks of a quarter of it; one
 * shorter than 32 spectra is masked.
 *
 * The output does not depend on block lengths of the calls, threads, the processor or the backend.  On a device the
 * passes over samples and over the sums of sub-bands are made there; what is decided by a few numbers of each channel
 * or width, is decided on the host. */

typedef struct psr_clean_auto psr_clean_auto;

struct psr_clean_auto_desc {
    size_t size; /* sizeof the struct */
    size_t nchan;
    int nbit; /* of the input, like kind */
    enum psr_kind kind;
    double tsamp_s;
    double clip_sigma; /* of sparks; 0: they stay */
    bool zerodm;
    const unsigned char *keep; /* [nchan] 0: masked throughout; NULL keeps all; copied */
    int nthread;               /* 0: all cores */
    bool weights; /* weight channels by signal to noise; from 4 bits on: levels of fewer are not
                                  proportional to gain */
    const char *backend; /* "cpu" "cuda"; NULL is "cpu" */
    int device;          /* of the backend */
    bool
        endless; /* keep no account of what is past, which would grow: mask, level and sd of the report are of the last
                     window, psr_clean_auto_lost tells of the last call, and psr_clean_auto_mark of nothing */
    bool
        ascending; /* the first channel is the lowest in frequency: dispersed pulses are earlier in later ones */
};

/* What was found so far. */
struct psr_clean_auto_report {
    size_t size;                 /* sizeof the struct */
    size_t block, window;        /* spectra */
    int64_t nsamp;               /* spectra returned */
    int64_t nspark;              /* of them masked as sparks */
    size_t nwindow, nfiltered;   /* windows, and those from which common noise was subtracted */
    const int64_t *masked;       /* [nchan] spectra in which a channel was masked, without sparks */
    const unsigned char *mask;   /* [nwindow][nchan] 1: masked in more than half of the window */
    const float *level, *sd;     /* [nwindow][nchan] l and s; 0 where there are none */
    const unsigned char *weight; /* [nchan] q of the last window; NULL: no weights */
};

/* Status: PSR_EINVAL naming field, value and limit; PSR_ENOMEM; PSR_EDEVICE if the backend is not available. */
PSR_MUST_CHECK psr_status psr_clean_auto_create(psr_clean_auto **out,
                                                const struct psr_clean_auto_desc *desc,
                                                psr_err *err);

/* Spectra of a window. */
size_t psr_clean_auto_window(const psr_clean_auto *p);

/* Takes the next spectra and returns those whose window is complete.
 * Given:    in    [nsamp][nchan] packed, each spectrum from a byte boundary
 *           out   room for nsamp spectra and a window less one, of nchan bytes each; not in
 * Returned: out   [*nout][nchan] bytes
 * Status:   PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_clean_auto_execute(psr_clean_auto *p, const void *in, size_t nsamp,
                                                 void *out, size_t *nout, psr_err *err);

/* Ends the stream and returns the spectra held back, fewer than a window.  Status: PSR_ENOMEM, PSR_EDEVICE. */
PSR_MUST_CHECK psr_status psr_clean_auto_finish(psr_clean_auto *p, void *out, size_t *nout,
                                                psr_err *err);

/* Level of the output of every channel. */
enum { PSR_CLEAN_AUTO_LEVEL = 32 };

/* The plan's, valid until the next call that changes it. */
void psr_clean_auto_describe_sized(const psr_clean_auto *p, struct psr_clean_auto_report *report,
                                   size_t size);
#define psr_clean_auto_describe(p, report)                                                         \
    psr_clean_auto_describe_sized((p), (report), sizeof *(report))

/* Frees the plan; NULL is allowed. */
void psr_clean_auto_destroy(psr_clean_auto *p);

PSR_API_END

#endif
