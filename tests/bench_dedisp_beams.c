/* Cost of searching beams as they arrive: state, additions and processor time of a second of a beam.
 *   bench_dedisp_beams [BAND [NBIT [SECONDS [THREADS [NHALVE]]]]]
 * BAND is chord or chime; blocks of SECONDS.  Trials are such that the delay over the band changes by
 * a sample, of the line's length.  The floor is the additions of the plan at the rate at which this
 * machine adds 16-bit numbers from the first cache, measured in the same run. */
#include <psrkit/ddplan.h>
#include <psrkit/dedisp.h>

#include "bench_adds.h"
#include <math.h>
#include <string.h>

static const struct band {
    const char *name;
    double tsamp_s, dm, edge_mhz[6];
    size_t nchan[5];
} bands[] = {
    {"chord", 1e-3, 11850, {300, 350, 450, 600, 800, 1500}, {8192, 8192, 6144, 2048, 3584}},
    {"chime", 983.04e-6, 13000, {400, 800}, {16384}},
};
enum { MAXCHAN = 28160, MAXTRIAL = 1 << 18, NBLOCK = 5 };
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

static struct setting *make_setting(const struct band *b, int nbit, double seconds, int nthread,
                                    size_t nhalve)
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

static void print_lines(const psr_dedisp_beams *p, const struct setting *s, size_t nline)
{
    printf("  sums  trials  DM to    adds/s of sky  MB a beam  sub-bands, trials\n");
    for (size_t n = 0; n < nline; n++) {
        struct psr_dedisp_beams_line l;
        size_t more = 0;
        psr_dedisp_beams_line(p, n, &l);
        for (size_t k = 0; k < l.nband; k++) {
            struct psr_dedisp_beams_band band;
            psr_dedisp_beams_band(p, n, k, &band);
            more += band.ndm;
        }
        printf("  %4zu  %6zu  %7.1f  %13.4g  %9.1f  %zu, %zu\n", l.downsamp, l.ndm,
               s->dm[l.trial[l.ndm - 1]], l.adds_planned / s->d.tsamp_s, l.bytes_beam * 1e-6,
               l.nband, more);
    }
}

int main(int argc, char **argv)
{
    const struct band *b = bands;
    int nbit = argc > 2 ? atoi(argv[2]) : 4, nthread = argc > 4 ? atoi(argv[4]) : 1;
    double seconds = argc > 3 ? atof(argv[3]) : 8;
    size_t nhalve = argc > 5 ? (size_t)atoi(argv[5]) : 0;
    if (argc > 1 && !strcmp(argv[1], bands[1].name))
        b++;
    struct setting *s = make_setting(b, nbit, seconds, nthread, nhalve);
    psr_dedisp_beams *p;
    psr_err err;
    double create = -bench_wall_s();
    bench_must(psr_dedisp_beams_create(&p, &s->d, &err), &err);
    create += bench_wall_s();
    struct psr_dedisp_beams_info info;
    psr_dedisp_beams_describe(p, &info);
    printf(
        "%s: %zu channels, %d bits, %zu trials to DM %g, blocks of %g s, %d thread%s; plan made in "
        "%.1f s\n",
        b->name, s->d.nchan, nbit, s->d.ndm, b->dm, seconds, nthread, nthread > 1 ? "s" : "",
        create);
    print_lines(p, s, info.nline);
    size_t bytes = s->d.block * ((s->d.nchan * (size_t)nbit + 7) / 8);
    unsigned char *in = bench_take(bytes, 1);
    for (size_t n = 0; n < bytes; n++)
        in[n] = (unsigned char)((n * UINT64_C(0x9E3779B97F4A7C15)) >> 29);
    double took[NBLOCK], wall[NBLOCK], length = (double)s->d.block * b->tsamp_s;
    for (int n = 0; n < NBLOCK; n++) {
        took[n] = -bench_cpu_s();
        wall[n] = -bench_wall_s();
        bench_must(psr_dedisp_beams_execute(p, 0, in, s->d.block, &err), &err);
        took[n] = (took[n] + bench_cpu_s()) / length;
        wall[n] = (wall[n] + bench_wall_s()) / length;
    }
    double rate = bench_add_rate(1), adds = info.adds_planned / b->tsamp_s;
    printf("a beam's state %.1f MB, shared %.1f MB; exact sums %.4g adds/s of sky, planned %.4g\n",
           info.bytes_beam * 1e-6, info.bytes_shared * 1e-6, info.adds_direct / b->tsamp_s, adds);
    printf(
        "a second of a beam: %.1f ms of processors, %.1f ms of wall time; floor %.1f ms at %.1f G "
        "adds/s\n",
        bench_median(took, NBLOCK) * 1e3, bench_median(wall, NBLOCK) * 1e3, adds / rate * 1e3,
        rate * 1e-9);
    psr_dedisp_beams_destroy(p);
    free(in);
    free(s);
    return EXIT_SUCCESS;
}
