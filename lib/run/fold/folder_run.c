/* Folds the candidates of a folder: passes over the input, searches, results. */
#include "base/base.h"
#include "base/threads/threads.h"
#include "folder.h"
#include "formats/spectra/unpack.h"
#include "run/common/stage_clean.h"

#include "rfi/rules/clean_internal.h"
#include "search/fold/fold_internal.h"

#include <math.h>
#include <string.h>

/* What folds: a series has one channel, and to start a device takes longer than a few candidates. */
static const char *choose_backend(const struct psr_folder *f)
{
    const double least = 3e9; /* samples that a core folds meanwhile */
    const double all = (double)f->ncand * (double)f->in.nsamp * (double)f->in.obs.nchan;
    const bool any = !strcmp(*f->backend, "auto");
    return f->in.is_series || (any && all < least * psr_count_threads((int)f->d.nthread))
               ? "cpu"
               : *f->backend;
}

static struct psr_fold_desc describe_fold(const psr_folder *f, size_t first, size_t n)
{
    const struct psr_obs *obs = &f->in.obs;
    const struct psr_obs_band band = psr_obs_band(obs);
    return (struct psr_fold_desc){
        .size = sizeof(struct psr_fold_desc),
        .nchan = obs->nchan,
        .nbit = psr_fold_input_nbit(&f->in),
        .kind = psr_fold_input_kind(&f->in),
        .ascending = band.rising,
        .lofreq_mhz = band.lowest_mhz,
        .width_mhz = band.spacing_mhz,
        .freq_mhz = band.even ? NULL : obs->freq_mhz,
        .voverc = f->bary.voverc,
        .tsamp_s = obs->tsamp_s,
        .keep = psr_fold_input_channels(&f->in),
        .nsub = f->frame.nsub,
        .block = f->in.block,
        .ahead = f->in.lookahead,
        .npart = f->frame.npart,
        .part_blocks = f->part_blocks,
        .cand = f->cand + first,
        .ncand = n,
        .nthread = (int)f->d.nthread,
        .mem_bytes = f->d.mem_bytes,
        .backend = choose_backend(f),
        .device = *f->device,
        .nblock = f->nblock,
        .last_turn = !f->d.presto && !f->d.whole_turns,
        .in_phase = f->d.whole_turns,
    };
}

static bool is_fitting(const psr_folder *f, size_t first, size_t n)
{
    const struct psr_fold_desc d = describe_fold(f, first, n);
    return psr_fold_bytes(&d) <= (double)psr_count_memory(f->d.mem_bytes) / 2;
}

/* How many candidates from first on fit into half the memory, at least 1; the rest is for blocks. */
static size_t count_fitting(const psr_folder *f, size_t first)
{
    size_t n = 1, beyond = f->ncand - first + 1;
    while (beyond - n > 1) {
        const size_t middle = n + (beyond - n) / 2;
        if (is_fitting(f, first, middle))
            n = middle;
        else
            beyond = middle;
    }
    return n;
}

/* With automatic cleaning, what is left of a file is read too, so that the record of what was removed does
 * not depend on the candidates. */
static bool is_read(const psr_folder *f, const struct psr_fold_shares *folds)
{
    return psr_fold_shares_are_full(folds) &&
           (f->in.kept || !(f->d.clean_auto && psr_fold_reads_all(&f->d)));
}

/* Begins to keep the last spectra once they may come. */
static psr_status keep_last(const psr_folder *f, const struct psr_fold_shares *folds,
                            struct psr_fold_tail *tail, int64_t nread,
                            const struct psr_block *block, psr_err *err)
{
    /* A file was opened at its first sample folded. */
    const bool is_file = f->in.obs.nsamp >= 0 && !f->in.is_series;
    const int64_t all = is_file ? f->in.obs.nsamp : f->in.nsamp - f->in.skip;
    const int64_t beyond = nread + psr_fold_shares_missing(folds) - all;
    if (f->d.presto || beyond <= 0 || nread + (int64_t)block->n + beyond < all)
        return PSR_OK;
    const int nbit = psr_fold_input_nbit(&f->in);
    psr_status st = tail->row ? PSR_OK
                              : psr_fold_tail_init(tail, (size_t)(beyond < all ? beyond : all),
                                                   psr_row_bytes(f->in.obs.nchan, nbit), err);
    if (!st)
        psr_fold_tail_take(tail, block->spectra, block->n);
    return st;
}

static psr_status read_blocks(psr_folder *f, struct psr_fold_shares *folds,
                              struct psr_fold_tail *tail, int64_t *nread, psr_err *err)
{
    psr_status st = PSR_OK;
    double since_s = psr_seconds();
    for (bool end = false; !end && !st && !is_read(f, folds);) {
        struct psr_block block;
        if (f->d.should_stop && f->d.should_stop(f->d.ctx))
            return psr_fail(err, PSR_ESTOPPED, "%s: stopped", f->in.name);
        st = psr_fold_input_next(&f->in, &block, &end, err);
        psr_charge(&f->read_s, &since_s);
        if (!st)
            st = keep_last(f, folds, tail, *nread, &block, err);
        if (!st)
            st = psr_fold_shares_execute(folds, block.spectra, block.n, block.step, block.nstep,
                                         err);
        if (!st)
            psr_fold_kept_take(&f->kept, &block, end, psr_count_threads((int)f->d.nthread));
        psr_charge(&f->fold_s, &since_s);
        if (st)
            break;
        *nread += (int64_t)block.n;
        if (f->d.progress)
            f->d.progress(f->d.ctx, *nread);
    }
    return st;
}

