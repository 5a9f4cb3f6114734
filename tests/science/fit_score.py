#!/usr/bin/env python3
"""fit_score.py folds FIRST END FILE: makes skies FIRST to END - 1 with fakebin, folds pulsars and other signals with
gpufold -json (both in PATH), and writes a line of JSON for each fold: its numbers, kind, sky.
fit_score.py fit FILE [ROOT.fold.json ..]: fits the table of lib/candidate/score.c and PSR_CAND_LINE to half of the skies and tests both
on the others; the further files are what psrsearch folded in skies without pulsars.

Kinds: 1 a pulsar, 3 one of S/N below 8, which is not fitted, 0 noise and interference: signals of DM 0 in all channels or in
some, radars, phones, sparks.  One in two skies has pulsars, two in three have interference."""
import json, math, os, random, subprocess, sys, tempfile

NUMBERS = ['alpha', 'beta', 'gamma', 'share_bands', 'share_parts', 'halves_band', 'halves_time', 'accel_ok', 'covered', 'snr', 'dm0_sigma', 'bands_ratio', 'pulse_share']
# S/N tells a pulsar from noise, but nothing of interference, which may be brighter; alpha tells only bright signals of DM 0.
LIMITS = {'alpha': (.9, 1), 'beta': (0, 1), 'gamma': (0, 1), 'share_bands': (0, 1), 'share_parts': (0, 1), 'halves_band': (-1, 1),
          'halves_time': (-1, 1), 'accel_ok': (0, 1), 'covered': (0, 1), 'snr': (6, 9), 'dm0_sigma': (-3, 9), 'bands_ratio': (.5, .8), 'pulse_share': (.5, .85)}
REJECTS = 4  # sigma, by which a curve over DM rejects DM 0
# What is there for a part of the observation only is interference more often than these skies have it: calls, passing sources.
GIVEN = {'share_parts': .3, 'halves_time': .15}
FALLING = ('alpha', 'beta', 'gamma')  # speak against a pulsar; all others for it
BANDS = [(1464, 2), (1500, 4.7), (430, .3), (3200, 8)]  # top channel and channel width, MHz
NCHAN, TSAMP_US, TOBS_S, K = 64, 1024, 60, 1 / 2.41e-4


