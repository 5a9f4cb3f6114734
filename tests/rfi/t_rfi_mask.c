/* rfi_mask: masks made from statistics, against the plain statement of rfifind's rules. */
#include <psrkit/experimental/clean.h>

#include "rfi/rules/clean_internal.h"
#include "tests/support/tap.h"
#include <psrkit/signif.h>
#include <string.h>

enum { CHANS = 30, INTS = 20, CELLS = CHANS * INTS };

static psr_err err;

struct scene {
    struct psr_rfi_stats stats;
    struct psr_rfi_rules rules;
    float power[CELLS], mean[CELLS], sd[CELLS];
    unsigned char flags[CELLS];
    int nchan, nint;
    char zap_chan[32], zap_int[32];
};

static void draw(struct scene *s, uint64_t *seed)
{
    memset(s, 0, sizeof *s);
    s->nchan = (int)tap_between(seed, 1, CHANS);
    s->nint = (int)tap_between(seed, 1, INTS);
    s->stats = (struct psr_rfi_stats){.nchan = (size_t)s->nchan,
                                      .nint = (size_t)s->nint,
                                      .ptsperint = 4800,
                                      .lobin = 5,
                                      .numbetween = 2,
                                      .power = s->power,
                                      .mean = s->mean,
                                      .sd = s->sd};
    s->rules = (struct psr_rfi_rules){.time_sigma = 1 + 5 * tap_uniform(seed),
                                      .freq_sigma = 2 + 3 * tap_uniform(seed),
                                      .chan_frac = tap_uniform(seed),
                                      .int_frac = tap_uniform(seed)};
    bool coarse = tap_between(seed, 0, 1); /* so that many are equal */
    for (int k = 0; k < s->nchan * s->nint; k++) {
        double odd = tap_between(seed, 0, 9) ? 0 : 30;
        s->mean[k] = (float)(100 + k % s->nchan + tap_normal(seed) + odd);
        s->sd[k] = (float)(20 + tap_normal(seed) - odd / 2);
        if (coarse) {
            s->mean[k] = roundf(s->mean[k] / 4);
            s->sd[k] = roundf(s->sd[k] / 4);
        }
        s->power[k] = (float)(8 + 4 * tap_normal(seed) + odd);
    }
    for (int i = 0; i < s->nint; i++) {
        if (tap_between(seed, 0, 5))
            continue;
        for (int k = i * s->nchan; k < (i + 1) * s->nchan; k++) {
            s->flags[k] = PSR_RFI_PADDING;
            s->power[k] = 1;
            s->mean[k] = s->sd[k] = 0;
        }
    }
    int last = s->nchan - 1;
    if (tap_between(seed, 0, 1)) {
        snprintf(s->zap_chan, sizeof s->zap_chan, "%d,0:%d:2", last, last / 2);
        s->rules.zap_chan = s->zap_chan;
    }
    if (tap_between(seed, 0, 2) == 0) {
        snprintf(s->zap_int, sizeof s->zap_int, "%d,0", s->nint - 1);
        s->rules.zap_int = s->zap_int;
    }
}

/* --- the plain statement: everything sorted --------------------------------------------------- */

static float median_of(const float *x, int n, int step)
{
    float sorted[CELLS];
    for (int k = 0; k < n; k++)
        sorted[k] = x[k * step];
    tap_sort_floats(sorted, (size_t)n);
    return sorted[n / 2];
}

static float middle_sd(const float *x, int n)
{
    float sorted[CELLS];
    int count = (int)((double)((float)n * 0.8F) + 0.5), start = (n - count) / 2;
    double sum = 0, squares = 0;
    memcpy(sorted, x, (size_t)n * sizeof *x);
    tap_sort_floats(sorted, (size_t)n);
    for (int k = start; k < start + count; k++)
        sum += (double)sorted[k];
    for (int k = start; k < start + count; k++)
        squares += pow((double)sorted[k] - sum / count, 2);
    return (float)(count > 1 ? sqrt(squares / (count - 1)) : 0);
}

