/* Makes dedispersion plans from the smearing of each line. */
#include "base/base.h"
#include "ddplan_internal.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* DDplan.py's constants.  Every expression below is evaluated in its order: a plan is a chain of
 * comparisons, and the last bit of a sum can decide one. */
static const double allowed_step[] = {0.01, 0.02, 0.03, 0.05, 0.1,  0.2,  0.3,   0.5,   1.0,  2.0,
                                      3.0,  5.0,  10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 300.0};

enum {
    NSTEP = sizeof allowed_step / sizeof *allowed_step,
    NGRID = 10000, /* DMs at which the least smearing in a channel is looked for */
    MAX_PER_CALL = 1 << 24,
};

static const double equal_within = 1.2;   /* times that differ by less count as equal */
static const double sub_share = 0.8;      /* of the other smearing, for a sub-band's */
static const double line_ends_at = 2.0;   /* channel smearing over all other */
static const double approx_k = 0.0001205; /* half of 0.000241 */

/* Smearing of dm over bw_mhz centred on fctr_mhz, in ms (formula in ddplan_internal.h). */
static double smear_ms(double dm, double bw_mhz, double fctr_mhz)
{
    double lo = fctr_mhz - 0.5 * bw_mhz, hi = fctr_mhz + 0.5 * bw_mhz;
    return 1000.0 * (dm / (0.000241 * lo * lo) - dm / (0.000241 * hi * hi));
}

static double smear_chan(const struct psr_ddplan_desc *d, double dm)
{
    return smear_ms(fabs(dm - d->cohdm), d->band.bw_mhz / (double)d->band.nchan, d->band.fctr_mhz);
}

static double smear_bw(const struct psr_ddplan_desc *d, double dmstep)
{
    return smear_ms(0.5 * dmstep, d->band.bw_mhz, d->band.fctr_mhz);
}

static double smear_sub(const struct psr_ddplan_desc *d, double dsubdm)
{
    if (d->nsub == 0)
        return 0.0;
    return smear_ms(0.5 * dsubdm, d->band.bw_mhz / (double)d->nsub, d->band.fctr_mhz);
}

static double square(double x)
{
    return x * x;
}

static double smear_optimal(const struct psr_ddplan_desc *d, double dm)
{
    return sqrt(2 * square(1000.0 * d->band.tsamp_s) + square(smear_chan(d, dm)) +
                square(smear_bw(d, allowed_step[0])));
}

/* Squares of everything but the smearing in a channel. */
static double other_squares(const struct psr_ddplan_desc *d, const struct psr_ddplan_line *l)
{
    return square(1000.0 * d->band.tsamp_s) +
           square(1000.0 * d->band.tsamp_s * (double)l->downsamp) + square(l->bw_ms) +
           square(l->sub_ms);
}

struct psr_smearing psr_ddplan_smearing(const struct psr_ddplan *plan, int i, double dm)
{
    struct psr_ddplan_desc copy, *d = &copy;
    if (psr_copy_desc(&copy, sizeof copy, plan->desc, "plan", NULL))
        return (struct psr_smearing){.total = NAN};
    const struct psr_ddplan_line *l = &plan->line[i];
    /* At the coherent DM itself the nearest trial may be half a step away. */
    double chan = smear_chan(d, dm == d->cohdm ? dm + l->dmstep / 2.0 : dm);
    return (struct psr_smearing){
        .total = sqrt(other_squares(d, l) + square(chan)),
        .optimal = smear_optimal(d, dm),
        .sample = 1000.0 * d->band.tsamp_s * (double)l->downsamp,
        .chan = chan,
        .bw = l->bw_ms,
        .sub = l->sub_ms,
    };
}

int64_t psr_ddplan_ndm(const struct psr_ddplan *plan)
{
    int64_t n = 0;
    for (int i = 0; i < plan->nline; i++)
        n += plan->line[i].ndm;
    return n;
}

int64_t psr_ddplan_nsub(int64_t nchan)
{
    static const int per_subband[] = {3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 16, 20};
    int64_t nsub = nchan;
    for (size_t i = 0; i < sizeof per_subband / sizeof *per_subband; i++)
        if (nchan % per_subband[i] == 0 && nchan / per_subband[i] >= 32)
            nsub = nchan / per_subband[i];
    return nsub;
}

