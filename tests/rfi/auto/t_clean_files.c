/* clean_files: what automatic cleaning took out, read back from the files in PRESTO's layouts. */
#include "run/common/stage_clean.h"

#include "rfi/rules/clean_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <string.h>

enum { CHANS = 12, WINDOWS = 9 };

static psr_err err;

/* A report of cleaning: some channels are masked throughout, some windows whole. */
struct scene {
    struct psr_obs obs;
    struct psr_clean_auto_report r;
    int64_t masked[CHANS];
    unsigned char mask[WINDOWS * CHANS]; /* [nwindow][nchan], as are the next */
    float level[WINDOWS * CHANS], sd[WINDOWS * CHANS];
};

static void draw(struct scene *s, uint64_t *seed, int k)
{
    memset(s, 0, sizeof *s);
    psr_obs_init(&s->obs);
    s->obs.nchan = k == 0 ? 1 : CHANS - (size_t)tap_between(seed, 0, 5);
    s->obs.tsamp_s = 1e-3;
    s->obs.fch1_mhz = 1400;
    s->obs.foff_mhz = k % 2 ? 2.5 : -2.5;
    s->obs.tstart = (struct psr_mjd){58000, 0.25};
    const size_t nchan = s->obs.nchan, nwindow = (size_t)tap_between(seed, k == 1 ? 1 : 2, WINDOWS);
    s->r = (struct psr_clean_auto_report){.block = 100,
                                          .window = 1600,
                                          .nsamp = 1600 * (int64_t)nwindow - 7,
                                          .nspark = 5,
                                          .nwindow = nwindow,
                                          .nfiltered = 2,
                                          .masked = s->masked,
                                          .mask = s->mask,
                                          .level = s->level,
                                          .sd = s->sd};
    for (size_t i = 0; i < nwindow; i++)
        for (size_t c = 0; c < nchan; c++) {
            const size_t at = i * nchan + c;
            s->mask[at] = i == 1 || c == 3 || (c < nchan - 1 && tap_between(seed, 0, 2) == 0);
            s->level[at] = (float)tap_between(seed, 1, 250);
            s->sd[at] = (float)tap_between(seed, 1, 30);
        }
    for (size_t c = 0; c < nchan; c++)
        s->masked[c] = tap_between(seed, 0, s->r.nsamp);
}

static bool write_files(const struct scene *s, const char *root)
{
    psr_output_group *g;
    const struct psr_output_group_desc d = {.size = sizeof d, .root = NULL};
    if (psr_output_group_create(&g, &d, &err))
        return false;
    if (!psr_clean_files_write(g, root, "x.fil", &s->obs, &s->r, &err))
        return !psr_output_group_commit(g, &err);
    psr_output_group_abort(g);
    return false;
}

/* Whether channel c, from the lowest, is masked in interval i; level and scatter likewise. */
static size_t place(const struct scene *s, size_t i, size_t c)
{
    const size_t n = s->obs.nchan;
    return i * n + (s->obs.foff_mhz > 0 ? c : n - 1 - c);
}

static int compare_mask(const struct scene *s, const struct psr_mask *m)
{
    const size_t nchan = s->obs.nchan;
    int wrong = m->nchan != nchan || m->nint != s->r.nwindow || m->ptsperint != 1600 ||
                fabs(m->dtint_s - 1.6) > 1e-12 || fabs(m->mjd - 58000.25) > 1e-9 ||
                fabs(m->dfreq_mhz - 2.5) > 1e-12 ||
                fabs(m->lofreq_mhz - psr_obs_lowest_mhz(&s->obs)) > 1e-9 || m->timesigma != 5 ||
                m->freqsigma != 5;
    for (size_t i = 0; i < m->nint && !wrong; i++) {
        bool listed[CHANS] = {false}, all = true;
        for (size_t k = m->first[i]; k < m->first[i + 1]; k++)
            listed[m->chan[k]] = true;
        for (size_t c = 0; c < nchan; c++)
            all = all && s->mask[place(s, i, c)];
        wrong += m->zap_int[i] != all || m->all_chan[i] != all;
        for (size_t c = 0; c < nchan; c++)
            wrong += (all || listed[c]) != s->mask[place(s, i, c)];
    }
    for (size_t c = 0; c < nchan && !wrong; c++) {
        bool throughout = true;
        for (size_t i = 0; i < s->r.nwindow; i++)
            throughout = throughout && s->mask[place(s, i, c)];
        wrong += m->zap_chan[c] != throughout;
    }
    return wrong;
}

