/* The tree algorithm on one CUDA device: its memory, and its stages for the next outputs. */
#include "dedisp_cuda.h"

/* --- Gives rows between stages of the tree algorithm their places on a device, and sources their positions.  Nothing here needs a device. */

static size_t row_elements(const struct tree_k_group *g, size_t n)
{
    size_t ntile = ((size_t)(g->hi - g->v0) + n + TREE_TILE - 1) / TREE_TILE;
    return (ntile * TREE_TILE + 31) / 32 * 32;
}

static size_t stage_elements(const struct psr_tree_stage *st, size_t n)
{
    size_t elements = 4 * TREE_TILE; /* read beyond the last row */
    for (size_t k = 0; k < st->ngroup; k++)
        elements += st->group[k].nrow * row_elements(st->group + k, n);
    return elements;
}

/* Bytes of the rows between stages for n outputs at once. */
static double tree_stages_bytes(const struct psr_tree_stages *t, size_t n)
{
    double bytes = 0;
    for (int k = 0; k + 1 < t->nstage; k++)
        bytes += (double)stage_elements(&t->stage[k], n) *
                 (double)psr_tree_lane_bytes(t->stage[k].upper);
    return bytes;
}

/* Rows of the upper level follow each other in a group, and groups in the output. */
static void place_rows(struct psr_tree_stage *st, size_t n)
{
    int64_t next = 0;
    struct psr_tree_output *o = st->output;
    for (const struct tree_k_group *g = st->group; g < st->group + st->ngroup; g++) {
        struct tree_k_row *row = st->row + st->pair[g->upper].row;
        for (size_t u = 0; u < g->nrow; u++, o++, row++) {
            o->at = row->at = next - g->v0;
            next += (int64_t)row_elements(g, n);
        }
    }
}

static int64_t find_output(const struct psr_tree_stage *st, int32_t row, int32_t delay)
{
    size_t lo = 0, hi = st->noutput;
    while (hi - lo > 1) {
        size_t mid = (lo + hi) / 2;
        const struct psr_tree_output *o = st->output + mid;
        if (o->row < row || (o->row == row && o->lo <= delay))
            lo = mid;
        else
            hi = mid;
    }
    return st->output[lo].at;
}

/* Gives every row between stages its place for up to n outputs at once, and every source its
 * position: of channels with runs of pitch bytes.
 * Returned: elements [nstage]   of the rows that each stage but the last makes */
static void tree_stages_place(struct psr_tree_stages *t, size_t n, size_t pitch, size_t *elements)
{
    for (int k = 0; k < t->nstage; k++) {
        struct psr_tree_stage *st = &t->stage[k];
        const struct psr_tree_input *in = st->input, *end = in + st->ninput;
        for (size_t pair = SIZE_MAX; in < end; pair = in->pair, in++) {
            int64_t at = in->delay + (k ? find_output(&t->stage[k - 1], in->row, in->lo)
                                        : (int64_t)in->row * (int64_t)pitch);
            if (in->pair != pair)
                st->pair[in->pair].base = at / 2 * 2;
            st->source[in->source] = (int32_t)(at - st->pair[in->pair].base);
        }
        elements[k] = 0;
        if (k + 1 == t->nstage)
            continue;
        place_rows(&t->stage[k], n);
        elements[k] = stage_elements(&t->stage[k], n);
    }
}

enum { ROW_BYTES = 1 << 30 }; /* of rows between stages: more outputs at once gain nothing */

/* --- memory ----------------------------------------------------------------------------------- */

/* The most outputs at once, whose rows fit: bytes grow with their number. */
static psr_status choose_chunk(struct psr_cuda *c, int64_t most, psr_err *err)
{
    size_t n = (c->nout_max + TREE_TILE - 1) / TREE_TILE;
    most = most < ROW_BYTES ? most : ROW_BYTES;
    while (n > 1 && tree_stages_bytes(&c->tree, n * TREE_TILE) > (double)most)
        n = n * 7 / 8;
    c->tree_chunk = n * TREE_TILE;
    double need = tree_stages_bytes(&c->tree, c->tree_chunk);
    return need <= (double)most ? PSR_OK : psr_cuda_tree_fail(c, most, need, err);
}