static void flag_levels(struct scene *s, const float *x, unsigned char flag, unsigned char *flags)
{
    int n = s->nchan * s->nint;
    float all = median_of(x, n, 1), most = (float)s->rules.time_sigma * middle_sd(x, n);
    for (int i = 0; i < s->nint; i++)
        for (int c = 0; c < s->nchan; c++) {
            int k = i * s->nchan + c;
            float row = median_of(x + i * s->nchan, s->nchan, 1);
            float column = median_of(x + c, s->nint, s->nchan);
            row = fabsf(row - all) > most ? all : row;
            column = fabsf(column - all) > most ? all : column;
            bool bad = fabsf(x[k] - row) > most || fabsf(x[k] - column) > most;
            if (bad && !(flags[k] & PSR_RFI_PADDING))
                flags[k] |= flag;
        }
}

struct lists {
    int chan[3 * CHANS], nchan, ints[3 * INTS], nint;
};

static void plain(struct scene *s, unsigned char *flags, struct lists *l)
{
    int nchan = s->nchan, nint = s->nint, last = nchan - 1;
    double ln_p = psr_gauss_logp((double)(float)s->rules.freq_sigma).ln_sf - log(2400);
    float most = (float)-ln_p; /* chi^2 of two degrees of freedom, halved */
    memset(l, 0, sizeof *l);
    memcpy(flags, s->flags, CELLS);
    if (s->rules.zap_int) {
        l->ints[l->nint++] = nint - 1;
        l->ints[l->nint++] = 0;
    }
    if (s->rules.zap_chan) {
        l->chan[l->nchan++] = last;
        for (int c = 0; c <= last / 2; c += 2)
            l->chan[l->nchan++] = c;
    }
    for (int k = 0; k < nchan * nint; k++)
        flags[k] |= s->power[k] > most && !(flags[k] & PSR_RFI_PADDING) ? PSR_RFI_BAD_POWER : 0;
    flag_levels(s, s->mean, PSR_RFI_BAD_MEAN, flags);
    flag_levels(s, s->sd, PSR_RFI_BAD_SD, flags);
    for (int n = 0; n < l->nint; n++)
        for (int c = 0; c < nchan; c++)
            flags[l->ints[n] * nchan + c] |= PSR_RFI_USERINTS;
    for (int n = 0; n < l->nchan; n++)
        for (int i = 0; i < nint; i++)
            flags[i * nchan + l->chan[n]] |= PSR_RFI_USERCHAN;
    for (int i = 0; i < nint; i++) {
        int bad = 0;
        for (int c = 0; c < nchan; c++)
            bad += (flags[i * nchan + c] & PSR_RFI_BAD) != 0;
        if ((flags[i * nchan] & PSR_RFI_USERINTS) ||
            bad <= (int)((float)nchan * (float)s->rules.chan_frac))
            continue;
        l->ints[l->nint++] = i;
        for (int c = 0; c < nchan; c++)
            flags[i * nchan + c] |= PSR_RFI_USERINTS;
    }
    for (int c = 0; c < nchan; c++) {
        int bad = 0;
        for (int i = 0; i < nint; i++)
            bad += (flags[i * nchan + c] & PSR_RFI_BAD) != 0;
        if ((flags[c] & PSR_RFI_USERCHAN) || bad <= (int)((float)nint * (float)s->rules.int_frac))
            continue;
        l->chan[l->nchan++] = c;
        for (int i = 0; i < nint; i++)
            flags[i * nchan + c] |= PSR_RFI_USERCHAN;
    }
}

/* --- comparisons ------------------------------------------------------------------------------ */

static bool lists_cells(const struct psr_mask *m, const unsigned char *flags)
{
    for (size_t i = 0; i < m->nint; i++) {
        size_t at = m->first[i], count = 0;
        for (size_t c = 0; c < m->nchan; c++)
            count += (flags[i * m->nchan + c] & ~PSR_RFI_PADDING) != 0;
        if (m->all_chan[i] != (count == m->nchan) ||
            m->first[i + 1] - at != (count == m->nchan ? 0 : count))
            return false;
        for (size_t c = 0; c < m->nchan && !m->all_chan[i]; c++)
            if (flags[i * m->nchan + c] & ~PSR_RFI_PADDING && m->chan[at++] != (int32_t)c)
                return false;
    }
    return true;
}