static int compare_stats(const struct scene *s, const struct psr_rfi_stats *got)
{
    int wrong = got->nchan != s->obs.nchan || got->nint != s->r.nwindow || got->ptsperint != 1600;
    for (size_t i = 0; i < got->nint && !wrong; i++)
        for (size_t c = 0; c < got->nchan; c++) {
            const size_t k = i * got->nchan + c;
            wrong += got->mean[k] != s->level[place(s, i, c)] ||
                     got->sd[k] != s->sd[place(s, i, c)] || got->power[k] != 1;
        }
    return wrong;
}

static int compare_json(const struct scene *s, const char *path)
{
    char want[200];
    double total = 0;
    size_t bytes;
    char *text = scratch_read(path, &bytes);
    if (!text)
        return 1;
    for (size_t c = 0; c < s->obs.nchan; c++)
        total += (double)s->masked[c] / (double)s->r.nsamp / (double)s->obs.nchan;
    snprintf(want, sizeof want, "\"spectra\": %lld,", (long long)s->r.nsamp);
    const char *fraction = strstr(text, "\"masked_fraction\": ");
    const char *list = strstr(text, "\"masked_fraction_of_channels\": [");
    int wrong = !strstr(text, want) || !strstr(text, "\"spark_spectra\": 5") || !fraction ||
                !list || fabs(atof(fraction + strlen("\"masked_fraction\": ")) - total) > 1e-6;
    list = wrong ? NULL : list + strlen("\"masked_fraction_of_channels\": [");
    for (size_t c = 0; c < s->obs.nchan && list; c++) {
        char *end;
        wrong += fabs(strtod(list, &end) - (double)s->masked[c] / (double)s->r.nsamp) > 1e-6;
        list = end + strspn(end, ", \n");
    }
    free(text);
    return wrong;
}

/* Counts the names. */
static psr_status count_name(void *ctx, const char *name, psr_err *e)
{
    (void)e;
    *(int *)ctx += strstr(name, ".clean.") != NULL;
    return PSR_OK;
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    for (int k = 0; k < 8; k++) {
        static struct scene s;
        struct psr_mask m = {0};
        struct psr_rfi_stats stats = {0};
        char root[PATH_MAX], path[PATH_MAX + 20];
        draw(&s, &seed, k);
        snprintf(root, sizeof root, "%s", scratch("out"));
        ok(write_files(&s, root), "%zu windows of %zu channels are written", s.r.nwindow,
           s.obs.nchan);
        snprintf(path, sizeof path, "%s.clean.mask", root);
        bool fine = !psr_mask_read(&m, path, 0, &err);
        ok(fine && compare_mask(&s, &m) == 0, "the mask: %s", fine ? "read" : err.msg);
        psr_mask_clear(&m);
        snprintf(path, sizeof path, "%s.clean.stats", root);
        fine = !psr_rfi_stats_read(&stats, path, 0, &err);
        ok(fine && compare_stats(&s, &stats) == 0, "the statistics: %s", fine ? "read" : err.msg);
        psr_rfi_stats_clear(&stats);
        snprintf(path, sizeof path, "%s.clean.json", root);
        ok(compare_json(&s, path) == 0, "the summary");
    }
    int names = 0;
    ok(!psr_clean_files_names("x", count_name, &names, &err) && names == 3, "three names");
    return done_testing();
}
