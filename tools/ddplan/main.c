/* ddplan: makes a dedispersion plan, and writes it as text, JSON, script or plot. */
#include "ddplan.h"

#include "tools/common/cli.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- plot ---------------------------------------------------------------------------------------- */

/* Each term of the smearing is one curve, in DDplan.py's colours.  Curves break between the lines
 * of the plan. */
struct curve {
    const char *title;
    double width;
    uint32_t colour;
    size_t at; /* of the term in struct psr_smearing */
};

#define AT(member) offsetof(struct psr_smearing, member)

static const struct curve curves[] = {
    {"total", 3.5, 0x202020, AT(total)},     {"optimal", 2, 0xf39c12, AT(optimal)},
    {"in a channel", 2, 0x2471a3, AT(chan)}, {"sample time", 2, 0x1e8449, AT(sample)},
    {"DM step", 2, 0xc0392b, AT(bw)},        {"sub-band step", 2, 0x7d3c98, AT(sub)},
};

enum { WIDTH = 1000, HEIGHT = 650, NPOINT = 200, NCURVE = sizeof curves / sizeof *curves };

/* A range that holds all but the smearing in a channel, which may vanish, with room for labels. */
static void set_ranges(struct canvas_panel *panel, const struct psr_ddplan *p)
{
    double least = INFINITY, most = 0;
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        for (int k = 0; k <= NPOINT; k++) {
            double dm = l->lodm + (l->hidm - l->lodm) * k / NPOINT;
            struct psr_smearing s = psr_ddplan_smearing(p, i, dm);
            least = fmin(least, fmin(s.optimal, fmin(s.sample, s.bw)));
            most = fmax(most, s.total);
        }
    }
    panel->x_min = p->desc->lodm;
    panel->x_max = p->desc->hidm;
    panel->y_min = 0.6 * least;
    panel->y_max = 1.2 * most * pow(most / panel->y_min, 0.45);
}

/* The curves, and below them what they are. */
static void draw_curves(struct canvas *c, const struct canvas_panel *panel,
                        const struct psr_ddplan *p)
{
    /* Sub-bands come last, so that an exact plan just has one curve less. */
    const int n = p->desc->nsub ? NCURVE : NCURVE - 1;
    for (int k = 0; k < n; k++) {
        const double x = panel->left + k * panel->width / n, y = panel->top + panel->height + 52;
        const struct curve *curve = &curves[k];
        for (int i = 0; i < p->nline; i++) {
            const struct psr_ddplan_line *l = &p->line[i];
            double dm[NPOINT + 1], ms[NPOINT + 1];
            for (int j = 0; j <= NPOINT; j++) {
                dm[j] = l->lodm + (l->hidm - l->lodm) * j / NPOINT;
                const struct psr_smearing s = psr_ddplan_smearing(p, i, dm[j]);
                ms[j] = *(const double *)((const char *)&s + curve->at);
            }
            canvas_curve(c, panel, dm, ms, NPOINT + 1, curve->width, curve->colour);
        }
        canvas_patch(c, x, y - 7, 22, 4, curves[k].colour);
        canvas_text(c, x + 30, y, 12, curves[k].title);
    }
}

/* Draws the smearing against DM into a plot that is open; it is the caller's to abort on error.
 * Status: those of canvas_create_for and plotfile_end. */
static psr_status ddplan_draw(struct plotfile *f, const struct psr_ddplan *p, psr_err *err)
{
    struct canvas_panel panel = {.left = 75,
                                 .top = 40,
                                 .width = 900,
                                 .height = 535,
                                 .log_y = true,
                                 .x_label = "dispersion measure (pc cm\xe2\x81\xbb\xc2\xb3)",
                                 .y_label = "smearing (ms)"};
    struct canvas *c;
    char title[200];
    psr_status st = canvas_create_for(&c, f->format, WIDTH, HEIGHT, err);
    if (st)
        return st;
    const size_t room = sizeof title;
    const struct psr_band *b = &p->desc->band;
    const bool micro = b->tsamp_s < 1e-4;
    int n = snprintf(title, room, "%g MHz \xc2\xb1 %g MHz     %lld channels     sample time %g %s",
                     b->fctr_mhz, b->bw_mhz / 2, (long long)b->nchan,
                     b->tsamp_s * (micro ? 1e6 : 1e3), micro ? "\xc2\xb5s" : "ms");
    if (p->desc->nsub)
        n += snprintf(title + n, room - (size_t)n, "     %lld sub-bands", (long long)p->desc->nsub);
    if (p->desc->cohdm > 0)
        snprintf(title + n, room - (size_t)n, "     coherent DM %g", p->desc->cohdm);
    panel.title = title;
    set_ranges(&panel, p);
    /* The lines of the plan as bands of the background, each with what it is. */
    const double scale = panel.width / (panel.x_max - panel.x_min);
    for (int i = 0; i < p->nline; i++) {
        const struct psr_ddplan_line *l = &p->line[i];
        const double right = fmin(l->hidm, panel.x_max),
                     middle = panel.left + scale * (0.5 * (l->lodm + right) - panel.x_min);
        char text[80];
        canvas_band(c, &panel, l->lodm, right, i % 2 ? 0xffffff : 0xe9eef3);
        if (scale * (right - l->lodm) < 32)
            continue;
        snprintf(text, sizeof text, "%lld DMs (%.1f%%)", (long long)l->ndm, 100 * l->work);
        canvas_text_up(c, middle - 3, panel.top + 160, 11, text);
        snprintf(text, sizeof text, "step %g, downsample %lld", l->dmstep, (long long)l->downsamp);
        canvas_text_up(c, middle + 11, panel.top + 160, 11, text);
    }
    draw_curves(c, &panel, p);
    canvas_frame(c, &panel);
    return plotfile_end(f, c, err);
}

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