static psr_status check_number(psr_err *err, const char *field, const char *what, double value,
                               bool good, const char *limit)
{
    if (isfinite(value) && good)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, field, "%s is %g; it must be %s", what, value, limit);
}

psr_status psr_band_check(const struct psr_band *b, psr_err *err)
{
    double lowest = b->fctr_mhz - 0.5 * b->bw_mhz;
    psr_status st = check_number(err, "tsamp_s", "sample time", b->tsamp_s,
                                 b->tsamp_s > 0 && b->tsamp_s <= 1e3, "above 0 and at most 1000 s");
    if (st == PSR_OK)
        st = check_number(err, "bw_mhz", "bandwidth", b->bw_mhz, b->bw_mhz > 0, "above 0 MHz");
    if (st == PSR_OK)
        st = check_number(err, "fctr_mhz", "centre frequency", b->fctr_mhz,
                          b->fctr_mhz > 0 && b->fctr_mhz <= 1e7, "above 0 and at most 1e7 MHz");
    if (st == PSR_OK && !(lowest > 0))
        st = psr_fail_field(
            err, PSR_EINVAL, "bw_mhz",
            "the band of %g MHz about %g MHz reaches down to %g MHz; it must stay above 0 MHz",
            b->bw_mhz, b->fctr_mhz, lowest);
    if (st == PSR_OK)
        st = check_number(err, "nchan", "number of channels", (double)b->nchan,
                          b->nchan >= 1 && b->nchan <= 1 << 20, "from 1 to 1048576");
    /* A channel must be wide enough for its edges to differ in double precision. */
    if (st == PSR_OK && !(smear_ms(allowed_step[0], b->bw_mhz / (double)b->nchan, b->fctr_mhz) > 0))
        st = psr_fail_field(err, PSR_EINVAL, "bw_mhz",
                            "a bandwidth of %g MHz is too small at %g MHz", b->bw_mhz, b->fctr_mhz);
    return st;
}

static psr_status check_desc(const struct psr_ddplan_desc *d, psr_err *err)
{
    psr_status st = psr_band_check(&d->band, err);
    if (st == PSR_OK)
        st = check_number(err, "lodm", "low DM", d->lodm, d->lodm >= 0, "0 or above");
    if (st == PSR_OK)
        st = check_number(err, "hidm", "high DM", d->hidm, d->hidm <= 1e6, "at most 1e6 pc/cm^3");
    if (st == PSR_OK && !(d->hidm > d->lodm))
        st = psr_fail_field(err, PSR_EINVAL, "hidm", "high DM %g is not above low DM %g", d->hidm,
                            d->lodm);
    if (st == PSR_OK)
        st = check_number(err, "cohdm", "coherent DM", d->cohdm, d->cohdm >= 0 && d->cohdm <= 1e6,
                          "from 0 to 1e6 pc/cm^3");
    if (st == PSR_OK)
        st = check_number(err, "blocklen", "block length", (double)d->blocklen, d->blocklen >= 1,
                          "above 0");
    if (st == PSR_OK)
        st = check_number(err, "nsub", "number of sub-bands", (double)d->nsub,
                          d->nsub >= 0 && d->nsub <= 1 << 20, "from 0 to 1048576");
    if (st == PSR_OK)
        st = check_number(err, "nproc", "number of processors", (double)d->nproc,
                          d->nproc >= 1 && d->nproc <= 1 << 20, "from 1 to 1048576");
    if (st == PSR_OK)
        st = check_number(err, "res_ms", "resolution", d->res_ms, d->res_ms >= 0, "0 ms or above");
    return st;
}

/* What can be reached at all, and what shall be. */
static void set_resolution(struct psr_ddplan *p)
{
    const struct psr_ddplan_desc *d = p->desc;
    p->min_total_ms = smear_optimal(d, d->lodm + 0.5 * allowed_step[0]);
    double step = (d->hidm - d->lodm) / (NGRID - 1);
    double least = smear_chan(d, d->hidm);
    for (int i = 0; i < NGRID - 1; i++)
        least = fmin(least, smear_chan(d, i * step + d->lodm));
    p->min_chan_ms = least;
    p->min_bw_ms = smear_bw(d, allowed_step[0]);
    p->ok_ms = fmax(fmax(d->res_ms, p->min_chan_ms), fmax(p->min_bw_ms, 1000.0 * d->band.tsamp_s));
}

