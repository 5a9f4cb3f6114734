/* fbedit: makes an observation from observations: cuts and converts them. */
#include "base/tool.h"

#include "fbedit.h"
#include "tools/common/cli.h"
#include "tools/common/quote.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/experimental/fourier.h>
#include <psrkit/series.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* --- report -------------------------------------------------------------------------------------- */

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

/* The operations, in the order in which they are done. */
static void fbedit_print_plan(const struct cli *tool, const struct psr_edit_desc *d,
                              const psr_edit *p)
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

static void fbedit_note_dropped(const struct cli *tool, const psr_edit *p)
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

/* A note on what filled no sum. */
static void fbedit_print_account(const struct cli *tool, const psr_edit *p)
{
    struct psr_edit_report r;
    psr_edit_describe(p, &r);
    fprintf(stderr,
            "%s: %lld spectra in, %lld out; reading %.3f s, editing %.3f s, writing %.3f s\n",
            tool->name, (long long)r.nread, (long long)r.nwritten, r.read_s, r.edit_s, r.write_s);
}

/* Reads the signals that fbedit adds, and writes the table of them. */

static const char suffix[] = ".truth";

struct run {
    struct fbedit_options opt;
    struct cli tool;
    struct run_progress progress;
    struct fbedit_add add;
    psr_err err;
};

static psr_status run(struct run *r);
static psr_status choose_seed(struct fbedit_options *o, psr_err *err);

static psr_status give_signals(void *ctx, double observed_s, const struct psr_fake_signal **signal,
                               size_t *nsignal, psr_err *err)
{
    struct fbedit_add *a = ctx;
    const struct fbedit_options *o = a->opt;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < o->add.n && !st; i++)
        st = signals_add_text(&a->signals, o->add.text[i], "-add", observed_s, err);
    for (size_t i = 0; i < o->addfile.n && !st; i++)
        st = signals_add_file(&a->signals, o->addfile.text[i], observed_s, err);
    *signal = a->signals.signal;
    *nsignal = a->signals.n;
    return st;
}

/* Beside a file; NULL where the output is none. */
static psr_status name_truth(struct fbedit_add *a, psr_err *err)
{
    const struct fbedit_options *o = a->opt;
    const char *output = o->run.output;
    if (!o->truth && (!strcmp(output, "-") || !strncmp(output, "dada:", 5)))
        return PSR_OK;
    const size_t room = strlen(o->truth ? o->truth : output) + sizeof suffix;
    a->name = malloc(room);
    if (!a->name)
        return psr_fail_nomem(err, "name", (double)room);
    snprintf(a->name, room, "%s%s", o->truth ? o->truth : output, o->truth ? "" : suffix);
    return PSR_OK;
}

/* No file is written twice, or over one that is read. */
static psr_status check_names(struct fbedit_add *a, psr_err *err)
{
    const struct fbedit_options *o = a->opt;
    struct psr_overwrite_check *c = &a->signals.files;
    psr_status st = PSR_OK;
    for (size_t i = 0; i < o->source.npath && !st; i++)
        st = psr_overwrite_check_input(c, o->source.path[i], err);
    for (size_t i = 0; i < o->addfile.n && !st; i++)
        st = psr_overwrite_check_input(c, o->addfile.text[i], err);
    if (!st)
        st = psr_overwrite_check_output(c, o->run.output, NULL, err);
    return st ? st : psr_overwrite_check_output(c, a->name, NULL, err);
}

/* Prepares what o asks for, and o's description; the table gets a temporary name.
 * Given:  notes   for remarks on files
 * Status: those of psr_output_group_create; PSR_EINVAL */
static psr_status fbedit_add_begin(struct fbedit_add *a, struct fbedit_options *o,
                                   struct psr_notes notes, psr_err *err)
{
    a->opt = o;
    if (!o->add.n && !o->addfile.n)
        return PSR_OK;
    o->run.signals = give_signals;
    o->run.signals_ctx = a;
    psr_status st = choose_seed(o, err);
    if (!st)
        st = name_truth(a, err);
    if (!st)
        st = check_names(a, err);
    if (st || !a->name)
        return st;
    const struct psr_output_group_desc claim = {.size = sizeof claim,
                                                .root = o->run.output,
                                                .kind = "file",
                                                .common = true,
                                                .notes = notes};
    st = psr_output_group_create(&a->group, &claim, err);
    o->run.group = a->group;
    return st ? st : psr_output_group_add(a->group, a->name, &a->truth, err);
}

/* Finds the range and the name of the cut-out of each event. */

/* Series are barycentred from their first sample on: a mean velocity serves for hours. */
static psr_status find_rate(struct fbedit_around *a, const struct psr_obs *obs, const char *path,
                            psr_err *err)
{
    struct psr_inf inf = {.ra_deg = obs->ra_deg,
                          .dec_deg = obs->dec_deg,
                          .epoch = obs->tstart,
                          .has_epoch = true,
                          .nbin = obs->nsamp,
                          .tbin_s = obs->tsamp_s};
    double voverc = 0;
    snprintf(inf.name, sizeof inf.name, "%s", path);
    snprintf(inf.telescope, sizeof inf.telescope, "%s", obs->telescope);
    if (!obs->has_position)
        return psr_fail(err, PSR_EUNSUPPORTED, "-bary: %s has no position", path);
    psr_status st = obs->barycentric ? PSR_OK : psr_inf_velocity(&inf, &voverc, err);
    a->rate = 1 + voverc;
    return st;
}

