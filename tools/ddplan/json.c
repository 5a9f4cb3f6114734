/* Prints a plan as JSON. */
#include "ddplan.h"

#include <psrkit/tool.h>
#include <stdio.h>

/* Numbers have 10 digits, so that 0.1 + 0.2 reads 0.3. */

static void print_bytes(void *ctx, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, ctx);
}

static void print_desc(const struct psr_ddplan *p)
{
    const struct psr_ddplan_desc *d = &p->desc;
    printf("  \"band\": {\"tsamp_s\": %.10g, \"fctr_mhz\": %.10g, \"bw_mhz\": %.10g, "
           "\"nchan\": %lld},\n",
           d->band.tsamp_s, d->band.fctr_mhz, d->band.bw_mhz, (long long)d->band.nchan);
    printf("  \"lodm\": %.10g, \"hidm\": %.10g, \"cohdm\": %.10g, \"res_ms\": %.10g,\n", d->lodm,
           d->hidm, d->cohdm, d->res_ms);
    printf("  \"blocklen\": %lld, \"nsub\": %lld, \"nproc\": %lld,\n", (long long)d->blocklen,
           (long long)d->nsub, (long long)d->nproc);
    printf("  \"min_total_ms\": %.10g, \"min_chan_ms\": %.10g, \"min_bw_ms\": %.10g, "
           "\"ok_ms\": %.10g,\n  \"best_dmstep\": %.10g, \"ndm\": %lld,\n",
           p->min_total_ms, p->min_chan_ms, p->min_bw_ms, p->ok_ms, p->first_dmstep,
           (long long)psr_ddplan_ndm(p));
}

static void print_line(const struct psr_ddplan_line *l, const char *end)
{
    printf("    {\"lodm\": %.10g, \"hidm\": %.10g, \"dmstep\": %.10g, \"ndm\": %lld, "
           "\"downsamp\": %lld, \"dsubdm\": %.10g, \"dms_per_call\": %lld, \"ncall\": %lld, "
           "\"work\": %.10g, \"bw_ms\": %.10g, \"sub_ms\": %.10g}%s\n",
           l->lodm, l->hidm, l->dmstep, (long long)l->ndm, (long long)l->downsamp, l->dsubdm,
           (long long)l->dms_per_call, (long long)l->ncall, l->work, l->bw_ms, l->sub_ms, end);
}

static void print_cost(const struct ddplan_cost *c)
{
    static const char *const what[DDPLAN_NWORK] = {"read", "add", "write"};
    printf(",\n  \"cost\": {\"tobs_s\": %.10g, \"nbit\": %lld", c->tobs_s, (long long)c->nbit);
    for (int i = 0; i < DDPLAN_NWORK; i++)
        printf(", \"%s\": {\"amount\": %.10g, \"per_s\": %.10g, \"rate\": \"%s\", "
               "\"seconds\": %.10g}",
               what[i], c->amount[i], c->rate[i].per_s, c->rate[i].origin, c->seconds[i]);
    printf(", \"seconds\": %.10g}", ddplan_cost_seconds(c));
}

void ddplan_print_json(const struct ddplan_options *o, const struct psr_ddplan *p,
                       const struct ddplan_cost *cost)
{
    printf("{\n  \"command\": ");
    psr_json_text(o->command, print_bytes, stdout);
    printf(",\n  \"version\": \"%s\",\n", PSRKIT_VERSION);
    print_desc(p);
    printf("  \"lines\": [\n");
    for (int i = 0; i < p->nline; i++)
        print_line(&p->line[i], i + 1 < p->nline ? "," : "");
    printf("  ]");
    if (cost)
        print_cost(cost);
    printf("\n}\n");
}