static bool lists_lines(const struct psr_mask *m, const struct lists *l)
{
    bool same = m->nzap_chan == (size_t)l->nchan && m->nzap_int == (size_t)l->nint;
    for (int k = 0; k < l->nchan && same; k++)
        same = m->zap_chans[k] == l->chan[k] && m->zap_chan[l->chan[k]];
    for (int k = 0; k < l->nint && same; k++)
        same = m->zap_ints[k] == l->ints[k] && m->zap_int[l->ints[k]];
    return same;
}

static void test_random(uint64_t *seed)
{
    int bad = 0, cells = 0, lines = 0;
    for (int k = 0; k < 500; k++) {
        static struct scene s;
        struct psr_mask mask;
        struct lists want;
        unsigned char flags[CELLS];
        draw(&s, seed);
        plain(&s, flags, &want);
        bad += psr_rfi_mask(&mask, s.flags, NULL, &s.stats, &s.rules, &err) != PSR_OK;
        bad += memcmp(flags, s.flags, (size_t)(s.nchan * s.nint)) != 0;
        bad += !lists_cells(&mask, flags) || !lists_lines(&mask, &want);
        bad += mask.timesigma != (double)(float)s.rules.time_sigma;
        bad += mask.freqsigma != (double)(float)s.rules.freq_sigma;
        cells += (int)mask.first[mask.nint];
        lines += want.nchan + want.nint;
        psr_mask_clear(&mask);
    }
    ok(bad == 0, "masks have the cells that the rules say (%d bad)", bad);
    ok(cells > 0 && lines > 0, "and there are some (%d; %d whole lines)", cells, lines);
}

static void test_old_mask(uint64_t *seed)
{
    static struct scene s;
    struct psr_mask old, mask;
    unsigned char before[CELLS];
    do
        draw(&s, seed);
    while (s.nint < 2);
    psr_status st = psr_rfi_mask(&old, s.flags, NULL, &s.stats, &s.rules, &err);
    memcpy(before, s.flags, CELLS);
    for (int k = 0; k < CELLS; k++)
        s.flags[k] &= PSR_RFI_PADDING;
    s.rules.old = &old;
    ok(st == PSR_OK && psr_rfi_mask(&mask, s.flags, NULL, &s.stats, &s.rules, &err) == PSR_OK,
       "an old mask is taken");
    int bad = 0;
    for (int k = 0; k < s.nchan * s.nint; k++) {
        bool was = (before[k] & ~PSR_RFI_PADDING) != 0;
        bad += s.flags[k] != (before[k] | (was ? PSR_RFI_OLDMASK : 0));
    }
    ok(bad == 0, "and its cells are marked (%d are not)", bad);
    psr_mask_clear(&mask);
    old.nint--;
    ok(psr_rfi_mask(&mask, s.flags, NULL, &s.stats, &s.rules, &err) == PSR_EINVAL &&
           strstr(err.msg, "-mask"),
       "one of another length is refused");
    old.nint++;
    psr_mask_clear(&mask);
    psr_mask_clear(&old);
}

static void test_lists(void)
{
    static struct scene s;
    struct psr_mask mask;
    const char *const wrong[] = {"x", "99", "2:1", "1:2:0", "-1", "1:2:3:4"};
    int bad = 0;
    draw(&s, &(uint64_t){5});
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        s.rules.zap_int = NULL;
        s.rules.zap_chan = wrong[k];
        bad += psr_rfi_mask(&mask, s.flags, NULL, &s.stats, &s.rules, &err) != PSR_EINVAL ||
               !strstr(err.msg, "-zapchan");
        psr_mask_clear(&mask);
        s.rules.zap_int = wrong[k];
        bad += psr_rfi_mask(&mask, s.flags, NULL, &s.stats, &s.rules, &err) != PSR_EINVAL ||
               !strstr(err.msg, "-zapints");
        psr_mask_clear(&mask);
    }
    ok(bad == 0, "lists that are none are refused (%d are not)", bad);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_random(&seed);
    test_old_mask(&seed);
    test_lists();
    return done_testing();
}
