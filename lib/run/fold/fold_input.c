/* Reads what a folder folds: spectra through the cleaning stage, or a .dat or .tim file. */
#include "folder.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "base/portable.h"
#include "search/dedisp/dedisp_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* What prepfold reads at once. */
enum { FILTERBANK_BLOCK = 2400, SERIES_BLOCK = 1024 };

/* What is read and cleaned at once, so that blocks can be cleaned in parallel. */
enum { READ_BLOCK = 4 * PSR_CLEAN_BLOCK };

static bool ends_with(const char *name, const char *suffix)
{
    const size_t n = strlen(name), m = strlen(suffix);
    return n > m && !strcmp(name + n - m, suffix);
}

/* Series and sub-bands have none. */
static psr_status check_channels(const struct psr_fold_input *in, const struct psr_folder_desc *d,
                                 psr_err *err)
{
    if (d->mask || d->ignorechan || d->zerodm || d->clean_auto)
        return psr_fail(
            err, PSR_EUNSUPPORTED,
            "%s: -mask, -ignorechan, -zerodm and -clean auto are of channels, not of %s", in->name,
            in->is_series ? "series" : "sub-bands");
    return PSR_OK;
}

/* --- length --------------------------------------------------------------------------------------- */

/* The length sets the parts and the trials; a pipe must be told it. */
static psr_status set_length(struct psr_fold_input *in, const struct psr_folder_desc *d,
                             psr_err *err)
{
    const double nsamp = floor(d->length_s / in->obs.tsamp_s + 0.5);
    if (d->length_s > 0 && !(nsamp >= 1 && nsamp < 0x1p53))
        return psr_fail_field(err, PSR_EINVAL, "length_s",
                              "%s: -length %g s: must be a sample or more", in->name, d->length_s);
    if (d->length_s > 0 && (in->nsamp < 0 || nsamp < (double)in->nsamp))
        in->nsamp = (int64_t)nsamp;
    if (in->nsamp < 0)
        return psr_fail(err, PSR_EUNSUPPORTED, "%s: its length is not known: -length is needed",
                        in->name);
    if (in->is_pipe && d->start > 0)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "start", "%s: -start needs a file", in->name);
    return PSR_OK;
}

/* --- series ----------------------------------------------------------------------------------- */

/* By the .inf beside it, or the header of a .tim. */
static psr_status describe_series(struct psr_fold_input *in, psr_err *err)
{
    struct psr_tim *tim = &in->tim;
    if (psr_tim_is_name(in->name)) {
        psr_status st = psr_tim_describe(tim, in->name, err);
        in->inf = tim->inf;
        return st;
    }
    *tim = (struct psr_tim){.nbit = 32, .kind = PSR_FLOAT};
    char *inf = psr_path_beside(in->name, ".inf");
    psr_status st = inf ? psr_inf_read(&in->inf, inf, err)
                        : psr_fail_nomem(err, in->name, (double)strlen(in->name));
    free(inf);
    return st;
}

static psr_status open_series(struct psr_fold_input *in, const struct psr_folder_desc *d,
                              psr_err *err)
{
    struct stat status;
    psr_status st = check_channels(in, d, err);
    if (st)
        return st;
    st = describe_series(in, err);
    if (st)
        return st;
    in->file = fopen(in->name, "re");
    if (!in->file || fstat(fileno(in->file), &status) != 0)
        return psr_fail_errno(err, "%s", in->name);
    if (!S_ISREG(status.st_mode))
        return psr_fail(err, PSR_EFORMAT, "%s: not a regular file", in->name);
    psr_inf_to_obs(&in->inf, &in->made);
    in->obs = in->made;
    in->obs.nchan = 1;
    in->obs.nbit = 32;
    in->obs.kind = PSR_FLOAT;
    in->nsamp = (status.st_size - in->tim.data_at) / (in->tim.nbit / 8);
    in->block = SERIES_BLOCK;
    in->lookahead = 0;
    in->values = malloc(SERIES_BLOCK * sizeof *in->values);
    return in->values ? set_length(in, d, err)
                      : psr_fail_nomem(err, "a series", (double)SERIES_BLOCK * sizeof *in->values);
}

