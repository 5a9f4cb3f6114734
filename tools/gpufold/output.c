/* The files of gpufold: their names, and writing them. */
#include "base/portable.h"
#include "base/tool.h"
#include "gpufold.h"

#include <fcntl.h>
#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/sift.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static const char pfd_suffix[] = ".pfd", bestprof_suffix[] = ".pfd.bestprof",
                  png_suffix[] = ".pfd.png", record_suffix[] = ".folded";

static char *join(const char *a, const char *b, const char *c, const char *d)
{
    const size_t n = strlen(a) + strlen(b) + strlen(c) + strlen(d) + 1;
    char *text = malloc(n);
    if (text)
        snprintf(text, n, "%s%s%s%s", a, b, c, d);
    return text;
}

static psr_status find_root(const struct gpufold_options *o, char **root, psr_err *err)
{
    const char *path = o->run.path[0], *slash = strrchr(path, '/');
    char part[64] = "";
    *root = strdup(o->root ? o->root : path);
    if (!*root)
        return psr_fail_nomem(err, path, (double)strlen(path));
    if (o->root)
        return PSR_OK;
    const char *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    if (dot && dot > base)
        (*root)[dot - path] = '\0';
    if (o->run.start != 0 || o->run.end != 1)
        snprintf(part, sizeof part, "_%4.2f-%4.2f", o->run.start, o->run.end);
    char *whole = join(*root, part, "", "");
    free(*root);
    *root = whole;
    return whole ? PSR_OK : psr_fail_nomem(err, path, (double)strlen(path));
}

/* Not of a search's record, which gpudedisp writes beside it. */
psr_status gpufold_roots_find(struct gpufold_roots *roots, const struct gpufold_options *o,
                              psr_err *err)
{
    psr_status st = find_root(o, &roots->cand, err);
    if (st)
        return st;
    roots->clean = join(roots->cand, "_fold", "", "");
    return roots->clean ? PSR_OK : psr_fail_nomem(err, "names", 64);
}

void gpufold_roots_clear(struct gpufold_roots *roots)
{
    free(roots->cand);
    free(roots->clean);
}

static psr_status check_name(void *ctx, const char *name, psr_err *err)
{
    return psr_overwrite_check_output(ctx, name, NULL, err);
}

/* A folder that is missing or read-only is told before the input is read, not after.  A pipe is opened once: its reader
 * would see an end. */
static psr_status try_folder(const char *root, const struct psr_candlist *list, psr_err *err)
{
    psr_outfile *f = NULL;
    struct stat is;
    char *path = join(root, "_", list->cand[0].name, pfd_suffix);
    const bool pipe = path && stat(path, &is) == 0 && S_ISFIFO(is.st_mode);
    psr_status st = !path  ? psr_fail_nomem(err, "names", 64)
                    : pipe ? PSR_OK
                           : psr_outfile_create(&f, path, err);
    psr_outfile_abort(f);
    free(path);
    return st;
}

psr_status gpufold_check_names(const struct gpufold_options *o, const struct gpufold_roots *roots,
                               struct psr_candlist *list, psr_err *err)
{
    struct psr_overwrite_check check = {0};
    const char *const more[] = {o->run.mask, o->run.ignorechan, o->accelfile, o->candfile,
                                o->parfile};
    psr_status st = PSR_OK;
    for (size_t i = 0; i < o->run.npath && !st; i++)
        st = psr_overwrite_check_input(&check, o->run.path[i], err);
    for (size_t i = 0; i < sizeof more / sizeof *more && !st; i++)
        st = psr_overwrite_check_input(&check, more[i], err);
    for (size_t i = 0; i < list->n && !st; i++) {
        const char *root = roots->cand;
        struct psr_folder_candidate *c = &list->cand[i];
        const char *const suffix[] = {pfd_suffix, bestprof_suffix, png_suffix};
        st = PSR_OK;
        for (size_t j = 0; j < sizeof suffix / sizeof *suffix && !st; j++) {
            char *path = join(root, "_", c->name, suffix[j]);
            if (!path)
                st = psr_fail_nomem(err, "names", 64);
            else if (suffix[j] == png_suffix)
                st = psr_overwrite_check_optional(&check, path, err);
            else
                st = psr_overwrite_check_output(&check, path, NULL, err);
            free(path);
        }
        c->plot_device = join(root, "_", c->name, ".pfd.ps/CPS");
        st = st || c->plot_device ? st : psr_fail_nomem(err, "names", 64);
    }
    if (!st && o->resume) {
        char *path = join(roots->cand, record_suffix, "", "");
        st = path ? psr_overwrite_check_output(&check, path, NULL, err)
                  : psr_fail_nomem(err, "names", 64);
        free(path);
    }
    if (!st && o->json)
        st = psr_overwrite_check_output(&check, "-", NULL, err);
    if (!st && o->run.clean_auto)
        st = psr_folder_clean_names(roots->clean, check_name, &check, err);
    psr_overwrite_check_clear(&check);
    return st ? st : try_folder(roots->cand, list, err);
}