static psr_status look_at_input(struct fbedit_around *a, const struct fbedit_options *o,
                                psr_err *err)
{
    const struct psr_source_desc *source = &o->source;
    psr_source *s;
    psr_status st = psr_source_open(&s, source, err);
    if (st)
        return st;
    const struct psr_obs *obs = psr_source_obs(s);
    a->tsamp_s = obs->tsamp_s;
    a->length_s = (double)obs->nsamp * obs->tsamp_s;
    a->lowest_mhz = psr_obs_lowest_mhz(obs);
    a->highest_mhz = psr_obs_highest_mhz(obs);
    if (obs->nsamp < 0)
        st = psr_fail(err, PSR_EUNSUPPORTED, "-around: the length of %s is not known",
                      source->path[0]);
    if (o->bary && !st)
        st = find_rate(a, obs, source->path[0], err);
    psr_source_close(s);
    return st;
}

enum { LINE_BYTES = 4096, DIGITS = 32 };

/* Rows of gpudedisp -singlepulse: S/N, sample, time, log2 of the width, trial, DM.  Samples are those of the series. */
static psr_status read_row(struct psr_edit_burst *b, double tsamp_s, const char *path,
                           const struct psr_text_lines *in, const char *line, psr_err *err)
{
    const double dm_max = 1e6, filter_max = 30;
    double sample, filter;
    if (sscanf(line, "%lf %lf %lf %lf %*f %lf", &b->snr, &sample, &b->t_s, &filter, &b->dm) != 5 ||
        !isfinite(b->snr) || !isfinite(b->t_s) || !(fabs(filter) <= filter_max) ||
        !(b->dm >= 0 && b->dm < dm_max))
        return psr_fail(err, PSR_EFORMAT, "%s: line %ld is no row of a list of bursts", path,
                        in->number);
    b->width_s = exp2(filter) * (sample > 0 && b->t_s > 0 ? b->t_s / sample : tsamp_s);
    return PSR_OK;
}

