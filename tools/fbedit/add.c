/* Reads the signals that fbedit adds, and writes the table of them. */
#include "fbedit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char suffix[] = ".truth";

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

psr_status fbedit_add_begin(struct fbedit_add *a, struct fbedit_options *o, struct psr_notes notes,
                            psr_err *err)
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

psr_status fbedit_add_write(struct fbedit_add *a, const psr_edit *p, psr_err *err)
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

psr_status fbedit_add_finish(struct fbedit_add *a, psr_err *err)
{
    psr_output_group *group = a->group;
    a->group = NULL;
    return group ? psr_output_group_commit(group, err) : PSR_OK;
}

void fbedit_add_end(struct fbedit_add *a)
{
    psr_output_group_abort(a->group);
    signals_clear(&a->signals);
    free(a->command);
    free(a->name);
}