static bool is_newer(const char *root, const char *name, const char *suffix, struct timespec than)
{
    struct stat status;
    char *path = join(root, "_", name, suffix);
    const bool found = path && stat(path, &status) == 0 && S_ISREG(status.st_mode);
    free(path);
    return found &&
           (status.st_mtim.tv_sec > than.tv_sec ||
            (status.st_mtim.tv_sec == than.tv_sec && status.st_mtim.tv_nsec > than.tv_nsec));
}

/* The .pfd is the last of them to be written. */
bool gpufold_exists(const char *root, const char *name, uint64_t digest, struct timespec changed,
                    bool picture)
{
    struct psr_pfd pfd;
    psr_err err;
    if (!is_newer(root, name, pfd_suffix, changed) ||
        !is_newer(root, name, bestprof_suffix, changed) ||
        (picture && !is_newer(root, name, png_suffix, changed)))
        return false;
    char *path = join(root, "_", name, pfd_suffix);
    const bool same = path && !psr_pfd_read(&pfd, path, 0, &err) && pfd.digest == digest;
    if (path)
        psr_pfd_clear(&pfd);
    free(path);
    return same;
}

static psr_status begin_file(psr_outfile **f, const char *root, const char *name,
                             const char *suffix, psr_err *err)
{
    char *path = join(root, "_", name, suffix);
    psr_status st = path ? psr_outfile_create(f, path, err) : psr_fail_nomem(err, "a name", 64);
    free(path);
    return st;
}

/* A picture that cannot be drawn ends no fold; that of another fold must not stay beside it.
 * Returned: NULL if it is left out */
static psr_outfile *begin_picture(const char *root, const struct psr_folder_fold *fold,
                                  const struct cli *tool)
{
    psr_outfile *f = NULL;
    psr_err why;
    psr_status st = begin_file(&f, root, fold->pfd->candidate, png_suffix, &why);
    if (!st)
        st = gpufold_draw(f, fold, &why);
    if (!st)
        st = psr_outfile_park(f, &why);
    if (!st)
        return f;
    psr_outfile_abort(f);
    cli_note_left_out(tool, &why);
    struct stat is;
    char *path = join(root, "_", fold->pfd->candidate, png_suffix);
    if (path && lstat(path, &is) == 0 && S_ISREG(is.st_mode))
        unlink(path);
    free(path);
    return NULL;
}

/* All are written before one gets its name, so that a full disk leaves none; the .pfd gets it last. */
psr_status gpufold_write(const char *root, const struct psr_folder_fold *fold,
                         const struct cli *tool, psr_err *err)
{
    enum { BEST, PICTURE, PFD, NFILE };
    psr_outfile *f[NFILE] = {NULL};
    const char *name = fold->pfd->candidate;
    psr_status st = begin_file(&f[BEST], root, name, bestprof_suffix, err);
    if (!st)
        st = psr_bestprof_write(f[BEST], fold->best, err);
    if (!st)
        st = begin_file(&f[PFD], root, name, pfd_suffix, err);
    if (!st)
        st = psr_pfd_write(f[PFD], fold->pfd, err);
    if (!st && fold->view)
        f[PICTURE] = begin_picture(root, fold, tool);
    for (size_t i = 0; i < NFILE; i++) {
        if (f[i] && st)
            psr_outfile_abort(f[i]);
        else if (f[i])
            st = psr_outfile_commit(f[i], err);
    }
    return st;
}

/* --- the record of a run ---------------------------------------------------------------------- */

struct gpufold_kept {
    uint64_t kind; /* of this build */
    uint64_t digest;
    struct gpufold_numbers numbers;
};

static const uint64_t kept_kind = UINT64_C(0x6465646c6f660000) + sizeof(struct gpufold_kept);

/* Reads all folds, and cuts off what a killed run has written of one. */
static psr_status read_record(struct gpufold_record *r, psr_err *err)
{
    const size_t size = sizeof *r->kept;
    for (;; r->n++) {
        psr_status st = psr_grow(&r->kept, &r->room, r->n, size, "a record", err);
        if (st)
            return st;
        struct gpufold_kept *k = &r->kept[r->n];
        if (pread(r->fd, k, size, (off_t)(r->n * size)) != (ssize_t)size || k->kind != kept_kind)
            break;
    }
    if (ftruncate(r->fd, (off_t)(r->n * size)) != 0)
        gpufold_record_close(r, true);
    return PSR_OK;
}

psr_status gpufold_record_open(struct gpufold_record *r, const char *root, psr_err *err)
{
    *r = (struct gpufold_record){.path = join(root, record_suffix, "", ""), .fd = -1};
    if (!r->path)
        return psr_fail_nomem(err, "names", 64);
    r->fd = open(r->path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (r->fd >= 0 && flock(r->fd, LOCK_EX | LOCK_NB) == 0)
        return read_record(r, err);
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    return PSR_OK;
}

bool gpufold_record_find(const struct gpufold_record *r, struct gpufold_numbers *numbers,
                         const char *name, uint64_t digest)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->kept[i].digest == digest && !strcmp(r->kept[i].numbers.best.candidate, name)) {
            *numbers = r->kept[i].numbers;
            return true;
        }
    return false;
}