/* Index of the factor the first line downsamples by. */
static int choose_first_factor(struct psr_ddplan *p, const int64_t *factor, int nfactor)
{
    double tsamp_ms = 1000.0 * p->desc->band.tsamp_s;
    double chan_ms = equal_within * p->min_chan_ms, good_ms = chan_ms;
    int i = 0;
    p->coarse = PSR_DDPLAN_FINE;
    if (chan_ms > tsamp_ms || p->ok_ms > tsamp_ms) {
        p->coarse = p->ok_ms > chan_ms ? PSR_DDPLAN_BY_RES : PSR_DDPLAN_BY_CHAN;
        if (p->coarse == PSR_DDPLAN_BY_RES)
            good_ms = p->ok_ms;
        while (i + 1 < nfactor && tsamp_ms * (double)factor[i + 1] < good_ms)
            i++;
    }
    p->first_downsamp = factor[i];
    return i;
}

/* Twice the DM that smears the band by seconds, by DDplan.py's bisection of 0 to 1000 pc/cm^3.  A
 * narrow band needs more than that; DDplan.py then gives up and takes the least step. */
static double best_step(const struct psr_band *b, double seconds)
{
    double at = 0.0, width = 1000.0;
    while (smear_ms(width, b->bw_mhz, b->fctr_mhz) / 1000.0 <= seconds)
        width *= 2.0;
    while (width >= 1e-14) {
        width *= 0.5;
        double miss = smear_ms(at + width, b->bw_mhz, b->fctr_mhz) / 1000.0 - seconds;
        if (miss <= 0.0)
            at += width;
        if (miss == 0.0)
            break;
    }
    return at * 2.0;
}

/* DMs per call of prepsubband: as many as keep the smearing of a sub-band below the rest. */
static void divide_into_calls(const struct psr_ddplan_desc *d, struct psr_ddplan_line *l)
{
    double limit = sub_share * fmin(l->bw_ms, 1000.0 * d->band.tsamp_s * (double)l->downsamp);
    int64_t n = 2;
    while (n < MAX_PER_CALL && smear_sub(d, (double)(n + 2) * l->dmstep) <= limit)
        n += 2;
    l->dms_per_call = n;
    l->dsubdm = (double)n * l->dmstep;
    l->sub_ms = smear_sub(d, l->dsubdm);
}

/* The DM where the smearing in a channel ends the line, by the approximation for narrow bands. */
static double crossing_dm(const struct psr_ddplan_desc *d, const struct psr_ddplan_line *l)
{
    double chan_mhz = d->band.bw_mhz / (double)d->band.nchan;
    return line_ends_at * 0.001 * sqrt(other_squares(d, l)) / chan_mhz * approx_k *
               pow(d->band.fctr_mhz, 3.0) +
           d->cohdm;
}

