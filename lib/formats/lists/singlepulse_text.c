/* Writes single pulses and their clusters as text. */
#include "lists_internal.h"
#include "search/singlepulse/singlepulse_internal.h"

#include <psrkit/experimental/singlepulse.h>

#include <math.h>
#include <stdio.h>

psr_status psr_singlepulse_write(psr_outfile *f, double dm, double tsamp_s,
                                 const struct psr_event *events, size_t n, psr_err *err)
{
    if (n == 0)
        return PSR_OK;
    psr_status st =
        psr_outfile_printf(f, err, "# DM      Sigma      Time (s)     Sample    Downfact\n");
    for (size_t k = 0; !st && k < n; k++)
        st = psr_outfile_printf(f, err, "%7.2f %7.2f %13.6f %10lld     %3d\n", dm, events[k].snr,
                                (double)events[k].sample * tsamp_s, (long long)events[k].sample,
                                events[k].width);
    return st;
}

const char *psr_pulse_mark_name(int k)
{
    static const char *const names[PSR_PULSE_NMARK] = {"dm0", "edge", "narrow", "dm?", "clip"};
    return names[k];
}

const char *psr_pulse_name_marks(unsigned marks, char text[PSR_PULSE_MARKS], const char *none)
{
    size_t n = 0;
    for (int k = 0; k < PSR_PULSE_NMARK; k++)
        if (marks >> k & 1)
            n += (size_t)snprintf(text + n, PSR_PULSE_MARKS - n, "%s%s", n ? "," : "",
                                  psr_pulse_mark_name(k));
    return n ? text : none;
}

static bool has_edges(const struct psr_pulse_band *band)
{
    return band && band->high_mhz > 0;
}

static psr_status write_cluster(psr_outfile *f, const double *dm, const size_t *scale,
                                double tsamp_s, const struct psr_pulse_band *band,
                                const struct psr_cluster *c, psr_err *err)
{
    const struct psr_event *e = &c->best;
    double each = scale ? (double)scale[e->trial] : 1, sample = (double)e->sample * each;
    char marks[PSR_PULSE_MARKS];
    psr_status st = psr_outfile_printf(
        f, err, "%.2f\t%.0f\t%.6f\t%.4g\t%zu\t%.10g\t%zu\t%lld\t%lld\t%s", e->snr, sample,
        sample * tsamp_s, log2((double)e->width * each), band ? band[e->trial].trial : e->trial,
        dm[e->trial], c->members, (long long)c->first, (long long)c->last,
        psr_pulse_name_marks(c->marks, marks, "-"));
    if (!st && has_edges(band))
        st = psr_outfile_printf(f, err, "\t%.10g\t%.10g", band[e->trial].low_mhz,
                                band[e->trial].high_mhz);
    return st ? st : psr_outfile_printf(f, err, "\n");
}

psr_status psr_cluster_write_bands(psr_outfile *f, const double *dm, const size_t *scale,
                                   double tsamp_s, const struct psr_pulse_band *band,
                                   const struct psr_cluster *clusters, size_t n, psr_err *err)
{
    psr_status st = psr_outfile_printf(
        f, err, "# S/N\tsample\ttime_s\tfilter\tDM_trial\tDM\tmembers\tfirst\tlast\tmarks%s\n",
        has_edges(band) ? "\tlow_mhz\thigh_mhz" : "");
    for (size_t k = 0; !st && k < n; k++)
        st = write_cluster(f, dm, scale, tsamp_s, band, &clusters[k], err);
    return st;
}

psr_status psr_cluster_write(psr_outfile *f, const double *dm, const size_t *scale, double tsamp_s,
                             const struct psr_cluster *clusters, size_t n, psr_err *err)
{
    return psr_cluster_write_bands(f, dm, scale, tsamp_s, NULL, clusters, n, err);
}
