/* Cost of searching beams as they arrive: state, additions and processor time of a second of a beam.
 *   bench_dedisp_beams [BAND [NBIT [SECONDS [THREADS [NHALVE]]]]]
 * BAND is chord, chime or small; blocks of SECONDS.  Trials are such that the delay over the band changes by
 * a sample, of the line's length.  The floor is the additions of the plan at the rate at which this
 * machine adds 16-bit numbers from the first cache, measured in the same run. */
#include "bench_adds.h"
#include "bench_beams.h"
#include "search/dedisp/dedisp_internal.h"

enum { NBLOCK = 5 };

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
    const struct band *b = find_band(argc > 1 ? argv[1] : "chord");
    int nbit = argc > 2 ? atoi(argv[2]) : 4, nthread = argc > 4 ? atoi(argv[4]) : 1;
    double seconds = argc > 3 ? atof(argv[3]) : 8;
    size_t nhalve = argc > 5 ? (size_t)atoi(argv[5]) : 0;
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