static psr_status begin_series(struct psr_fold_input *in, psr_err *err)
{
    if (fseeko(in->file, (off_t)(in->tim.data_at + in->skip * (in->tim.nbit / 8)), SEEK_SET) != 0)
        return psr_fail_errno(err, "%s", in->name);
    return PSR_OK;
}

static psr_status next_samples(struct psr_fold_input *in, struct psr_block *block, bool *end,
                               psr_err *err)
{
    *block = (struct psr_block){.spectra = in->values};
    const size_t size = (size_t)in->tim.nbit / 8;
    block->n = fread((char *)in->values + SERIES_BLOCK * (sizeof *in->values - size), size,
                     SERIES_BLOCK, in->file);
    *end = block->n < SERIES_BLOCK;
    if (ferror(in->file))
        return psr_fail_errno(err, "%s", in->name);
    psr_tim_widen(in->values, SERIES_BLOCK, block->n, in->tim.nbit, in->tim.kind);
    for (size_t t = 0; t < block->n; t++)
        if (!isfinite(in->values[t]))
            return psr_fail(err, PSR_EFORMAT, "%s: a sample is no number", in->name);
    return PSR_OK;
}

/* --- spectra ---------------------------------------------------------------------------------- */

static psr_status open_source(struct psr_fold_input *in, const struct psr_folder_desc *d,
                              const struct psr_notes *notes, psr_err *err)
{
    psr_input_close(&in->spectra);
    psr_status st =
        psr_input_open(&in->spectra,
                       &(struct psr_input_desc){.source = {.size = sizeof(struct psr_source_desc),
                                                           .path = d->path,
                                                           .npath = d->npath,
                                                           .input = d->input,
                                                           .if_choice = (int)d->if_choice,
                                                           .invert = d->invert,
                                                           .no_weights = d->no_weights,
                                                           .no_scales = d->no_scales,
                                                           .no_offsets = d->no_offsets,
                                                           .skip = in->skip,
                                                           .nthread = (int)d->nthread,
                                                           .pols = d->pols,
                                                           .notes = *notes}},
                       err);
    if (!st)
        in->obs = *in->spectra.obs;
    return st;
}

static psr_status open_spectra(struct psr_fold_input *in, const struct psr_folder_desc *d,
                               psr_err *err)
{
    psr_status st = open_source(in, d, &d->notes, err);
    if (st)
        return st;
    in->name = in->spectra.name;
    in->block = in->obs.block_nsamp > 0 ? (size_t)in->obs.block_nsamp : FILTERBANK_BLOCK;
    in->lookahead = in->spectra.inf ? 0 : 1;
    in->is_pipe = in->obs.nsamp < 0 || !psr_is_regular(d->path[0]);
    in->nsamp = in->obs.nsamp;
    st = in->spectra.inf ? check_channels(in, d, err) : PSR_OK;
    return st ? st : set_length(in, d, err);
}

/* Whole blocks of cleaning: so no block brings one more with it. */
static size_t count_read(const psr_stage_clean *clean)
{
    const size_t block = psr_stage_clean_block(clean);
    return block ? (READ_BLOCK + block - 1) / block * block : READ_BLOCK;
}

/* Half of the memory is for cubes. */
static psr_status check_memory(const struct psr_fold_input *in, const struct psr_folder_desc *d,
                               size_t nsamp, psr_err *err)
{
    const double row = (double)(in->spectra.row_bytes + psr_stage_clean_row_bytes(in->clean));
    const double need = (double)psr_stage_clean_bytes(in->clean) + (double)nsamp * row;
    const double have = (double)psr_count_memory(d->mem_bytes) / 2;
    char needed[PSR_SIZE_TEXT], half[PSR_SIZE_TEXT];
    if (!d->clean_auto || need <= have)
        return PSR_OK;
    return psr_fail(
        err, PSR_ENOMEM,
        "-mem: cleaning takes %s with %zu spectra of %zu channels, half the limit is %s",
        psr_size_text(needed, need), nsamp, in->obs.nchan, psr_size_text(half, have));
}