static int64_t round_up(int64_t n, int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/* Counts the trials from l->lodm to end, in whole calls and for all processors alike. */
static void count_trials(const struct psr_ddplan_desc *d, struct psr_ddplan_line *l, double end)
{
    l->ndm = (int64_t)ceil((end - l->lodm) / l->dmstep);
    if (l->ndm <= 0)
        return;
    if (d->nsub) {
        l->ncall = (int64_t)ceil((double)l->ndm * l->dmstep / l->dsubdm);
        if (d->nproc > 1 && l->ncall % d->nproc) {
            l->ncall = round_up(l->ncall, d->nproc);
            while (l->dms_per_call > 1 && l->ncall * l->dms_per_call > l->ndm)
                l->dms_per_call--;
        }
        l->ndm = l->ncall * l->dms_per_call;
    }
    l->ndm = round_up(l->ndm, d->nproc);
    l->hidm = l->lodm + (double)l->ndm * l->dmstep;
}

static void share_work(struct psr_ddplan *p)
{
    double sum = 0;
    for (int i = 0; i < p->nline; i++) {
        p->line[i].work = (double)p->line[i].ndm / (double)p->line[i].downsamp;
        sum += p->line[i].work;
    }
    for (int i = 0; i < p->nline; i++)
        p->line[i].work /= sum;
}

static psr_status make(struct psr_ddplan *p, const struct psr_ddplan_desc *d, psr_err *err)
{
    int64_t factor[PSR_DDPLAN_MAX_FACTORS];
    psr_status st = check_desc(d, err);
    if (st != PSR_OK)
        return st;
    p->desc = d;
    int nfactor = psr_ddplan_factors(d->blocklen, factor);
    set_resolution(p);
    int i = choose_first_factor(p, factor, nfactor), step = 0;
    p->first_dmstep = best_step(&d->band, d->band.tsamp_s * (double)p->first_downsamp);
    while (step + 1 < NSTEP && allowed_step[step + 1] < equal_within * p->first_dmstep)
        step++;
    for (double lodm = d->lodm; lodm < d->hidm;) {
        if (p->nline == PSR_DDPLAN_MAX_LINES)
            return psr_fail_field(err, PSR_EINVAL, "hidm", "the plan has more than %d lines",
                                  PSR_DDPLAN_MAX_LINES);
        struct psr_ddplan_line *l = &p->line[p->nline];
        /* One line from lodm on.  The last factor has no line after it, so that one goes to the
         * end. */
        double dmstep = allowed_step[step];
        int64_t downsamp = factor[i];
        bool last = i + 1 == nfactor;
        *l = (struct psr_ddplan_line){
            .lodm = lodm, .hidm = lodm, .dmstep = dmstep, .dsubdm = dmstep, .downsamp = downsamp};
        l->bw_ms = smear_bw(d, dmstep);
        if (d->nsub)
            divide_into_calls(d, l);
        struct psr_ddplan_line whole = *l;
        count_trials(d, l, fmin(crossing_dm(d, l), d->hidm));
        if (last && !(l->hidm >= d->hidm)) {
            *l = whole;
            count_trials(d, l, d->hidm);
        }
        if (l->ndm > 0) {
            lodm = l->hidm;
            p->nline++;
        }
        if (i + 1 < nfactor)
            i++;
        while (step + 1 < NSTEP &&
               smear_bw(d, allowed_step[step + 1]) <
                   equal_within * (1000.0 * d->band.tsamp_s * (double)factor[i]))
            step++;
    }
    share_work(p);
    return PSR_OK;
}

psr_status psr_ddplan_make_sized(struct psr_ddplan *plan, size_t size,
                                 const struct psr_ddplan_desc *desc, psr_err *err)
{
    struct psr_ddplan all = {.nline = 0};
    struct psr_ddplan_desc d;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "plan", err);
    if (!st)
        st = make(&all, &d, err);
    all.desc = desc;
    psr_give_desc(plan, size, &all, sizeof all);
    return st;
}

/* --- chooses the downsampling factors of a plan ----------------------------------------------- */

enum { MAX_FACTOR = 259 };

/* Ratios are compared in whole numbers: b / a < 3/2 where 2 b < 3 a. */
static bool is_crowded(const bool divides[MAX_FACTOR + 1])
{
    int last = 1;
    for (int n = 2; n <= MAX_FACTOR; n++) {
        if (!divides[n])
            continue;
        if (2 * n < 3 * last)
            return true;
        last = n;
    }
    return false;
}

/* The factor to follow last: 1.5 times it rounded up, else twice it, else the next beyond 1.5
 * times it; 0 where there is none. */
static int next_factor(const bool divides[MAX_FACTOR + 1], int last)
{
    int half_more = (3 * last + 1) / 2;
    if (half_more <= MAX_FACTOR && divides[half_more])
        return half_more;
    if (2 * last <= MAX_FACTOR && divides[2 * last])
        return 2 * last;
    for (int n = half_more; n <= MAX_FACTOR; n++)
        if (divides[n])
            return n;
    return 0;
}

