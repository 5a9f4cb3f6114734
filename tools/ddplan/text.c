/* Prints a plan as a table, and its cost. */
#include "base/tool.h"
#include "ddplan.h"
#include "tools/common/quote.h"

#include <limits.h>
#include <psrkit/experimental/dedisp.h>
#include <psrkit/psrkit.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void json_print_line(struct psr_json *j, const struct psr_ddplan_line *l)
{
    psr_json_new_line(j, 4);
    psr_json_begin(j, NULL, PSR_JSON_OBJECT);
    psr_json_double(j, "lodm", l->lodm);
    psr_json_double(j, "hidm", l->hidm);
    psr_json_double(j, "dmstep", l->dmstep);
    psr_json_int(j, "ndm", l->ndm);
    psr_json_int(j, "downsamp", l->downsamp);
    psr_json_double(j, "dsubdm", l->dsubdm);
    psr_json_int(j, "dms_per_call", l->dms_per_call);
    psr_json_int(j, "ncall", l->ncall);
    psr_json_double(j, "work", l->work);
    psr_json_double(j, "bw_ms", l->bw_ms);
    psr_json_double(j, "sub_ms", l->sub_ms);
    psr_json_end(j, PSR_JSON_OBJECT);
}

static void print_cost(struct psr_json *j, const struct ddplan_cost *c)
{
    static const char *const what[DDPLAN_NWORK] = {"read", "add", "write"};
    psr_json_new_line(j, 2);
    psr_json_begin(j, "cost", PSR_JSON_OBJECT);
    psr_json_double(j, "tobs_s", c->tobs_s);
    psr_json_int(j, "nbit", c->nbit);
    for (int i = 0; i < DDPLAN_NWORK; i++) {
        psr_json_begin(j, what[i], PSR_JSON_OBJECT);
        psr_json_double(j, "amount", c->amount[i]);
        psr_json_double(j, "per_s", c->rate[i].per_s);
        psr_json_string(j, "rate", c->rate[i].origin);
        psr_json_double(j, "seconds", c->seconds[i]);
        psr_json_end(j, PSR_JSON_OBJECT);
    }
    psr_json_double(j, "seconds", ddplan_cost_seconds(c));
    if (c->has_tree) {
        psr_json_begin(j, "tree", PSR_JSON_OBJECT);
        psr_json_double(j, "per_s", c->rate[DDPLAN_TREE].per_s);
        psr_json_string(j, "rate", c->rate[DDPLAN_TREE].origin);
        psr_json_double(j, "seconds", c->tree_s);
        psr_json_double(j, "smear", c->smear);
        psr_json_double(j, "loss", ddplan_tree_loss(c));
        psr_json_end(j, PSR_JSON_OBJECT);
        psr_json_string(j, "cheapest", ddplan_tree_is_cheapest(c) ? "tree" : "direct");
    }
    psr_json_end(j, PSR_JSON_OBJECT);
}

void ddplan_print_json(const struct ddplan_options *o, const struct psr_ddplan *p,
                       const struct ddplan_cost *cost)
{
    struct psr_json j = {.put = cli_put_json, .ctx = stdout};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    psr_json_new_line(&j, 2);
    psr_json_string(&j, "command", o->command);
    psr_json_new_line(&j, 2);
    psr_json_string(&j, "version", psr_version());
    /* Prints a plan as JSON. */
    const struct psr_ddplan_desc *d = p->desc;
    psr_json_new_line(&j, 2);
    psr_json_begin(&j, "band", PSR_JSON_OBJECT);
    psr_json_double(&j, "tsamp_s", d->band.tsamp_s);
    psr_json_double(&j, "fctr_mhz", d->band.fctr_mhz);
    psr_json_double(&j, "bw_mhz", d->band.bw_mhz);
    psr_json_int(&j, "nchan", d->band.nchan);
    psr_json_end(&j, PSR_JSON_OBJECT);
    psr_json_new_line(&j, 2);
    psr_json_double(&j, "lodm", d->lodm);
    psr_json_double(&j, "hidm", d->hidm);
    psr_json_double(&j, "cohdm", d->cohdm);
    psr_json_double(&j, "res_ms", d->res_ms);
    psr_json_new_line(&j, 2);
    psr_json_int(&j, "blocklen", d->blocklen);
    psr_json_int(&j, "nsub", d->nsub);
    psr_json_int(&j, "nproc", d->nproc);
    psr_json_new_line(&j, 2);
    psr_json_double(&j, "min_total_ms", p->min_total_ms);
    psr_json_double(&j, "min_chan_ms", p->min_chan_ms);
    psr_json_double(&j, "min_bw_ms", p->min_bw_ms);
    psr_json_double(&j, "ok_ms", p->ok_ms);
    psr_json_new_line(&j, 2);
    psr_json_double(&j, "best_dmstep", p->first_dmstep);
    psr_json_int(&j, "ndm", psr_ddplan_ndm(p));
    psr_json_new_line(&j, 2);
    psr_json_begin(&j, "lines", PSR_JSON_ARRAY);
    for (int i = 0; i < p->nline; i++)
        json_print_line(&j, &p->line[i]);
    psr_json_new_line(&j, 2);
    psr_json_end(&j, PSR_JSON_ARRAY);
    if (cost)
        print_cost(&j, cost);
    psr_json_new_line(&j, 0);
    psr_json_end(&j, PSR_JSON_OBJECT);
    putchar('\n');
}

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