/* A device that is not asked for takes longer to start than the CPU to clean fewer bytes. */
static const char *choose_cleaner(const struct psr_folder_desc *d, const struct psr_obs *obs,
                                  int *device)
{
    const double worth_bytes = 0x1p28;
    const char *name;
    *device = 0;
    if (!d->clean_auto || psr_device_choose(d->device, &name, device, NULL))
        return NULL;
    if (!strcmp(name, "auto") &&
        (double)obs->nsamp * (double)obs->nchan * obs->nbit / 8 < worth_bytes)
        return NULL;
    return psr_dedisp_backend(name);
}

static psr_status begin_spectra(struct psr_fold_input *in, const struct psr_folder_desc *d,
                                psr_err *err)
{
    const struct psr_notes silent = {0};
    const struct psr_obs was = in->obs; /* with the position that was given */
    psr_status st = in->is_pipe ? PSR_OK : open_source(in, d, &silent, err);
    in->obs.has_position = was.has_position;
    in->obs.ra_deg = was.ra_deg;
    in->obs.dec_deg = was.dec_deg;
    int device = 0;
    const char *backend = st ? NULL : choose_cleaner(d, in->spectra.obs, &device);
    if (!st)
        st = psr_stage_clean_create(
            &in->clean,
            &(struct psr_stage_clean_desc){
                .input = in->name,
                .obs = in->spectra.obs,
                .ignorechan = d->ignorechan,
                .mask = d->mask,
                .clip_sigma = d->noclip || in->spectra.inf ? 0 : d->clip_sigma,
                .zerodm = d->zerodm,
                .floats = in->spectra.obs->nbit > 8, /* psr_fold_execute takes steps of fewer */
                .automatic = d->clean_auto,
                .backend = backend,
                .device = device,
                .nthread = (int)d->nthread,
                .mem_bytes = d->mem_bytes,
            },
            err);
    const size_t nsamp = st ? 0 : count_read(in->clean);
    if (!st)
        st = check_memory(in, d, nsamp, err);
    if (!st)
        st = psr_stage_clean_reserve(in->clean, nsamp, err);
    if (st)
        return st;
    /* not beyond the last block that is folded, which the record of what was removed would show */
    in->overlaps = psr_stage_clean_on_device(in->clean) && !in->is_pipe && psr_fold_reads_all(d);
    return psr_read_ahead_create(
        &in->ahead,
        &(struct psr_read_ahead_desc){.source = in->spectra.source,
                                      .row_bytes = in->spectra.row_bytes,
                                      .nsamp = nsamp,
                                      .for_device = psr_stage_clean_on_device(in->clean)},
        err);
}

/* --- both ------------------------------------------------------------------------------------- */

psr_status psr_fold_input_open(struct psr_fold_input *in, const struct psr_folder_desc *desc,
                               psr_err *err)
{
    in->name = desc->path[0];
    in->is_series = desc->npath == 1 && (ends_with(in->name, ".dat") || psr_tim_is_name(in->name));
    psr_obs_init(&in->made);
    return in->is_series ? open_series(in, desc, err) : open_spectra(in, desc, err);
}

void psr_fold_input_end(struct psr_fold_input *in)
{
    psr_async_task_end(&in->task);
    in->is_coming = in->overlaps = false;
    psr_read_ahead_destroy(in->ahead);
    psr_stage_clean_destroy(in->clean);
    in->ahead = NULL;
    in->clean = NULL;
}

psr_status psr_fold_input_begin(struct psr_fold_input *in, const struct psr_folder_desc *desc,
                                psr_err *err)
{
    psr_fold_input_end(in);
    in->nkept = 0;
    if (in->kept)
        return PSR_OK;
    return in->is_series ? begin_series(in, err) : begin_spectra(in, desc, err);
}

static psr_status next_spectra(struct psr_fold_input *in, struct psr_block *block, bool *end,
                               psr_err *err)
{
    psr_status st = psr_read_ahead_next(in->ahead, block, err);
    *end = block->n == 0;
    return st ? st : psr_stage_clean_run(in->clean, block, err);
}

static psr_status make_coming(void *ctx, psr_err *err)
{
    struct psr_fold_input *in = ctx;
    return next_spectra(in, &in->coming, &in->coming_ends, err);
}

