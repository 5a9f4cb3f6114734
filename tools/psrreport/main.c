/* psrreport: makes a page of what a search left in a folder. */
#include "psrreport.h"

#include "tools/common/run.h"
#include <stdlib.h>

static psr_status read_all(struct report *r, psr_err *err)
{
    static psr_status (*const parts[])(struct report *, psr_err *) = {
        report_read_folder, report_read_steps,  report_read_candidates,
        report_read_folds,  report_join_folds,  report_read_verdicts,
        report_read_events, report_read_bursts, report_read_views,
    };
    psr_status st = PSR_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && !st && !run_stop_signal(); i++)
        st = parts[i](r, err);
    return st;
}

static psr_status report_folder(const struct cli *tool, const struct psrreport_options *opt,
                                const char *folder, int *code, psr_err *err)
{
    struct report *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(err, folder, sizeof *r);
    r->tool = tool;
    r->opt = opt;
    r->folder = folder;
    psr_status st = read_all(r, err);
    if (!st && !run_stop_signal())
        st = report_write(r, err);
    *code = r->code;
    report_clear(r);
    free(r);
    return st;
}

int main(int argc, char **argv)
{
    struct psrreport_options opt;
    struct cli tool;
    psr_err err;
    int code = EXIT_SUCCESS;
    const int n = psrreport_options_parse(&opt, &tool, argc, argv);
    run_catch_signals();
    psr_status st = opt.overview ? report_overview(&tool, &opt, argv + 1, (size_t)n, &code, &err)
                                 : report_folder(&tool, &opt, argv[1], &code, &err);
    return cli_end(&tool, st, &err, code);
}