static psr_status read_pass(psr_folder *f, struct psr_fold_shares *folds, psr_err *err)
{
    struct psr_fold_tail tail = {.row = NULL};
    int64_t nread = 0;
    psr_status st = read_blocks(f, folds, &tail, &nread, err);
    double since_s = psr_seconds();
    if (!st && f->in.is_pipe && nread < f->in.nsamp && !psr_fold_shares_are_full(folds))
        st = psr_fail(err, PSR_EFORMAT, "%s: ended after %lld spectra, -length says %lld",
                      f->in.name, (long long)nread, (long long)f->in.nsamp);
    if (!st)
        st = psr_fold_shares_finish(folds, &tail, err);
    psr_fold_tail_clear(&tail);
    psr_charge(&f->fold_s, &since_s);
    return st;
}

/* After the first pass; what a few samples are short of is in the results only. */
static void note_unfolded(const psr_folder *f, const struct psr_fold_shares *folds)
{
    const int64_t folded = psr_fold_shares_count(folds), left = f->wanted - folded;
    if (!f->npass && (double)left > 1e-3 * (double)f->wanted)
        psr_note(&f->d.notes, "%s: the last %lld of %lld samples are not folded (%.1f %%)%s",
                 f->in.name, (long long)left, (long long)f->wanted,
                 100 * (double)left / (double)f->wanted, f->d.presto ? ", as in prepfold" : "");
}

static psr_status write_cleaning(const psr_folder *f, const struct psr_clean_auto_report *report,
                                 psr_err *err)
{
    psr_output_group *group = NULL;
    /* without a lock: other candidates of the same input leave the same record */
    const struct psr_output_group_desc desc = {.size = sizeof desc};
    psr_status st = psr_output_group_create(&group, &desc, err);
    if (!st)
        st = psr_clean_files_write(group, f->d.clean_root, f->in.name, f->in.spectra.obs, report,
                                   err);
    if (!st)
        return psr_output_group_commit(group, err);
    psr_output_group_abort(group);
    return st;
}

/* After a pass; every pass removes the same. */
static psr_status account_cleaning(psr_folder *f, psr_err *err)
{
    if (!f->in.clean)
        return PSR_OK;
    const psr_clean *plan = psr_stage_clean_plan(f->in.clean);
    const psr_clean_auto *automatic = psr_stage_clean_auto(f->in.clean);
    if (plan)
        f->clipped = psr_clean_clipped(plan);
    if (!automatic)
        return PSR_OK;
    struct psr_clean_auto_report report;
    psr_clean_auto_describe(automatic, &report);
    f->clipped = report.nspark;
    return f->npass || !f->d.clean_root ? PSR_OK : write_cleaning(f, &report, err);
}

/* Candidates are divided among devices, but for a processor that takes their place. */
static psr_status create_folds(const psr_folder *f, size_t first, size_t n,
                               struct psr_fold_shares *folds, psr_err *err)
{
    const struct psr_fold_desc d = describe_fold(f, first, n);
    const size_t most = n < f->devices.n ? n : f->devices.n;
    if (strcmp(d.backend, *f->backend) != 0)
        return psr_fold_shares_create(folds, &d, &d.backend, &d.device, 1, err);
    return psr_fold_shares_create(folds, &d, f->backend, f->device, most, err);
}

/* For a pass over the rest, or for another folder. */
static void keep_spectra(psr_folder *f, size_t first, size_t n)
{
    const struct psr_fold_desc d = describe_fold(f, first, n);
    const double taken = psr_fold_bytes(&d) + (double)psr_stage_clean_bytes(f->in.clean);
    if ((f->d.keep_spectra || n < f->ncand) && psr_fold_reads_all(&f->d))
        psr_fold_kept_begin(&f->kept, &f->in, (double)psr_count_memory(f->d.mem_bytes) - taken);
}

static psr_status run_pass(psr_folder *f, size_t first, size_t *n, psr_err *err)
{
    struct psr_fold_shares folds = {.n = 0};
    psr_status st = psr_fold_input_begin(&f->in, &f->d, err);
    if (st)
        return st;
    *n = count_fitting(f, first);
    if (*n < f->ncand && f->in.is_pipe)
        return psr_fail(err, PSR_ENOMEM,
                        "%s: can be read once: -mem must hold all %zu candidates, not %zu",
                        f->in.name, f->ncand, *n);
    if (*n < f->ncand)
        psr_note(&f->d.notes, "pass %zu over the input: candidates %zu to %zu of %zu fit -mem",
                 f->npass + 1, first + 1, first + *n, f->ncand);
    st = create_folds(f, first, *n, &folds, err);
    if (!st && f->in.clean)
        keep_spectra(f, first, *n);
    if (!st)
        st = read_pass(f, &folds, err);
    if (!st && f->kept.complete)
        f->in.kept = &f->kept;
    if (!st)
        st = account_cleaning(f, err);
    if (!st)
        note_unfolded(f, &folds);
    f->npass++;
    psr_fold_input_end(&f->in);
    double since_s = psr_seconds();
    if (!st)
        st = psr_folder_emit(f, &folds, first, *n, err);
    psr_charge(&f->result_s, &since_s);
    psr_fold_shares_destroy(&folds);
    return st;
}

psr_status psr_folder_run(psr_folder *f, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t first = 0, n; first < f->ncand && !st; first += n)
        st = run_pass(f, first, &n, err);
    return st;
}