def draw(sky):
    """Options of fakebin, and candidates: period, DM, kind, and of pulsars true DM and width."""
    r = random.Random(4711 + sky)
    top, width = BANDS[sky % 4]
    low, high = top - (NCHAN - 1) * width, top
    sweep = K * (low ** -2 - high ** -2)  # s per pc cm^-3
    # Far enough that a pulse of 20 ms is swept over many times its width.
    most_dm = 1.5 / sweep
    options, cands = [], []
    for i in range(5 if sky // 8 % 2 == 0 else 0):
        p = 10 ** r.uniform(-1.6, .6)
        w = p * r.uniform(.02, .15)
        dm = most_dm * 10 ** r.uniform(-2, 0)
        snr = 10 ** r.uniform(math.log10(8.5), 1.5)
        options += ['-add', 'pulsar period=%g dm=%g width=%g snr=%g' % (p, dm, w, snr)]
        for off in (0, .3):  # a search is off by a part of the pulse
            cands.append((p, max(dm + r.uniform(-off, off) * w / sweep, .1 * dm), 3 if snr < 8 else 1, dm, w))
    if sky % 3:
        for i in range(4):
            p = 10 ** r.uniform(-1.6, .6)
            options += ['-add', 'pulsar period=%g dm=0 width=%g snr=%g' % (p, p * r.uniform(.03, .3), r.uniform(8, 60))]
            cands += [(p, most_dm * 10 ** r.uniform(-2, 0), 0) for k in range(3)]
        freq = r.uniform(low + 4 * width, high - 4 * width)
        ipp = 10 ** r.uniform(-1.3, .3)
        options += ['-rfi', 'radar freq=%g bw=%g level=%g period=%g width=%g' % (freq, 6 * width, r.uniform(1, 5), ipp, ipp * .1)]
        cands += [(ipp, most_dm * 10 ** r.uniform(-2, 0), 0) for k in range(4)]
        options += ['-rfi', 'spark rate=1 width=2e-3 level=1']
    for i in range(14):
        cands.append((10 ** r.uniform(-1.6, .9), most_dm * 10 ** r.uniform(-2, 0), 0))
    if sky % 3 == 1 and sky // 8 % 2:  # mobile phones, where no pulsar is folded with them: a pulse that is there now and then, in a few channels each time
        frame = 10 ** r.uniform(-1.3, -.3)
        options += ['-rfi', 'phone freq=%g bw=%g rate=.3 width=4 carrier=%g slot=%g frame=%g level=%g' %
                    ((low + high) / 2, .8 * (high - low), 4 * width, frame * .1, frame, r.uniform(1, 5))]
        cands += [(frame, most_dm * 10 ** r.uniform(-2, 0), 0) for k in range(4)]
    for text in [o for o in options if o.startswith('pulsar') and 'dm=0 ' not in o][::3]:  # one in three has a second pulse
        snr = float(text.split('snr=')[1])
        options += ['-add', '%ssnr=%g phase=%.2f' % (text.split('snr=')[0], snr * r.uniform(.4, 1), r.uniform(.2, .8))]
    return options, cands, top, width


def fold(sky, to):
    options, cands, top, width = draw(sky)
    with tempfile.TemporaryDirectory() as d:
        subprocess.run(['fakebin', '-q', '-seed', str(900 + sky), '-period', '0', '-nbits', '8', '-nchans', str(NCHAN), '-fch1', str(top),
                        '-foff', str(width), '-tsamp', str(TSAMP_US), '-tobs', str(TOBS_S), *options, '-o', d + '/a.fil'], check=True)
        with open(d + '/c.csv', 'w') as f:
            f.write('dm,p\n')
            f.writelines('%.6f,%.9f\n' % (c[1], c[0]) for c in cands)
        out = subprocess.run(['gpufold', '-q', '-noplot', '-json', '-device', 'cpu', '-fine', '-nodmsearch', '-refine', '-topo', '-cands', d + '/c.csv', '-o',
                              d + '/f', d + '/a.fil'], check=True, capture_output=True, text=True).stdout
    for line, c in zip(out.splitlines(), cands):
        q = json.loads(line)
        q['beta'] = abs(q['dm'] - c[1]) / c[1]  # which gpufold takes from names of lists
        to.write(json.dumps(dict(sky=sky, kind=c[2], p=c[0], dm=c[1], found_p=q.get('p_s_topo'), found_dm=q['dm'], **{k: q.get(k) for k in NUMBERS})) + '\n')
    to.flush()


def folds(first, end, path):
    with open(path, 'w') as to:
        for sky in range(first, end):
            fold(sky, to)


def is_clear(r):
    """Not a fold in which another signal of the sky was found: pulsars within their width, others at none of a pulsar's harmonics."""
    options, cands, top, width = draw(r['sky'])
    sweep = K * ((top - (NCHAN - 1) * width) ** -2 - top ** -2)
    off = lambda p: abs(r['found_p'] / p - 1) * TOBS_S / r['found_p']  # turns over the observation
    if r['kind']:
        dm, w = min((c for c in cands if c[2]), key=lambda c: abs(c[0] - r['p']) + abs(c[1] - r['dm']))[3:]
        return off(r['p']) < 2 * w / r['p'] + .05 and abs(r['found_dm'] - dm) * sweep < 2.5 * w
    pulsars = {c[0] for c in cands if c[2]}
    return not any(off(p * a / b) < 2 for p in pulsars for a in range(1, 9) for b in range(1, 9))


def newton(a, y, given):
    """Weights of a logistic function, the first without a limit; given: a sum that is there already."""
    import numpy as np
    w, ridge = np.zeros(a.shape[1]), np.full(a.shape[1], .3)
    ridge[0] = 1e-9
    for step in range(60):
        p = 1 / (1 + np.exp(-given - a @ w))
        h = (a * (p * (1 - p))[:, None]).T @ a + np.diag(ridge)
        w += np.linalg.solve(h, a.T @ (y - p) - ridge * w)
    return w


def fit(path, empty):
    import numpy as np
    rows = [json.loads(line) for line in open(path)]
    rows = [r for r in rows if r['kind'] != 3 and r['snr'] is not None and is_clear(r)]
    for k, name in enumerate(empty):
        rows += [dict(r, kind=0, sky=4 * k) for r in map(json.loads, open(name)) if r.get('snr') is not None]
    rows = [r for r in rows if not r['kind'] or r['snr'] > 8]
    raw = np.array([[np.nan if r[k] is None else min(max(r[k], LIMITS[k][0]), LIMITS[k][1]) for k in NUMBERS] for r in rows])
    kind = np.array([0 if not r['kind'] else 1 if (r['dm0_sigma'] or 0) > REJECTS else 2 for r in rows])
    odd = np.array([r['sky'] % 8 >= 4 for r in rows])  # all bands on both sides
    y = (kind > 0).astype(float)
    centre = np.nanmean(raw[~odd], 0)
    scale = np.maximum(np.nanstd(raw[~odd], 0), .05)
    x = np.where(np.isnan(raw), 0, (raw - centre) / scale)
    a = np.hstack([np.ones((len(x), 1)), x])
    signs = np.array([0] + [-1 if k in FALLING else 1 for k in NUMBERS])
    given = sum(GIVEN[k] * a[:, 1 + NUMBERS.index(k)] for k in GIVEN)
    use = np.array([True] + [k not in GIVEN for k in NUMBERS])
    while True:  # what would speak the wrong way says nothing
        w = np.zeros(a.shape[1])
        w[use] = newton(a[~odd][:, use], y[~odd], given[~odd])
        wrong = use & (signs * w < 0)
        if not wrong.any():
            break
        use[np.argmax(np.where(wrong, abs(w), 0))] = False
    for k in GIVEN:
        w[1 + NUMBERS.index(k)] = GIVEN[k]
    print('static const double sum_without_any = %.3f;\n' % w[0])
    for k, name in enumerate(NUMBERS):
        print('    [PSR_CAND_%s] = {%g, %g, %.4g, %.4g, %.3f},' % (name.upper(), *LIMITS[name], centre[k], scale[k], w[k + 1]))
    p = 1 / (1 + np.exp(-a @ w))
    line = np.quantile(p[~odd & (kind == 0)], .99)
    print('#define PSR_CAND_LINE %.3f' % line)
    for which, name in ((~odd, 'fitted'), (odd, 'not fitted')):
        none, clear, open_ = p[which & (kind == 0)], p[which & (kind == 1)], p[which & (kind == 2)]
        print('# %s: of %d others %.2f %% above the line, %.3f; of %d pulsars that reject DM 0 %.1f %%, of %d with an open DM %.1f %%' %
              (name, len(none), 100 * np.mean(none > line), line, len(clear), 100 * np.mean(clear > line), len(open_), 100 * np.mean(open_ > line) if len(open_) else 0))
        edge = [0, .1, .3, .7, .9, 1.0001]
        print('# ' + ', '.join('%g to %.1g: said %.3f, true %.3f of %d' % (l, h, p[m].mean(), y[m].mean(), m.sum())
                               for l, h in zip(edge, edge[1:]) for m in [which & (p >= l) & (p < h)] if m.any()))


if __name__ == '__main__':
    if sys.argv[1] == 'folds':
        folds(int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
    else:
        fit(sys.argv[2], sys.argv[3:])
