/* Prints the output of -v. */
#include "fbedit.h"

#include <stdio.h>

static void print_obs(const struct cli *tool, const char *what, const struct psr_obs *obs)
{
    const char *kind = obs->kind == PSR_FLOAT ? " (floats)"
                       : obs->kind == PSR_INT ? " (signed)"
                                              : "";
    fprintf(stderr,
            "%s: %s: %zu channels from %.6f MHz by %g, %.9g us, %d bits%s, MJD %ld + %.12f d",
            tool->name, what, obs->nchan, obs->fch1_mhz, obs->foff_mhz, obs->tsamp_s * 1e6,
            obs->nbit, kind, obs->tstart.day, obs->tstart.frac);
    if (obs->nsamp >= 0)
        fprintf(stderr, ", %lld spectra", (long long)obs->nsamp);
    fprintf(stderr, "\n");
}

static void print_values(const struct cli *tool, const struct psr_edit_report *r)
{
    static const char *const rules[] = {
        [PSR_EDIT_SUMS] = "sums", [PSR_EDIT_MEANS] = "means", [PSR_EDIT_LEVELS] = "levels"};
    const struct psr_obs *in = r->in, *out = r->out;
    if (r->tsum > 1 || r->fsum > 1 || in->nbit != out->nbit)
        fprintf(stderr, "%s: %lld spectra and %lld channels each, %d to %d bits, written as %s",
                tool->name, (long long)r->tsum, (long long)r->fsum, in->nbit, out->nbit,
                rules[r->rule]);
    else
        return;
    if (r->rule == PSR_EDIT_LEVELS)
        fprintf(stderr, ": mean %g, scatter %g", r->level_mean, r->level_scatter);
    fprintf(stderr, "\n");
}

void fbedit_print_plan(const struct cli *tool, const struct psr_edit_desc *d, const psr_edit *p)
{
    struct psr_edit_report r;
    psr_edit_describe(p, &r);
    print_obs(tool, r.input, r.in);
    if (r.start > 0 || (r.count >= 0 && r.count != r.in->nsamp)) {
        fprintf(stderr, "%s: spectra %lld to ", tool->name, (long long)r.start);
        if (r.count < 0)
            fprintf(stderr, "the end\n");
        else
            fprintf(stderr, "%lld\n", (long long)(r.start + r.count - 1));
    }
    if (r.nsignal)
        fprintf(stderr, "%s: %zu signals added, seed %llu\n", tool->name, r.nsignal,
                (unsigned long long)d->seed);
    if (d->zerodm)
        fprintf(stderr, "%s: zero-DM\n", tool->name);
    else if (d->clip_sigma > 0)
        fprintf(stderr, "%s: clipped at %g sigma\n", tool->name, d->clip_sigma);
    if (d->mask)
        fprintf(stderr, "%s: masked by %s\n", tool->name, d->mask);
    if (d->clean_auto)
        fprintf(stderr, "%s: cleaned automatically\n", tool->name);
    if (r.nchan != r.in->nchan)
        fprintf(stderr, "%s: channels %zu to %zu\n", tool->name, r.first_chan,
                r.first_chan + r.nchan - 1);
    if (r.reversed)
        fprintf(stderr, "%s: channels in reverse order\n", tool->name);
    if (r.dm > 0)
        fprintf(stderr, "%s: channels shifted to DM %g, by up to %lld spectra\n", tool->name, r.dm,
                (long long)r.max_delay);
    print_values(tool, &r);
    if (r.format == PSR_EDIT_YOUR)
        fprintf(stderr, "%s: pictures of the burst at %.6f s, DM %g, %.6g s wide\n", tool->name,
                d->burst->t_s, d->burst->dm, d->burst->width_s);
    print_obs(tool, "out", r.out);
}

void fbedit_note_dropped(const struct cli *tool, const psr_edit *p)
{
    struct psr_edit_report r;
    psr_edit_describe(p, &r);
    if (r.ndropped)
        fprintf(stderr, "%s: the last %lld spectra fill no sum and are dropped\n", tool->name,
                (long long)r.ndropped);
    if (r.ndropped_chan)
        fprintf(stderr, "%s: the last %zu channels fill no sum and are dropped\n", tool->name,
                r.ndropped_chan);
}

void fbedit_print_account(const struct cli *tool, const psr_edit *p)
{
    struct psr_edit_report r;
    psr_edit_describe(p, &r);
    fprintf(stderr,
            "%s: %lld spectra in, %lld out; reading %.3f s, editing %.3f s, writing %.3f s\n",
            tool->name, (long long)r.nread, (long long)r.nwritten, r.read_s, r.edit_s, r.write_s);
}
