/* Prints a plan as JSON. */
#include "ddplan.h"

#include <psrkit/experimental/dedisp.h>
#include <psrkit/psrkit.h>

#include "base/tool.h"
#include <stdio.h>

static void print_desc(struct psr_json *j, const struct psr_ddplan *p)
{
    const struct psr_ddplan_desc *d = p->desc;
    psr_json_new_line(j, 2);
    psr_json_begin(j, "band", PSR_JSON_OBJECT);
    psr_json_double(j, "tsamp_s", d->band.tsamp_s);
    psr_json_double(j, "fctr_mhz", d->band.fctr_mhz);
    psr_json_double(j, "bw_mhz", d->band.bw_mhz);
    psr_json_int(j, "nchan", d->band.nchan);
    psr_json_end(j, PSR_JSON_OBJECT);
    psr_json_new_line(j, 2);
    psr_json_double(j, "lodm", d->lodm);
    psr_json_double(j, "hidm", d->hidm);
    psr_json_double(j, "cohdm", d->cohdm);
    psr_json_double(j, "res_ms", d->res_ms);
    psr_json_new_line(j, 2);
    psr_json_int(j, "blocklen", d->blocklen);
    psr_json_int(j, "nsub", d->nsub);
    psr_json_int(j, "nproc", d->nproc);
}

static void print_limits(struct psr_json *j, const struct psr_ddplan *p)
{
    psr_json_new_line(j, 2);
    psr_json_double(j, "min_total_ms", p->min_total_ms);
    psr_json_double(j, "min_chan_ms", p->min_chan_ms);
    psr_json_double(j, "min_bw_ms", p->min_bw_ms);
    psr_json_double(j, "ok_ms", p->ok_ms);
    psr_json_new_line(j, 2);
    psr_json_double(j, "best_dmstep", p->first_dmstep);
    psr_json_int(j, "ndm", psr_ddplan_ndm(p));
}

static void print_line(struct psr_json *j, const struct psr_ddplan_line *l)
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
    print_desc(&j, p);
    print_limits(&j, p);
    psr_json_new_line(&j, 2);
    psr_json_begin(&j, "lines", PSR_JSON_ARRAY);
    for (int i = 0; i < p->nline; i++)
        print_line(&j, &p->line[i]);
    psr_json_new_line(&j, 2);
    psr_json_end(&j, PSR_JSON_ARRAY);
    if (cost)
        print_cost(&j, cost);
    psr_json_new_line(&j, 0);
    psr_json_end(&j, PSR_JSON_OBJECT);
    putchar('\n');
}
