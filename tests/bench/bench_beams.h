/* bench_beams.h: the bands and trials of CHORD and CHIME, and of a small one to try programs with, for
 * what measures the search of beams as they arrive.  Trials are such that the delay over the band changes by a sample, of the line's length. */
#ifndef PSR_BENCH_BEAMS_H
#define PSR_BENCH_BEAMS_H

#include "bench.h"
#include "plan/ddplan_internal.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/dedisp.h>

static const struct band {
    const char *name;
    double tsamp_s, dm, edge_mhz[6];
    size_t nchan[5];
} bands[] = {
    {"chord", 1e-3, 11850, {300, 350, 450, 600, 800, 1500}, {8192, 8192, 6144, 2048, 3584}},
    {"chime", 983.04e-6, 13000, {400, 800}, {16384}},
    {"small", 1e-3, 300, {400, 800}, {1024}},
};
enum { MAXCHAN = 28160, MAXTRIAL = 1 << 18 };
static const double scrunch = 0.58; /* sums of two from a mean smearing of 1.16 samples on */

struct setting {
    const struct band *band;
    double mhz[MAXCHAN], dm[MAXTRIAL];
    struct psr_dedisp_beams_desc d;
};

static void set_channels(struct setting *s)
{
    const struct band *b = s->band;
    s->d.nchan = 0;
    for (int k = 0; k < 5 && b->nchan[k]; k++) {
        double width = (b->edge_mhz[k + 1] - b->edge_mhz[k]) / (double)b->nchan[k];
        for (size_t c = 0; c < b->nchan[k]; c++)
            s->mhz[s->d.nchan++] = b->edge_mhz[k] + ((double)c + 0.5) * width;
    }
}

static void set_trials(struct setting *s)
{
    double low = s->mhz[0], high = s->mhz[s->d.nchan - 1];
    double sweep =
        (psr_delay_s(s->d.dmconst, 1, low) - psr_delay_s(s->d.dmconst, 1, high)) / s->d.tsamp_s;
    s->d.ndm = 0;
    for (double dm = 0; dm <= s->band->dm && s->d.ndm < MAXTRIAL;) {
        s->dm[s->d.ndm++] = dm;
        dm += (double)psr_scrunch(dm * sweep / (double)(s->d.nchan - 1), scrunch, 65536) / sweep;
    }
}

__attribute__((unused)) static const struct band *find_band(const char *name)
{
    for (const struct band *b = bands; b < bands + sizeof bands / sizeof *bands; b++)
        if (!strcmp(name, b->name))
            return b;
    bench_stop("a band is chord, chime or small");
}

__attribute__((unused)) static struct setting *
make_setting(const struct band *b, int nbit, double seconds, int nthread, size_t nhalve)
{
    struct setting *s = bench_take(1, sizeof *s);
    s->band = b;
    s->d = (struct psr_dedisp_beams_desc){
        .size = sizeof s->d,
        .nbeam = 1,
        .freq_mhz = s->mhz,
        .tsamp_s = b->tsamp_s,
        .nbit = nbit,
        .kind = PSR_UINT,
        .dmconst = PSR_DMCONST_PRESTO,
        .dm = s->dm,
        .scrunch = scrunch,
        .block = (size_t)(seconds / b->tsamp_s + 0.5),
        .nhalve = nhalve,
        .nthread = nthread,
        .mem_bytes = INT64_C(64) << 30,
    };
    set_channels(s);
    set_trials(s);
    return s;
}

#endif