/* By one call of the system; what is not whole is cut off by the next run, with all that follows. */
void gpufold_record_add(struct gpufold_record *r, const struct gpufold_numbers *numbers,
                        uint64_t digest)
{
    struct gpufold_kept k = {.kind = kept_kind, .digest = digest};
    k.numbers = *numbers;
    if (r->fd >= 0 && write(r->fd, &k, sizeof k) < 0)
        return;
}

void gpufold_record_close(struct gpufold_record *r, bool keep)
{
    if (r->fd >= 0 && (!keep || lseek(r->fd, 0, SEEK_END) <= 0))
        unlink(r->path);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    free(r->kept);
    *r = (struct gpufold_record){.fd = -1};
}

/* A fold's numbers as a line of JSON. */

/* With more digits than others have: periods are known to that many. */
static void print_precisely(struct psr_json *j, const char *name, double value)
{
    char digits[32];
    const int n = snprintf(digits, sizeof digits, isfinite(value) ? "%.15g" : "null", value);
    psr_json_digits(j, name, digits, (size_t)n);
}

/* Of the period that is told. */
static void print_spin(struct psr_json *j, const char *clock,
                       const struct psr_bestprof_value value[3], double ratio)
{
    static const char *const name[3] = {"p_s", "pd", "pdd"};
    char key[32];
    for (int k = 0; k < 3; k++) {
        const double unit = (k ? 1 : 1e-3) * ratio;
        snprintf(key, sizeof key, "%s_%s", name[k], clock);
        print_precisely(j, key, value[k].value * unit);
        snprintf(key, sizeof key, "%s_%s_error", name[k], clock);
        psr_json_double(j, key, isnan(value[k].value) ? NAN : value[k].error * unit);
    }
}

psr_status gpufold_numbers_take(struct gpufold_numbers *n, const struct psr_folder_fold *fold,
                                psr_err *err)
{
    *n = (struct gpufold_numbers){.is_folded = true,
                                  .best = *fold->best,
                                  .ntrial = fold->found->ntrial,
                                  .nsamp = fold->nsamp,
                                  .moved_bins = fold->moved_bins,
                                  .ratio = {1, 1}};
    n->best.profile = NULL;
    psr_status st = psr_fold_is_narrow(&n->narrow, fold->pfd, err);
    return st ? st : psr_cand_measure(&n->score, fold->pfd, err);
}

psr_status gpufold_make_json(char **line, const struct gpufold_numbers *numbers, psr_err *err)
{
    size_t n = 0;
    *line = NULL;
    FILE *to = open_memstream(line, &n);
    if (to) {
        const struct psr_bestprof *best = &numbers->best;
        const double ratio = (double)numbers->ratio.over / numbers->ratio.under;
        struct psr_json j = {.put = cli_put_json, .ctx = to};
        psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
        psr_json_string(&j, "candidate", best->candidate);
        psr_json_string(&j, "input", best->input);
        psr_json_int(&j, "nbin", (int64_t)best->nbin);
        psr_json_double(&j, "redchi", best->redchi);
        psr_json_double(&j, "sigma", best->sigma);
        psr_json_double(&j, "sigma_trials", best->sigma_trials);
        psr_json_double(&j, "dm", best->dm);
        print_spin(&j, "topo", best->topo, ratio);
        print_spin(&j, "bary", best->bary, ratio);
        psr_json_double(&j, "p_ratio", ratio);
        psr_json_double(&j, "moved_bins", numbers->moved_bins);
        print_precisely(&j, "epoch_topo_mjd", best->tepoch_mjd);
        print_precisely(&j, "epoch_bary_mjd", best->bepoch_mjd);
        psr_json_int(&j, "trials", numbers->ntrial);
        psr_json_double(&j, "independent_trials", round(best->ntrial));
        psr_json_int(&j, "samples", numbers->nsamp);
        psr_json_int(&j, "samples_folded", (int64_t)best->ndata);
        psr_json_string(&j, "marks", numbers->narrow ? "narrow" : "-");
        const struct psr_cand_score *score = &numbers->score;
        for (int k = 0; k < PSR_CAND_NNUMBER; k++)
            psr_json_double(&j, psr_cand_number_name((enum psr_cand_number)k), score->number[k]);
        psr_json_double(&j, "probability", score->probability);
        psr_json_string(&j, "reasons", score->reasons);
        psr_json_end(&j, PSR_JSON_OBJECT);
        fputc('\n', to);
        if (fclose(to) == 0 && *line)
            return PSR_OK;
    }
    return psr_fail_nomem(err, "a line of JSON", 4096);
}
