/* pfd_differ [-profiles] A B [TOLERANCE]: compares two .pfd files in all but names of plots (in trials and profiles only): counts and texts must be equal,
 * numbers of the header and trials within TOLERANCE (default 1e-12), the frequency derivatives of a barycentred fold, which
 * a fit gives, by the turns that they make; every bin of the profiles within 1e-5 relative.  Says what differs. */
#include <psrkit/experimental/fold.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ndiffer;

static void compare_count(const char *what, int64_t a, int64_t b)
{
    if (a == b)
        return;
    printf("%s: %lld and %lld\n", what, (long long)a, (long long)b);
    ndiffer++;
}

static void compare_text(const char *what, const char *a, const char *b)
{
    if (!strcmp(a, b))
        return;
    printf("%s: %s and %s\n", what, a, b);
    ndiffer++;
}

static void compare(const char *what, double a, double b, double tolerance)
{
    if (a == b || fabs(a - b) <= tolerance * fabs(a))
        return;
    printf("%s: %.17g and %.17g\n", what, a, b);
    ndiffer++;
}

static void compare_array(const char *what, const double *a, const double *b, size_t n,
                          double tolerance)
{
    double worst = 0;
    for (size_t i = 0; i < n; i++)
        worst = a[i] == b[i] ? worst : fmax(worst, fabs(a[i] - b[i]) / fabs(a[i]));
    if (worst <= tolerance)
        return;
    printf("%s: up to %.3g apart\n", what, worst);
    ndiffer++;
}

/* Its numbers are compared in the same way. */
static struct psr_fold_period as_period(const struct psr_fold_spin *s)
{
    return (struct psr_fold_period){.flag = s->flag, .p = s->f, .pd = s->fd, .pdd = s->fdd};
}

/* In turns over length_s, where the spin is a frequency; in phase of period p where it is a period. */
static void compare_spin(const char *what, const struct psr_fold_period *a,
                         const struct psr_fold_period *b, double f, double length_s,
                         double tolerance)
{
    const double unit = a->p == 0 ? 1 : a->p, turns = f * length_s;
    compare_count(what, a->flag != 0, b->flag != 0);
    const double off = fabs(a->p - b->p) / unit + fabs(a->pd - b->pd) / unit * length_s +
                       fabs(a->pdd - b->pdd) / unit * length_s * length_s;
    if (off * turns <= fmax(tolerance, 1e-7))
        return;
    printf("%s: %.17g %.10g %.10g and %.17g %.10g %.10g\n", what, a->p, a->pd, a->pdd, b->p, b->pd,
           b->pdd);
    ndiffer++;
}

static void compare_headers(const struct psr_pfd *a, const struct psr_pfd *b, double tolerance)
{
    const double length_s = a->stats[0].numdata * a->npart * a->tsamp_s;
    const int32_t *ca = &a->ndm, *cb = &b->ndm;
    for (int i = 0; i < 12; i++)
        compare_count("count", ca[i], cb[i]);
    compare_text("input", a->input, b->input);
    compare_text("candidate", a->candidate, b->candidate);
    compare_text("telescope", a->telescope, b->telescope);
    compare_text("ra", a->ra, b->ra);
    compare_text("dec", a->dec, b->dec);
    compare("tsamp", a->tsamp_s, b->tsamp_s, 0);
    compare("start", a->start, b->start, 0);
    compare("end", a->end, b->end, 0);
    compare("tepoch", a->tepoch_mjd, b->tepoch_mjd, 0);
    compare("bepoch", a->bepoch_mjd, b->bepoch_mjd, 0);
    compare("voverc", a->voverc, b->voverc, 1e-8);
    compare("lofreq", a->lofreq_mhz, b->lofreq_mhz, 0);
    compare("width", a->width_mhz, b->width_mhz, 0);
    compare("dm", a->dm, b->dm, tolerance);
    compare_spin("topo", &a->topo, &b->topo, a->fold.f, length_s, tolerance);
    compare_spin("bary", &a->bary, &b->bary, a->fold.f, length_s, tolerance);
    const struct psr_fold_period f = as_period(&a->fold), g = as_period(&b->fold);
    compare_spin("fold", &f, &g, a->fold.f, length_s, tolerance);
    compare("orbital period", a->orbit.period_s, b->orbit.period_s, 0);
    compare("eccentricity", a->orbit.ecc, b->orbit.ecc, 0);
    compare("asini", a->orbit.asini_s, b->orbit.asini_s, 0);
    compare("omega", a->orbit.omega_deg, b->orbit.omega_deg, 0);
    compare("t0", a->orbit.t0_mjd, b->orbit.t0_mjd, 0);
}

static void compare_stats(const struct psr_pfd *a, const struct psr_pfd *b, double tolerance)
{
    for (int i = 0; i < a->npart * a->nsub; i++) {
        const struct psr_fold_stats *s = &a->stats[i], *t = &b->stats[i];
        compare("numdata", s->numdata, t->numdata, 0);
        compare("numprof", s->numprof, t->numprof, 0);
        compare("data_avg", s->data_avg, t->data_avg, 1e-6);
        compare("data_var", s->data_var, t->data_var, 1e-5);
        compare("prof_avg", s->prof_avg, t->prof_avg, 1e-6);
        compare("prof_var", s->prof_var, t->prof_var, 1e-5);
        /* Where nothing varies prepfold divides 0 by 0. */
        compare("redchi", isnan(s->redchi) && s->prof_var == 0 ? 0 : s->redchi, t->redchi,
                tolerance);
    }
}

int main(int argc, char **argv)
{
    struct psr_pfd a, b;
    psr_err err;
    const bool profiles = argc > 1 && !strcmp(argv[1], "-profiles");
    argc -= profiles;
    argv += profiles;
    if (argc < 3 || psr_pfd_read(&a, argv[1], 0, &err) || psr_pfd_read(&b, argv[2], 0, &err)) {
        fprintf(stderr, "%s\n", argc < 3 ? "pfd_differ [-profiles] A B [TOLERANCE]" : err.msg);
        return 2;
    }
    const double tolerance = argc > 3 ? atof(argv[3]) : 1e-12;
    if (!profiles)
        compare_headers(&a, &b, tolerance);
    compare_count("parts", a.npart, b.npart);
    compare_count("sub-bands", a.nsub, b.nsub);
    compare_count("bins", a.nbin, b.nbin);
    compare_count("DMs", a.ndm, b.ndm);
    if (!ndiffer) {
        compare_array("DMs", a.trial_dm, b.trial_dm, (size_t)a.ndm, tolerance);
        compare_array("periods", a.trial_period_s, b.trial_period_s, (size_t)a.nperiod, tolerance);
        compare_array("p-dots", a.trial_pdot, b.trial_pdot, (size_t)a.npdot,
                      a.voverc == 0 ? tolerance : 1e-6);
        compare_array("profiles", a.profile, b.profile,
                      (size_t)a.npart * (size_t)a.nsub * (size_t)a.nbin, 1e-5);
        compare_stats(&a, &b, profiles ? 1e-3 : 1e-4);
    }
    psr_pfd_clear(&a);
    psr_pfd_clear(&b);
    return ndiffer > 0;
}
