/* The picture of a fold: which texts and lines it has, by a canvas that writes them down. */
#include "tests/support/fil.h"
#include "tools/common/plot/canvas.h"
#include "tools/gpufold/gpufold.h"

#include <math.h>

enum { NCHAN = 16, NSAMP = 24000, NBIN = 32, NPART = 11, MOST_TEXTS = 64, MOST_LINES = 64 };
static const double PERIOD_S = 0.1037;

/* --- a canvas --------------------------------------------------------------------------------- */

struct text {
    char name[64], value[96];
};

struct line {
    struct canvas_panel panel;
    double x[2], y[2]; /* its first points */
    size_t n;
};

struct canvas {
    struct text text[MOST_TEXTS];
    struct line line[MOST_LINES];
    size_t ntext, nline, ncross;
};

static struct canvas drawn;

psr_status canvas_create(struct canvas **out, int width, int height, psr_err *err)
{
    (void)width, (void)height, (void)err;
    drawn = (struct canvas){.ntext = 0};
    *out = &drawn;
    return PSR_OK;
}

void canvas_destroy(struct canvas *c)
{
    (void)c;
}

psr_status canvas_write(struct canvas *c, psr_outfile *f, psr_err *err)
{
    (void)c, (void)f, (void)err;
    return PSR_OK;
}

void canvas_line(struct canvas *c, const struct canvas_panel *p, const double *x, const double *y,
                 size_t n)
{
    if (c->nline < MOST_LINES)
        c->line[c->nline++] = (struct line){*p, {x[0], x[1]}, {y[0], y[1]}, n};
}

void canvas_cross(struct canvas *c, const struct canvas_panel *p, double x, double y)
{
    (void)p, (void)x, (void)y;
    c->ncross++;
}

void canvas_frame(struct canvas *c, const struct canvas_panel *p)
{
    (void)c, (void)p;
}

void canvas_image(struct canvas *c, const struct canvas_panel *p, const float *value, size_t nx,
                  size_t ny, double low, double high, bool colour)
{
    (void)c, (void)p, (void)value, (void)nx, (void)ny, (void)low, (void)high, (void)colour;
}

void canvas_column_text(struct canvas_column *c, const char *name, const char *text)
{
    struct text *t = &c->canvas->text[c->canvas->ntext];
    if (c->canvas->ntext == MOST_TEXTS)
        return;
    snprintf(t->name, sizeof t->name, "%s", name);
    snprintf(t->value, sizeof t->value, "%s", text);
    c->canvas->ntext++;
}

void canvas_column_number(struct canvas_column *c, const char *name, const char *format,
                          double value)
{
    char text[96];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, value);
#pragma GCC diagnostic pop
    if (!isnan(value))
        canvas_column_text(c, name, text);
}

void canvas_text(struct canvas *c, double x, double y, double height, const char *text)
{
    struct canvas_column title = {c, x, y};
    (void)height;
    canvas_column_text(&title, "", text);
}

static const char *find_text(const char *name)
{
    for (size_t i = 0; i < drawn.ntext; i++)
        if (!strcmp(drawn.text[i].name, name))
            return drawn.text[i].value;
    return "";
}

/* --- checks ----------------------------------------------------------------------------------- */

/* Whether a text is a value and its error: 89.3025(61), or -1.4(22)e-7. */
static bool is_uncertain(const char *text, double value, double error)
{
    char *end;
    const double x = strtod(text, &end);
    const char *point = memchr(text, '.', (size_t)(end - text));
    const double unit = point ? pow(10, -(double)(end - point - 1)) : 1;
    if (*end != '(')
        return false;
    const double e = strtod(end + 1, &end) * unit;
    const double power = *end == ')' && end[1] == 'e' ? pow(10, strtod(end + 2, NULL)) : 1;
    return *end == ')' && fabs(x * power - value) <= 0.51 * unit * power &&
           fabs(e * power - error) <= 0.51 * unit * power && e / unit >= 9.5 && e / unit < 100.5;
}

