/* Prints a plan as a table, and its cost. */
#include "ddplan.h"

#include <stdio.h>
#include <stdlib.h>

/* Texts and widths of the plan are DDplan.py's, to the byte: people diff them. */

void ddplan_print_observation(const struct ddplan_options *o)
{
    const struct psr_ddplan_desc *d = &o->in_file;
    const struct psr_band *b = &d->band;
    printf(
        "\nUsing:\n        dt = %g s\n   numchan = %lld\n  blocklen = %lld\n        BW = %g MHz\n"
        "      fctr = %g MHz\nfrom '%s'\n\n",
        b->tsamp_s, (long long)b->nchan, (long long)d->blocklen, b->bw_mhz, b->fctr_mhz,
        o->files.text[0]);
    if (d->cohdm != 0)
        printf("And assuming channels coherently dedispersed at DM = %g pc/cm^3\n", d->cohdm);
}

static void print_resolution(const struct psr_ddplan *p)
{
    double tsamp_ms = 1000.0 * p->desc->band.tsamp_s;
    printf("\nMinimum total smearing     : %.3g ms\n", p->min_total_ms);
    printf("--------------------------------------------\n");
    printf("Minimum channel smearing   : %.3g ms\n", p->min_chan_ms);
    printf("Minimum smearing across BW : %.3g ms\n", p->min_bw_ms);
    printf("Minimum sample time        : %.3g ms\n\n", tsamp_ms);
    printf("Setting the new 'best' resolution to : %.3g ms\n", p->ok_ms);
    if (p->coarse != PSR_DDPLAN_FINE)
        printf("   Note: %s > dt (i.e. data is higher resolution than needed)\n"
               "         New dt is %lld x %.12g ms = %.12g ms\n",
               p->coarse == PSR_DDPLAN_BY_RES ? "ok_smearing" : "min_chan_smearing",
               (long long)p->first_downsamp, tsamp_ms, tsamp_ms * (double)p->first_downsamp);
    printf("Best guess for optimal initial dDM is %.3f\n", p->first_dmstep);
}

static void print_line(const struct psr_ddplan_line *l, bool with_calls)
{
    printf("%9.3f  %9.3f  %6.2f    %4lld  ", l->lodm, l->hidm, l->dmstep, (long long)l->downsamp);
    if (with_calls)
        printf("%6.2f  %6lld  %6lld  %6lld ", l->dsubdm, (long long)l->ndm,
               (long long)l->dms_per_call, (long long)l->ncall);
    else
        printf("%6lld", (long long)l->ndm);
    printf("   %.4g\n", l->work);
}

void ddplan_print_plan(const struct psr_ddplan *p)
{
    bool with_calls = p->desc->nsub > 0;
    print_resolution(p);
    if (p->desc->nproc > 1)
        printf("\nAssuming we are using mpiprepsubband with %lld dedispersing CPUs:\n"
               "Each line of the dedispersion plan is one or more distinct runs of\n"
               "mpiprepsubband, and each 'call' is the work that a single CPU is doing.\n",
               (long long)p->desc->nproc);
    printf("\n  Low DM    High DM     dDM  DownSamp  %s #DMs  %sWorkFract\n",
           with_calls ? "dsubDM  " : "", with_calls ? "DMs/call  calls  " : "");
    for (int i = 0; i < p->nline; i++)
        print_line(&p->line[i], with_calls);
    printf("\n\n\n");
}

static const char *const work_unit[DDPLAN_NWORK] = {"B", "add", "B"};

static void print_scaled(double value, const char *unit)
{
    static const char prefix[] = " kMGTPE";
    size_t i = 0;
    for (; value >= 999.5 && prefix[i + 1]; i++)
        value /= 1000;
    printf("%7.3g %c%-3s", value, prefix[i], unit);
}

void ddplan_print_cost(const struct ddplan_cost *cost)
{
    printf("Cost in gpudedisp of %g s%s, %.0f spectra of %lld bits%s:\n", cost->tobs_s,
           cost->tobs_assumed ? " (assumed)" : "", cost->nspec, (long long)cost->nbit,
           cost->nbit_assumed ? " (assumed)" : "");
    for (int i = 0; i < DDPLAN_NWORK; i++) {
        printf("  %-6s", ddplan_rate_name[i]);
        print_scaled(cost->amount[i], work_unit[i]);
        printf("  at ");
        print_scaled(cost->rate[i].per_s, work_unit[i]);
        printf("/s, %-8s  %10.3g s\n", cost->rate[i].origin, cost->seconds[i]);
    }
    printf("  one after the other %32.3g s\n", ddplan_cost_seconds(cost));
    if (!cost->has_tree)
        return;
    printf("  -algo tree adds at  ");
    print_scaled(cost->rate[DDPLAN_TREE].per_s, "add");
    printf("/s, %-8s  %8.3g s\n", cost->rate[DDPLAN_TREE].origin, cost->tree_s);
    printf("  one after the other %32.3g s, smearing by at most %g\n",
           ddplan_cost_seconds(cost) - cost->seconds[DDPLAN_ADD] + cost->tree_s, cost->smear);
    if (ddplan_tree_is_cheapest(cost))
        printf("Cheapest: -algo tree, %.1f times fewer seconds of additions; a pulse of 2 samples "
               "loses about %.1f %% of its S/N, a longer one less.\n",
               cost->seconds[DDPLAN_ADD] / cost->tree_s, 100 * ddplan_tree_loss(cost));
    else
        printf("Cheapest: exact sums, -algo direct, which lose nothing.\n");
}

psr_status ddplan_print_dms(const struct ddplan_options *o, psr_err *err)
{
    const struct psr_dm_tolerance_desc d = {.size = sizeof d,
                                            .band = o->desc.band,
                                            .lodm = o->desc.lodm,
                                            .hidm = o->desc.hidm,
                                            .tolerance = o->dm_tol,
                                            .width_s = o->dm_pulse_width_us * 1e-6};
    double *dm;
    size_t ndm;
    psr_status st = psr_dm_tolerance_list(&d, &dm, &ndm, err);
    for (size_t i = 0; i < ndm; i++)
        printf("%.9g\n", dm[i]);
    free(dm);
    return st;
}
