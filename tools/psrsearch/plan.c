/* The plan of a search: its names, the clock of its times, the tools' files. */
#include "psrsearch.h"

#include "tools/common/plot/plotfile.h"

#include <math.h>
#include <psrkit/experimental/source.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- names ------------------------------------------------------------------------------------ */

static psr_status make_names(struct psrsearch_plan *p, const struct psrsearch_options *o,
                             psr_err *err)
{
    const char *path = o->input[0], *slash = strrchr(path, '/');
    p->root = strdup(slash ? slash + 1 : path);
    if (!p->root)
        return psr_fail_nomem(err, path, (double)strlen(path));
    char *dot = strrchr(p->root, '.');
    if (dot && dot > p->root)
        *dot = '\0';
    char *dir = o->dir ? psrsearch_join(o->dir, NULL) : psrsearch_join(p->root, "_search", NULL);
    size_t n = dir ? strlen(dir) : 0;
    while (n > 1 && dir[n - 1] == '/')
        dir[--n] = '\0';
    p->dir = dir ? psrsearch_join(dir[0] == '-' ? "./" : "", dir, NULL) : NULL;
    free(dir);
    p->base = p->dir ? psrsearch_join(p->dir, "/", p->root, NULL) : NULL;
    p->aside = p->dir ? psrsearch_join(p->dir, "/" FOLDER_STEPS, p->root, NULL) : NULL;
    return p->base && p->aside ? PSR_OK : psr_fail_nomem(err, path, (double)strlen(path));
}

/* --- the clock -------------------------------------------------------------------------------- */

/* Whether gpudedisp will barycentre: gpufold must do the same. */
static bool is_barycentred(const struct psr_obs *obs, const struct psrsearch_options *o)
{
    const int64_t first_day = 36934, end_day = 88069; /* of the Earth's orbit: 1960, 2100 */
    return !o->nobary && (obs->has_position || o->position) && obs->tstart.day >= first_day &&
           obs->tstart.day < end_day;
}

/* Trials beyond the DM that sweeps over half of the observation would lose more than they find.
 * Status: PSR_EUNSUPPORTED where nothing is left */
static psr_status limit_dm(struct psrsearch_plan *p, const struct psr_obs *obs,
                           const struct psrsearch_options *o, const struct cli *tool, psr_err *err)
{
    const double lo = psr_obs_lowest_mhz(obs), hi = psr_obs_highest_mhz(obs);
    const double sweep_s = (1 / (lo * lo) - 1 / (hi * hi)) / 2.41e-4; /* of DM 1 */
    const double length_s = (double)obs->nsamp * obs->tsamp_s, most = length_s / 2 / sweep_s;
    p->hidm = o->hidm;
    if (o->plan || obs->nsamp < 0 || !(sweep_s > 0) || most >= o->hidm)
        return PSR_OK;
    const double unit = pow(10, floor(log10(most)) - 2);
    p->hidm = floor(most / unit) * unit;
    if (!(p->hidm > o->lodm))
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: is %g s long, and DM %g sweeps over more than half of it: nothing to "
                        "search from -lodm %g on",
                        o->input[0], length_s, p->hidm, o->lodm);
    if (!o->quiet)
        psr_note(&(struct psr_notes){cli_note, (void *)(uintptr_t)tool},
                 "%s: is %g s long: DMs are searched up to %g, which sweeps over half of it, "
                 "not to %g",
                 o->input[0], length_s, p->hidm, o->hidm);
    return PSR_OK;
}

/* Shorter observations have few turns of what a Fourier search misses. */
static bool searches_slow(const struct psr_obs *obs, const struct psrsearch_options *o)
{
    const double least_s = 120, most_tsamp_s = 0.01;
    if (strcmp(o->ffa, "auto") != 0)
        return strcmp(o->ffa, "none") != 0;
    return o->budget_ffa && obs->tsamp_s <= most_tsamp_s &&
           (double)obs->nsamp * obs->tsamp_s >= least_s;
}

