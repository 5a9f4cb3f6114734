/* The picture of single pulses: made, bounded, and failing cleanly. */
#include "tests/support/scratch.h"
#include "tests/support/tap.h"
#include "tools/common/plot/pulseplot.h"

static bool is_png(const char *path)
{
    unsigned char head[8] = {0};
    FILE *f = fopen(path, "rb");
    bool fine = f && fread(head, 1, 8, f) == 8 && !memcmp(head, "\x89PNG\r\n\x1a\n", 8);
    if (f)
        fclose(f);
    return fine;
}

static psr_status draw(const char *path, const struct pulseplot *w, psr_err *err)
{
    struct plotfile f;
    psr_status st = plotfile_open(&f, path, err);
    if (!st)
        st = pulseplot_draw(&f, w, err);
    plotfile_abort(&f);
    return st;
}

static void test_pictures(struct pulseplot *w, const char *path)
{
    psr_err err = {0};
    psr_status st = draw(path, w, &err);
    ok(!st && is_png(path), "a picture of %zu events %s", w->nevents, err.msg);
    unlink(path);
    w->nevents = 0;
    w->best = NULL;
    ok(!draw(path, w, &err) && is_png(path), "a picture of no events");
    unlink(path);
    ok(draw(scratch("none/x.png"), w, &err) == PSR_EIO, "%s", err.msg);
}

int main(void)
{
    enum { N = 60000, NDM = 100 };
    uint64_t seed = tap_seed();
    char path[PATH_MAX];
    scratch_make();
    snprintf(path, sizeof path, "%s", scratch("it's \"a\" plot.png"));
    struct psr_event *e = malloc(N * sizeof *e);
    double dm[NDM];
    for (size_t k = 0; k < N; k++)
        e[k] = (struct psr_event){5 - log(1 - tap_uniform(&seed)), tap_between(&seed, 0, 100000), 3,
                                  (size_t)tap_between(&seed, 0, NDM - 1)};
    for (int i = 0; i < NDM; i++)
        dm[i] = i;
    struct psr_cluster best = {e[0], 1, 0, 2, 0};
    struct pulseplot w = {.title = "a \"title\", no UTF-8: \303( \377, \033[2J and \n",
                          .events = e,
                          .nevents = N,
                          .best = &best,
                          .dm = dm,
                          .ndm = NDM,
                          .tsamp_s = 1e-3};
    if (canvas_can_draw())
        test_pictures(&w, path);
    else
        skip("pictures", "built without cairo");
    psr_err err;
    ok(draw("x.gif", &w, &err) == PSR_EINVAL && strstr(err.msg, plotfile_suffixes), "%s", err.msg);
    free(e);
    return done_testing();
}