int psr_ddplan_factors(int64_t blocklen, int64_t factor[PSR_DDPLAN_MAX_FACTORS])
{
    bool divides[MAX_FACTOR + 1] = {false};
    for (int n = 1; n <= MAX_FACTOR; n++)
        divides[n] = blocklen % n == 0;
    bool crowded = is_crowded(divides);
    int n = 0;
    factor[n++] = 1;
    if (crowded) {
        for (int small = 2; small <= 3; small++)
            if (divides[small])
                factor[n++] = small;
        int next;
        while (n < PSR_DDPLAN_MAX_FACTORS && (next = next_factor(divides, (int)factor[n - 1])))
            factor[n++] = next;
    } else {
        for (int f = 2; f <= MAX_FACTOR && n < PSR_DDPLAN_MAX_FACTORS; f++)
            if (divides[f])
                factor[n++] = f;
    }
    return n;
}

/* --- lists DMs between which a pulse widens by no more than a tolerance, as Heimdall does ----- */

static psr_status check_tolerance(const struct psr_dm_tolerance_desc *d, psr_err *err)
{
    if (!(d->lodm >= 0) || !(d->hidm > d->lodm) || !(d->hidm <= 1e6))
        return psr_fail_field(err, PSR_EINVAL, "hidm",
                              "DM %g to %g: must rise from 0 or more to 1e6 at most", d->lodm,
                              d->hidm);
    if (!(d->tolerance >= 1.0001) || !(d->tolerance <= 100))
        return psr_fail_field(err, PSR_EINVAL, "tolerance", "dm_tol = %g, must be 1.0001 to 100",
                              d->tolerance);
    if (!(d->width_s >= 0) || !(d->width_s <= 100))
        return psr_fail_field(err, PSR_EINVAL, "width_s",
                              "dm_pulse_width = %g us, must be 0 to 1e8", d->width_s * 1e6);
    return psr_band_check(&d->band, err);
}

/* Squares of widths: of a pulse without dispersion, in us; and what a unit of DM adds within a channel, and of its error
 * over a quarter of the band. */
struct widths {
    double undispersed, channel, band;
};

/* The x at which undispersed + channel x^2 + band (x - dm)^2 is the square of the tolerance times undispersed + channel
 * dm^2. */
static double next_dm(const struct widths *w, double dm, double square)
{
    const double all = w->channel + w->band;
    const double room = w->undispersed * (square - 1) + square * w->channel * dm * dm;
    return (w->band * dm + sqrt(all * room - w->channel * w->band * dm * dm)) / all;
}

psr_status psr_dm_tolerance_list(const struct psr_dm_tolerance_desc *desc, double **dm, size_t *ndm,
                                 psr_err *err)
{
    size_t room = 0;
    struct psr_dm_tolerance_desc d;
    *dm = NULL;
    *ndm = 0;
    psr_status st = psr_copy_desc(&d, sizeof d, desc, "DMs by a tolerance", err);
    desc = &d;
    if (!st)
        st = check_tolerance(desc, err);
    if (st)
        return st;
    const double channel_mhz = desc->band.bw_mhz / (double)desc->band.nchan;
    const double quarter = (double)desc->band.nchan / 4, centre_ghz = desc->band.fctr_mhz * 1e-3;
    const double tsamp_us = desc->band.tsamp_s * 1e6, width_us = desc->width_s * 1e6;
    const double us = 8.3 * channel_mhz / (centre_ghz * centre_ghz * centre_ghz);
    const struct widths w = (struct widths){tsamp_us * tsamp_us + width_us * width_us, us * us,
                                            us * us * quarter * quarter};
    const double square = desc->tolerance * desc->tolerance;
    float last = (float)desc->lodm; /* as Heimdall holds them */
    for (;;) {
        if (*ndm == PSR_DM_TOLERANCE_MOST)
            st = psr_fail_field(err, PSR_EINVAL, "tolerance",
                                "dm_tol = %g: more than %d DMs up to %g", desc->tolerance,
                                PSR_DM_TOLERANCE_MOST, desc->hidm);
        if (!st)
            st = psr_grow(dm, &room, *ndm, sizeof **dm, "DMs", err);
        if (st)
            break;
        (*dm)[(*ndm)++] = (double)last;
        if ((double)last >= desc->hidm)
            return PSR_OK;
        const float next = (float)next_dm(&w, (double)last, square);
        last = next > last ? next : nextafterf(last, INFINITY);
    }
    free(*dm);
    *dm = NULL;
    *ndm = 0;
    return st;
}