/* Writes a plan as a shell script of gpudedisp or prepsubband. */

/* Prints a name as a word.  One that begins with a dash would be an option; "-" alone is standard
 * input. */
static void print_name(const char *name)
{
    char path[PATH_MAX + 2];
    snprintf(path, sizeof path, "%s%s", name[0] == '-' && name[1] ? "./" : "", name);
    quote_print(stdout, path);
}

/* The command is one line, whatever was given: a comment ends with it. */
static void print_head(const struct ddplan_options *o)
{
    printf("#!/bin/sh\n# %s\n", o->command);
    if (o->files.n == 0) {
        printf("# Usage: sh SCRIPT FILE...\n"
               "set -e\n"
               "test $# -gt 0 || { echo \"usage: $0 FILE...\" >&2; exit 2; }\n"
               "root=$(basename -- \"$1\")\nroot=${root%%.*}\n");
        return;
    }
    printf("set -e\nset --");
    for (size_t i = 0; i < o->files.n; i++) {
        putchar(' ');
        print_name(o->files.text[i]);
    }
    printf("\nroot=");
    /* The start of output names: the first file's, without its folder and suffix. */
    const char *file = o->files.text[0];
    char root[PATH_MAX];
    const char *slash = strrchr(file, '/');
    snprintf(root, sizeof root, "%s", slash ? slash + 1 : file);
    char *dot = strrchr(root, '.');
    if (dot && dot != root)
        *dot = 0;
    print_name(strcmp(root, "-") != 0 ? root : "ddplan");
    printf("\n");
}

void ddplan_print_script(const struct ddplan_options *o, const struct psr_ddplan *plan)
{
    print_head(o);
    if (!strcmp(o->script_for, "gpudedisp")) {
        /* gpudedisp takes the whole plan; standard input may be the data. */
        printf("gpudedisp %s-plan /dev/fd/3 -o \"$root\" \"$@\" 3<<'END'\n"
               "# lodm dmstep ndms downsamp nsub\n",
               plan->desc->nsub ? "-algo subband " : "");
        for (int i = 0; i < plan->nline; i++) {
            const struct psr_ddplan_line *l = &plan->line[i];
            printf("%.10g %.10g %lld %lld %lld\n", l->lodm, l->dmstep, (long long)l->ndm,
                   (long long)l->downsamp, (long long)plan->desc->nsub);
        }
        printf("END\n");
    } else {
        /* prepsubband takes a call's worth, for its sub-bands are made at one DM. */
        for (int i = 0; i < plan->nline; i++) {
            const struct psr_ddplan_line *l = &plan->line[i];
            double span = (double)l->dms_per_call * l->dmstep;
            for (int64_t call = 0; call < l->ndm / l->dms_per_call; call++)
                printf("prepsubband -nsub %lld -lodm %.2f -dmstep %.2f -numdms %lld -downsamp %lld "
                       "-o \"$root\" \"$@\"\n",
                       (long long)plan->desc->nsub, l->lodm + (double)call * span, l->dmstep,
                       (long long)l->dms_per_call, (long long)l->downsamp);
        }
    }
}