static psr_status read_list(struct fbedit_around *a, const char *path, psr_err *err)
{
    char line[LINE_BYTES];
    struct psr_text_lines in;
    bool exists;
    psr_status st = psr_text_lines_open(&in, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    while (!st && !(st = psr_text_lines_next(&in, line, sizeof line, &exists, err)) && exists) {
        struct psr_edit_burst e = {.size = sizeof e, .label = -1};
        if (*line == '#' || !line[strspn(line, " \t\r\n")])
            continue;
        st = read_row(&e, a->tsamp_s, path, &in, line, err);
        if (!st)
            e.t_s *= a->rate;
        if (!st)
            st = psr_grow(&a->event, &a->room, a->n, sizeof e, "events", err);
        if (!st)
            a->event[a->n++] = e;
    }
    psr_text_lines_close(&in);
    return st;
}

/* Reads the list, and what must be known of the input.
 * Status: PSR_EFORMAT for a list with another row; PSR_EUNSUPPORTED for an input of unknown length */
static psr_status fbedit_around_begin(struct fbedit_around *a, const struct fbedit_options *o,
                                      psr_err *err)
{
    a->rate = 1;
    psr_status st = look_at_input(a, o, err);
    return st ? st : read_list(a, o->around, err);
}

static psr_status take_range(struct fbedit_around *a, struct fbedit_options *o, size_t i,
                             psr_err *err)
{
    const struct psr_edit_burst *e = &a->event[i];
    const double sweep_s = psr_delay_s(PSR_DMCONST_PRESTO, e->dm, a->lowest_mhz) -
                           psr_delay_s(PSR_DMCONST_PRESTO, e->dm, a->highest_mhz);
    const double start_s = fmax(e->t_s - o->pad_s, 0),
                 end_s = fmin(e->t_s + sweep_s + o->pad_s, a->length_s);
    if (!(start_s < end_s))
        return psr_fail(err, PSR_EINVAL,
                        "%s: event %zu at %.6f s lies outside of the input, %.6f s", o->around,
                        i + 1, e->t_s, a->length_s);
    snprintf(a->start, sizeof a->start, "%.9f", start_s);
    snprintf(a->end, sizeof a->end, "%.9f", end_s);
    o->run.start = a->start;
    o->run.end = a->end;
    return PSR_OK;
}

/* "cut.fil" and 3 make cut_0003.fil. */
static psr_status name_output(struct fbedit_around *a, const char *output, size_t i, psr_err *err)
{
    const char *folder = strrchr(output, '/'), *dot = strrchr(folder ? folder : output, '.');
    const size_t stem = dot ? (size_t)(dot - output) : strlen(output),
                 room = strlen(output) + DIGITS;
    free(a->name);
    a->name = malloc(room);
    if (!a->name)
        return psr_fail_nomem(err, output, (double)room);
    snprintf(a->name, room, "%.*s_%04zu%s", (int)stem, output, i + 1, output + stem);
    return PSR_OK;
}

/* Writes the table, once the edit has run; gives it and the finished output their names. */
static psr_status fbedit_add_write(struct fbedit_add *a, const psr_edit *p, psr_err *err)
{
    struct psr_edit_report r;
    struct psr_fake_truth t;
    if (!a->truth)
        return PSR_OK;
    psr_edit_describe(p, &r);
    struct psr_obs obs = *r.in; /* its table is borrowed */
    obs.nsamp = r.nread;
    psr_status st =
        signals_truth_begin(a->truth, a->command ? a->command : "fbedit", a->opt->seed, &obs, err);
    for (size_t i = 0; i < r.nsignal && !st; i++) {
        st = psr_fake_report(r.signals, i, &t, err);
        if (!st)
            st = signals_truth_row(a->truth, a->signals.signal[i].kind, &t, err);
    }
    return st;
}

static psr_status edit(struct run *r)
{
    psr_edit *p = NULL;
    psr_status st = psr_edit_create(&p, &r->opt.run, &r->err);
    if (!st) {
        struct psr_edit_report report;
        psr_edit_describe(p, &report);
        if (r->opt.verbose)
            fbedit_print_plan(&r->tool, &r->opt.run, p);
        run_progress_start(&r->progress, run_progress_mode(r->opt.quiet, r->opt.verbose),
                           report.count, "spectra", 1);
        st = psr_edit_run(p, &r->err);
        run_progress_end(&r->progress);
        if (!st)
            st = fbedit_add_write(&r->add, p, &r->err);
        if (!st)
            st = psr_edit_finish(p, &r->err);
        if (!st) {
            psr_output_group *group = r->add.group;
            r->add.group = NULL;
            st = group ? psr_output_group_commit(group, &r->err) : PSR_OK;
        }
        if (!st && !r->opt.quiet)
            fbedit_note_dropped(&r->tool, p);
        if (!st && r->opt.verbose)
            fbedit_print_account(&r->tool, p);
    }
    psr_edit_destroy(p);
    return st;
}

/* One edit for each event. */
static psr_status edit_events(struct run *r)
{
    const char *output = r->opt.run.output;
    struct fbedit_around around = {.n = 0};
    psr_status st = fbedit_around_begin(&around, &r->opt, &r->err);
    for (size_t i = 0; i < around.n && !st; i++) {
        st = r->opt.cutout ? PSR_OK : take_range(&around, &r->opt, i, &r->err);
        if (!st)
            st = name_output(&around, output, i, &r->err);
        r->opt.run.burst = &around.event[i];
        r->opt.run.output = around.name;
        if (!st)
            st = edit(r);
    }
    free(around.event);
    free(around.name);
    return st;
}

static psr_status run(struct run *r)
{
    struct psr_edit_desc *d = &r->opt.run;
    if (!r->opt.quiet)
        r->opt.source.notes = (struct psr_notes){cli_note, &r->tool};
    r->opt.source.should_stop = run_should_stop;
    r->opt.source.stop_ctx = &r->progress;
    d->source = &r->opt.source;
    d->should_stop = run_should_stop;
    d->progress = run_show_progress;
    d->ctx = &r->progress;
    psr_status st = fbedit_add_begin(&r->add, &r->opt, r->opt.source.notes, &r->err);
    if (!st)
        st = r->opt.around ? edit_events(r) : edit(r);
    psr_output_group_abort(r->add.group);
    signals_clear(&r->add.signals);
    free(r->add.command);
    free(r->add.name);
    return st;
}

static psr_status choose_seed(struct fbedit_options *o, psr_err *err)
{
    struct timespec now;
    if (o->seed < 0 && clock_gettime(CLOCK_REALTIME, &now) != 0)
        return psr_fail_errno(err, "clock");
    if (o->seed < 0)
        o->seed = ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) & INT64_C(0xffffffffffff);
    o->run.seed = (uint64_t)o->seed;
    return PSR_OK;
}

int main(int argc, char **argv)
{
    struct run r = {.add = {.command = quote_command("fbedit", argc, argv)}};
    size_t npath = (size_t)fbedit_options_parse(&r.opt, &r.tool, argc, argv);
    r.opt.source.path = (const char *const *)(argv + 1);
    r.opt.source.npath = npath;
    run_catch_signals();
    run_limit_threads(&r.opt.run.nthread, r.opt.quiet ? NULL : r.tool.name);
    psr_status st = run(&r);
    free((void *)r.opt.run.set);
    free((void *)r.opt.add.text);
    free((void *)r.opt.addfile.text);
    cli_note_kept(&r.tool, r.opt.quiet || !st, 0, 1, NULL);
    return cli_end(&r.tool, st, &r.err, EXIT_SUCCESS);
}
