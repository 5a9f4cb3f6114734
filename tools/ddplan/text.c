/* Prints a plan as a table. */
#include "ddplan.h"

#include <stdio.h>

/* Texts and widths are DDplan.py's, to the byte: people diff them. */

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
    double tsamp_ms = 1000.0 * p->desc.band.tsamp_s;
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
    bool with_calls = p->desc.nsub > 0;
    print_resolution(p);
    if (p->desc.nproc > 1)
        printf("\nAssuming we are using mpiprepsubband with %lld dedispersing CPUs:\n"
               "Each line of the dedispersion plan is one or more distinct runs of\n"
               "mpiprepsubband, and each 'call' is the work that a single CPU is doing.\n",
               (long long)p->desc.nproc);
    printf("\n  Low DM    High DM     dDM  DownSamp  %s #DMs  %sWorkFract\n",
           with_calls ? "dsubDM  " : "", with_calls ? "DMs/call  calls  " : "");
    for (int i = 0; i < p->nline; i++)
        print_line(&p->line[i], with_calls);
    printf("\n\n\n");
}