static void check_values(const struct psr_folder_fold *fold)
{
    const struct psr_bestprof_value *v = fold->best->topo;
    const double p_s = v[0].value / 1000;
    ok(is_uncertain(find_text("P topo, ms"), v[0].value, v[0].error) &&
           is_uncertain(find_text("P' topo, s/s"), v[1].value, v[1].error),
       "period and p-dot with their errors: %s, %s", find_text("P topo, ms"),
       find_text("P' topo, s/s"));
    ok(is_uncertain(find_text("f topo, Hz"), 1 / p_s, v[0].error / 1000 / p_s / p_s) &&
           is_uncertain(find_text("f' topo, Hz/s"), -v[1].value / p_s / p_s,
                        v[1].error / p_s / p_s),
       "frequency and its derivative: %s, %s", find_text("f topo, Hz"), find_text("f' topo, Hz/s"));
    ok(!strcmp(find_text("source"), "B0000+00") && !strcmp(find_text(""), "c1") &&
           strtod(find_text("folded P, ms"), NULL) == PERIOD_S * 1000 &&
           strtod(find_text("sigma_trials"), NULL) > 5,
       "names of source and candidate, what was searched, sigma after trials");
}

/* A bin of noise scatters by this much either way. */
static void check_error_bar(const struct psr_folder_fold *fold)
{
    const struct psr_fold_view *v = fold->view;
    const double high = 2 * sqrt(v->prof_var / v->correction);
    size_t found = 0;
    for (size_t i = 0; i < drawn.nline; i++) {
        const struct line *l = &drawn.line[i];
        found += l->n == 2 && l->x[0] == l->x[1] && fabs((l->y[1] - l->y[0]) / high - 1) < 1e-9 &&
                 l->panel.title && strstr(l->panel.title, "profile") && l->y[1] <= l->panel.y_max &&
                 l->y[0] >= l->panel.y_min;
    }
    ok(found == 1, "the profile has an error bar");
}

/* Of parts as long as the longest, also where the last ones are shorter. */
static void check_time(const struct psr_folder_fold *fold, double length_s)
{
    const struct psr_fold_stats *s = fold->pfd->stats;
    const double part_s = s[0].numdata * fold->pfd->tsamp_s;
    const double last_s = s[(NPART - 1) * fold->pfd->nsub].numdata * fold->pfd->tsamp_s;
    double top_s = 0, y_last = 0;
    for (size_t i = 0; i < drawn.nline; i++)
        if (drawn.line[i].n == NPART + 1) {
            top_s = drawn.line[i].panel.y_max;
            y_last = drawn.line[i].y[1];
        }
    ok(last_s < part_s && fabs(top_s - NPART * part_s) < 1e-9 && fabs(y_last - part_s) < 1e-9 &&
           top_s > length_s,
       "the time axis ends with the last part: %.3f s of %.3f s", top_s, length_s);
}

static psr_status take(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *e)
{
    (void)i;
    if (gpufold_draw(NULL, fold, e))
        return e->code;
    check_values(fold);
    check_error_bar(fold);
    check_time(fold, *(const double *)ctx);
    return PSR_OK;
}

static const char *save_pulsar(double *length_s)
{
    static unsigned char spectra[NSAMP * NCHAN];
    struct fil_desc d = fil_bytes_desc(NCHAN);
    struct fil f = {0};
    uint64_t seed = 12;
    const char *path = scratch("pulsar.fil");
    d.foff = -1;
    for (int t = 0; t < NSAMP; t++) {
        const double phase = t * d.tsamp / PERIOD_S;
        const double pulse = phase - floor(phase) < 0.1 ? 8 : 0;
        for (int c = 0; c < NCHAN; c++)
            spectra[t * NCHAN + c] =
                (unsigned char)lrint(fmin(fmax(96 + pulse + 12 * tap_normal(&seed), 0), 255));
    }
    fil_begin(&f, &d);
    fil_text(&f, "source_name");
    fil_text(&f, "B0000+00");
    fil_text(&f, "HEADER_END");
    fil_bytes(&f, spectra, sizeof spectra);
    fil_save(&f, path);
    free(f.b);
    *length_s = NSAMP * d.tsamp;
    return path;
}

int main(void)
{
    double length_s;
    psr_err err;
    struct psr_folder_desc d;
    psr_folder *f = NULL;
    scratch_make();
    const char *path = save_pulsar(&length_s);
    const struct psr_folder_candidate cand = {
        .f = 1 / PERIOD_S, .nbin = NBIN, .name = "c1", .at = PSR_FOLD_AT_START};
    psr_folder_defaults(&d);
    d.path = &path;
    d.npath = 1;
    d.topo = d.view = true;
    d.nsub = 4;
    d.npart = NPART;
    d.cand = &cand;
    d.ncand = 1;
    d.take = take;
    d.ctx = &length_s;
    d.device = "cpu";
    psr_status st = psr_folder_create(&f, &d, &err);
    if (!st)
        st = psr_folder_run(f, &err);
    ok(!st, "folded: %s", st ? err.msg : "");
    psr_folder_destroy(f);
    return done_testing();
}
