/* ddplan: makes a dedispersion plan, and writes it as text, JSON, script or plot. */
#include "ddplan.h"

#include "tools/common/cli.h"
#include <psrkit/ddplan.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A plan may be written over a plan, or any text, but not over an observation: who leaves out the
 * name of the plan gives that of the observation. */
static psr_status check_target(const char *path, psr_err *err)
{
    unsigned char start[256];
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return PSR_OK;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(start, 1, sizeof start, f) : 0;
    if (f)
        fclose(f);
    for (size_t i = 0; i < n; i++)
        if (start[i] < 0x20 && !strchr("\t\n\r", start[i]))
            return psr_fail(err, PSR_EINVAL,
                            "-plan: %s is there and is no text: it is not written over", path);
    return PSR_OK;
}

/* The plan as gpudedisp reads it. */
static psr_status write_plan(const struct ddplan_options *o, const struct psr_ddplan *plan,
                             psr_err *err)
{
    struct psr_planfile lines = {0};
    psr_outfile *f = NULL;
    psr_status st = check_target(o->plan, err);
    if (st == PSR_OK)
        st = psr_planfile_from_ddplan(&lines, plan, err);
    if (st == PSR_OK)
        st = psr_outfile_create(&f, o->plan, err);
    if (st == PSR_OK)
        st = psr_planfile_write(f, &lines, o->command, err);
    psr_planfile_clear(&lines);
    if (st == PSR_OK)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

static void print_text(const struct ddplan_options *o, const struct psr_ddplan *plan,
                       const struct ddplan_cost *cost)
{
    if (o->script)
        ddplan_print_script(o, plan);
    else if (o->json)
        ddplan_print_json(o, plan, cost);
    else {
        if (o->files.n)
            ddplan_print_observation(o);
        ddplan_print_plan(plan);
        if (cost)
            ddplan_print_cost(cost);
    }
}

/* The plot comes last.  One that cannot be made is reported and left out.
 * Returned: *code   of what was left out */
static psr_status put_out(const struct cli *tool, const struct ddplan_options *o,
                          const struct psr_ddplan *plan, int *code, psr_err *err)
{
    struct ddplan_cost cost;
    struct plotfile plot = {0};
    bool plan_to_stdout = o->plan && !strcmp(o->plan, "-");
    psr_err why;
    psr_status st = PSR_OK;
    if (o->plot && plotfile_open(&plot, o->plot, &why))
        *code = cli_report(tool, &why);
    if (o->cost)
        st = ddplan_cost_of(&cost, o, plan, err);
    if (st == PSR_OK && run_stop_signal())
        st = psr_fail(err, PSR_ESTOPPED, "stopped");
    if (st == PSR_OK && o->plan)
        st = write_plan(o, plan, err);
    if (st == PSR_OK && !plan_to_stdout)
        print_text(o, plan, o->cost ? &cost : NULL);
    if (st == PSR_OK && plot.out && !run_stop_signal() && ddplan_draw(&plot, plan, &why))
        *code = cli_report(tool, &why);
    plotfile_abort(&plot);
    return st;
}

/* Whether a field of a description comes from the header of an observation. */
static bool is_of_header(const char *field)
{
    static const char *const fields[] = {"tsamp_s", "fctr_mhz", "bw_mhz", "nchan"};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(field, fields[i]))
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct ddplan_options o;
    struct cli tool;
    psr_err err;
    int code = EXIT_SUCCESS;
    run_catch_signals();
    psr_status st = ddplan_options_parse(&o, &tool, argc, argv, &err);
    if (st == PSR_OK && o.dm_tol > 0)
        st = ddplan_print_dms(&o, &err);
    else if (st == PSR_OK) {
        struct psr_ddplan plan;
        st = psr_ddplan_make(&plan, &o.desc, &err);
        st = st ? st : put_out(&tool, &o, &plan, &code, &err);
    }
    free(o.plot);
    free(o.command);
    if (st == PSR_EINVAL && o.files.n && is_of_header(err.field))
        err.code = st = PSR_EUNSUPPORTED;
    if (st == PSR_EINVAL &&
        !run_stop_signal()) /* what is out of its range came from the command line */
        cli_usage_error(&tool, "%s", err.msg);
    return cli_end(&tool, st, &err, code);
}