static cudaError_t upload_stage(struct psr_cuda *c, int n, size_t elements)
{
    const struct psr_tree_stage *st = &c->tree.stage[n];
    struct psr_cuda_tree_stage *d = &c->tree_stage[n];
    size_t bytes = elements * psr_tree_lane_bytes(st->upper);
    TRY(psr_cuda_upload(&d->d_group, st->group, st->ngroup * sizeof *st->group, &c->bytes));
    TRY(psr_cuda_upload(&d->d_pair, st->pair, st->npair * sizeof *st->pair, &c->bytes));
    TRY(psr_cuda_upload(&d->d_row, st->row, st->nrow * sizeof *st->row, &c->bytes));
    TRY(psr_cuda_upload(&d->d_source, st->source, st->nsource * sizeof *st->source, &c->bytes));
    if (!bytes)
        return cudaSuccess;
    TRY(psr_cuda_take(&d->d_rows, bytes, &c->bytes));
    TRY(cudaMemset(d->d_rows, 0, bytes)); /* lanes that nobody uses are read too */
    return cudaStreamSynchronize(cudaStreamLegacy);
}

psr_status psr_cuda_tree_start(struct psr_cuda *c, int64_t mem_free, psr_err *err)
{
    size_t elements[PSR_MERGE_MAXLEVEL];
    size_t shared, shared_words;
    int64_t most = c->s->mem_bytes / 4 < mem_free / 4 ? c->s->mem_bytes / 4 : mem_free / 4;
    cudaError_t e = tree_k_shared(&shared);
    if (!e)
        e = words_k_shared(&shared_words);
    if (e)
        return psr_cuda_fail(c->device, e, "shared memory", err);
    if (c->pitch > INT32_MAX / PSR_MERGE_LEAF)
        return psr_fail_field(
            err, PSR_EUNSUPPORTED, "dm",
            "dedispersion: device %d: delays need runs of %zu samples, beyond the "
            "%d of the tree algorithm",
            c->device, c->room, INT32_MAX / PSR_MERGE_LEAF);
    if (shared_words && psr_words_fit(c->s))
        return psr_cuda_words_start(c, most, c->nout_max + TREE_TILE, shared_words, err);
    psr_status st = psr_tree_stages_make(&c->tree, c->s, c->first_trial, c->s->ndm,
                                         c->nout_max + TREE_TILE, shared, err);
    if (st || (st = choose_chunk(c, most, err)))
        return st;
    tree_stages_place(&c->tree, c->tree_chunk, c->pitch, elements);
    for (int n = 0; n < c->tree.nstage && !e; n++)
        e = upload_stage(c, n, elements[n]);
    return e ? psr_cuda_fail(c->device, e, "rows of a tree", err) : PSR_OK;
}

void psr_cuda_tree_free(struct psr_cuda *c)
{
    for (int n = 0; n < c->tree.nstage; n++) {
        struct psr_cuda_tree_stage *d = &c->tree_stage[n];
        cudaFree(d->d_group);
        cudaFree(d->d_pair);
        cudaFree(d->d_row);
        cudaFree(d->d_source);
        cudaFree(d->d_rows);
    }
    psr_tree_stages_free(&c->tree);
    psr_cuda_words_free(c);
}

/* --- sums ------------------------------------------------------------------------------------- */

cudaError_t psr_cuda_tree_sums(const struct psr_cuda *c, const struct dedisp_k_io *io,
                               cudaStream_t stream)
{
    for (size_t t0 = 0; t0 < io->nout; t0 += c->tree_chunk) {
        size_t left = io->nout - t0, n = left < c->tree_chunk ? left : c->tree_chunk;
        for (int k = 0; k < c->tree.nstage; k++) {
            const struct psr_tree_stage *st = &c->tree.stage[k];
            const struct psr_cuda_tree_stage *d = &c->tree_stage[k];
            const struct tree_k_stage stage = {
                .in = st->in,
                .lower = st->lower,
                .upper = st->upper,
                .last = k + 1 == c->tree.nstage,
                .d_group = d->d_group,
                .ngroup = st->ngroup,
                .ntile = (st->span + n + TREE_TILE - 1) / TREE_TILE,
                .d_pair = d->d_pair,
                .d_row = d->d_row,
                .d_source = d->d_source,
                .shared = st->shared,
                .d_in = k ? c->tree_stage[k - 1].d_rows : io->d_runs,
                .at = k ? 0 : io->at + t0,
                .plane = io->plane,
                .nplane = io->nplane,
                .d_rows = d->d_rows,
                .d_out = io->d_out + t0,
                .out_pitch = io->out_pitch,
                .n = n,
                .bias = io->bias,
                .downsamp = io->downsamp,
            };
            TRY(tree_k_run(&stage, stream));
        }
    }
    return cudaSuccess;
}