static psr_status read_header(struct psrsearch_plan *p, const struct psrsearch_options *o,
                              const struct cli *tool, psr_err *err)
{
    psr_source *source;
    struct psr_source_desc desc = {
        .size = sizeof desc,
        .path = (const char *const *)o->input,
        .npath = o->ninput,
        .input = o->filterbank ? PSR_INPUT_SIGPROC
                 : o->psrfits  ? PSR_INPUT_PSRFITS
                               : PSR_INPUT_AUTO,
        .if_choice = (int)o->if_choice,
        .pols = cli_parse_state(tool, o->state),
    };
    psr_status st = psr_source_open(&source, &desc, err);
    if (st)
        return st;
    const struct psr_obs *obs = psr_source_obs(source);
    p->topo = !obs->barycentric && !is_barycentred(obs, o);
    if (p->topo && !o->nobary && !o->quiet)
        psr_note(&(struct psr_notes){cli_note, (void *)(uintptr_t)tool},
                 "%s: the header has no position or date: times are topocentric", o->input[0]);
    /* The mask's tool leaves out an interval that the data do not fill: of short observations all, or half. */
    const double most_s = 120, least_s = 0.5, share = 16;
    const double length_s = (double)obs->nsamp * obs->tsamp_s;
    p->mask_s = obs->nsamp > 0 && length_s < most_s ? fmax(length_s / share, least_s) : 0;
    p->slow = searches_slow(obs, o);
    st = limit_dm(p, obs, o, tool, err);
    psr_source_close(source);
    return st;
}

/* --- inputs ----------------------------------------------------------------------------------- */

/* Several steps read a file: so it is one, and not a pipe. */
static psr_status check_readable(const char *path, psr_err *err)
{
    struct stat is;
    if (stat(path, &is) != 0 || access(path, R_OK) != 0)
        return psr_fail_errno(err, "%s", path);
    return S_ISREG(is.st_mode) ? PSR_OK : psr_fail(err, PSR_EIO, "%s: is not a regular file", path);
}

/* --- programs --------------------------------------------------------------------------------- */

/* Returned: the folder of this program, malloc'd, with its slash; NULL where it is not known */
static char *find_own_folder(void)
{
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0 || n == sizeof path - 1)
        return NULL;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash)
        return NULL;
    slash[1] = '\0';
    return strdup(path);
}

/* Beside this program, or else in PATH. */
static psr_status find_programs(struct psrsearch_plan *p, psr_err *err)
{
    char *folder = find_own_folder();
    psr_status st = PSR_OK;
    for (int k = 0; k < PSRSEARCH_NSTEP && !st; k++) {
        struct psrsearch_step *step = &p->step[k];
        const char *name = step->command.name[0];
        step->program = folder ? psrsearch_join(folder, name, NULL) : strdup(name);
        if (step->program && folder && access(step->program, X_OK) != 0) {
            free(step->program);
            step->program = strdup(name);
        }
        if (!step->program)
            st = psr_fail_nomem(err, name, 256);
    }
    free(folder);
    return st;
}

/* --- all -------------------------------------------------------------------------------------- */

psr_status psrsearch_plan_make(struct psrsearch_plan *p, const struct psrsearch_options *o,
                               const struct cli *tool, psr_err *err)
{
    *p = (struct psrsearch_plan){.root = NULL};
    psr_status st = make_names(p, o, err);
    if (!st) {
        /* What would otherwise be missed hours later. */
        const char *const more[] = {o->catalogue, o->par, o->zaplist};
        st = PSR_OK;
        for (size_t i = 0; i < o->ninput && !st; i++)
            st = check_readable(o->input[i], err);
        for (size_t i = 0; i < sizeof more / sizeof *more && !st; i++)
            if (more[i])
                st = check_readable(more[i], err);
    }
    if (!st)
        st = read_header(p, o, tool, err);
    if (!st)
        st = psrsearch_commands_make(p, o, err);
    return st ? st : find_programs(p, err);
}

void psrsearch_plan_clear(struct psrsearch_plan *p)
{
    for (int k = 0; k < PSRSEARCH_NSTEP; k++) {
        psr_names_clear(&p->step[k].command);
        free(p->step[k].program);
    }
    free(p->root);
    free(p->base);
    free(p->aside);
    free(p->dir);
    *p = (struct psrsearch_plan){.root = NULL};
}