static psr_status next_kept(struct psr_fold_input *in, struct psr_block *block, bool *end)
{
    const struct psr_fold_kept *k = in->kept;
    const size_t left = k->n - in->nkept, n = left < READ_BLOCK ? left : READ_BLOCK;
    *block = (struct psr_block){
        .spectra = k->row + in->nkept * k->row_bytes, .n = n, .first = (int64_t)in->nkept};
    in->nkept += n;
    *end = in->nkept == k->n;
    return PSR_OK;
}

psr_status psr_fold_input_next(struct psr_fold_input *in, struct psr_block *block, bool *end,
                               psr_err *err)
{
    if (in->is_series)
        return next_samples(in, block, end, err);
    if (in->kept)
        return next_kept(in, block, end);
    if (!in->overlaps)
        return next_spectra(in, block, end, err);
    if (!in->is_coming)
        psr_async_task_start(&in->task, make_coming, in);
    psr_status st = psr_async_task_wait(&in->task, err);
    *block = in->coming;
    *end = in->coming_ends;
    in->is_coming = !st && !*end;
    if (in->is_coming)
        psr_async_task_start(&in->task, make_coming, in);
    return st;
}

enum psr_kind psr_fold_input_kind(const struct psr_fold_input *in)
{
    return in->kept ? PSR_UINT : in->clean ? psr_stage_clean_kind(in->clean) : in->obs.kind;
}

int psr_fold_input_nbit(const struct psr_fold_input *in)
{
    return in->kept ? 8 : in->clean ? psr_stage_clean_nbit(in->clean) : in->obs.nbit;
}

const unsigned char *psr_fold_input_channels(const struct psr_fold_input *in)
{
    return in->kept ? in->kept->channels : in->clean ? psr_stage_clean_keep(in->clean) : NULL;
}

void psr_fold_input_close(struct psr_fold_input *in)
{
    psr_fold_input_end(in);
    psr_input_close(&in->spectra);
    psr_obs_clear(&in->made);
    if (in->file)
        fclose(in->file);
    free(in->values);
    memset(in, 0, sizeof *in);
}

/* --- what is kept for another pass ------------------------------------------------------------ */

bool psr_fold_reads_all(const struct psr_folder_desc *d)
{
    return d->end == 1 && d->length_s == 0;
}

enum { HUGE_PAGE = 2 << 20 };

void psr_fold_kept_begin(struct psr_fold_kept *k, const struct psr_fold_input *in,
                         double room_bytes)
{
    const size_t nchan = in->obs.nchan;
    psr_fold_kept_clear(k);
    if (in->nsamp <= in->skip || !in->clean || !psr_stage_clean_auto(in->clean) ||
        (double)(in->nsamp - in->skip) * (double)nchan > room_bytes)
        return;
    *k = (struct psr_fold_kept){
        .row_bytes = nchan, .room = (size_t)(in->nsamp - in->skip), .skip = in->skip};
    const size_t whole = (k->room * nchan / HUGE_PAGE + 1) * HUGE_PAGE;
    k->channels = malloc(nchan);
    k->row = aligned_alloc(HUGE_PAGE, whole);
    if (!k->row || !k->channels) {
        psr_fold_kept_clear(k);
        return;
    }
    (void)madvise(k->row, whole, MADV_HUGEPAGE);
    memcpy(k->channels, psr_stage_clean_keep(in->clean), nchan);
}

/* Pages are touched here for the first time, at which one thread is slower than many. */
void psr_fold_kept_take(struct psr_fold_kept *k, const struct psr_block *block, bool end,
                        int nthread)
{
    enum { ROWS = 512 };
    unsigned char *to = k->row + k->n * k->row_bytes;
    const unsigned char *from = block->spectra;
    if (!k->row || k->complete)
        return;
    if (block->n > k->room - k->n) {
        psr_fold_kept_clear(k);
        return;
    }
#pragma omp parallel for schedule(static) num_threads(nthread)
    for (size_t t = 0; t < block->n; t += ROWS) {
        const size_t n = block->n - t < ROWS ? block->n - t : ROWS;
        memcpy(to + t * k->row_bytes, from + t * k->row_bytes, n * k->row_bytes);
    }
    k->n += block->n;
    k->complete = end;
}

void psr_fold_kept_clear(struct psr_fold_kept *k)
{
    free(k->row);
    free(k->channels);
    *k = (struct psr_fold_kept){.row = NULL};
}
