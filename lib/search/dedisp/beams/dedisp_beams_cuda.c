/* Dedisperses beams that arrive on a CUDA device.
 *
 * The circles of all beams stay on the device.  A block of spectra is copied on a stream of its own
 * while the device is at work on the block before; then sums enter the circles line by line, and the
 * levels of each line follow one another.  Rows of two levels are kept at a time, for all beams. */
#include "base/device/cuda_call.h"
#include "base/tool.h"
#include "dedisp_line.h"
#include <dedisp/dedisp_beams_kernels.h>
#include <stdlib.h>

/* --- the levels of a line of beams ------------------------------------------------------------ */

/* A row of the tree is made once a block, at all delays at which rows above, or trials, use it. */
struct psr_beams_level {
    enum beams_k_kind in, out;
    struct beams_k_row *row;
    int64_t *source;
    struct beams_k_group *group;
    size_t nrow, nsource, ngroup;
    size_t elements; /* of its rows, for blocks of the longest length; 0 for outputs */
};

/* From the leaves up; the last level makes the outputs of the line. */
struct psr_beams_rows {
    int nlevel;
    struct psr_beams_level level[PSR_MERGE_MAXLEVEL];
    double *bias; /* [outputs] in the order of the last level's rows */
    double adds;  /* per output sample */
};

/* What is wanted of a row: delays lo to hi of its first channel; of which sub-band it is. */
struct wanted {
    int32_t lo, hi, node;
    int64_t at; /* once placed: its element at delay lo */
};

struct maker {
    struct psr_beams_rows *rows;
    const struct psr_dedisp_line *l;
    const struct psr_merge_tree *tree;
    struct wanted *want[PSR_MERGE_MAXLEVEL]; /* [nrow] of the levels below the whole band */
    size_t pitch;
};

static size_t beams_kind_bytes(enum beams_k_kind kind)
{
    return kind == BEAMS_8 ? 1 : kind == BEAMS_16 ? 2 : 4;
}

static int32_t offset_of(const struct maker *m, size_t i)
{
    return m->tree->offset[i] + m->l->align[i];
}

/* --- what is wanted --------------------------------------------------------------------------- */

static void widen(struct wanted *w, int32_t lo, int32_t hi, size_t node)
{
    w->lo = lo < w->lo ? lo : w->lo;
    w->hi = hi > w->hi ? hi : w->hi;
    w->node = (int32_t)node;
}

/* The parts of row r of a sub-band of level l, which is wanted at lo to hi. */
static void want_parts(struct maker *m, int l, size_t r, size_t node, int32_t lo, int32_t hi)
{
    const struct psr_merge_level *at = &m->tree->level[l];
    for (size_t j = 0; j < psr_merge_parts_of(m->tree, l, node); j++) {
        size_t n = r * at->radix + j;
        widen(m->want[l - 1] + at->part[n], lo + at->offset[n], hi + at->offset[n],
              node * at->radix + j);
    }
}

static psr_status find_wanted(struct maker *m, psr_err *err)
{
    int top = m->tree->nlevel - 1;
    for (int l = 0; l < top; l++) {
        size_t n = m->tree->level[l].nrow;
        m->want[l] = malloc(n * sizeof *m->want[l]);
        if (!m->want[l])
            return psr_fail_nomem(err, "the rows of a tree", (double)(n * sizeof *m->want[l]));
        for (size_t r = 0; r < n; r++)
            m->want[l][r] = (struct wanted){.lo = INT32_MAX, .hi = INT32_MIN};
    }
    for (size_t i = 0; top && i < m->tree->ndm; i++)
        want_parts(m, top, (size_t)m->tree->row[i], 0, offset_of(m, i), offset_of(m, i));
    for (int l = top - 1; l > 0; l--)
        for (size_t r = 0; r < m->tree->level[l].nrow; r++)
            want_parts(m, l, r, (size_t)m->want[l][r].node, m->want[l][r].lo, m->want[l][r].hi);
    return PSR_OK;
}

/* --- kinds and places ------------------------------------------------------------------------- */

static psr_status set_kinds(struct maker *m, psr_err *err)
{
    uint64_t most = psr_dedisp_layout_sample_max(m->l->layout), store = m->l->lanes.store_bytes;
    if (most > UINT32_MAX / m->tree->nchan)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "backend",
                              "dedispersion: sums of %zu channels of values up to %llu are beyond "
                              "the 32 bits of backend cuda",
                              m->tree->nchan, (unsigned long long)most);
    enum beams_k_kind in = store == 1 ? BEAMS_8 : store == 2 ? BEAMS_16 : BEAMS_32;
    for (int l = 0; l < m->rows->nlevel; l++) {
        size_t width = m->tree->level[l].width;
        uint64_t sum = most * (width < m->tree->nchan ? width : m->tree->nchan);
        m->rows->level[l].in = in;
        in = sum <= UINT8_MAX ? BEAMS_8 : sum <= UINT16_MAX ? BEAMS_16 : BEAMS_32;
        in = l + 1 == m->rows->nlevel ? BEAMS_FLOAT : in;
        m->rows->level[l].out = in;
    }
    return PSR_OK;
}

/* --- rows and sources ------------------------------------------------------------------------- */

static psr_status take_level(struct psr_beams_level *v, size_t nrow, size_t nsource, psr_err *err)
{
    v->row = calloc(nrow, sizeof *v->row);
    v->source = calloc(nsource, sizeof *v->source);
    v->group = calloc(nrow, sizeof *v->group);
    if (v->row && v->source && v->group)
        return PSR_OK;
    return psr_fail_nomem(err, "the rows of a tree", 40.0 * (double)nrow + 8.0 * (double)nsource);
}

/* Parts first .. first + nparts - 1 of row r of a sub-band of level l, at delay row.lo. */
static void put_row(struct maker *m, int l, size_t r, size_t node, size_t first, size_t nparts,
                    struct beams_k_row row)
{
    struct psr_beams_level *v = m->rows->level + l;
    row.src = (uint32_t)v->nsource;
    row.nsrc = (uint32_t)nparts;
    const struct psr_merge_level *at = m->tree->level + l;
    for (size_t j = first; j < first + nparts; j++) {
        size_t n = r * at->radix + j, k = node * at->width + j;
        int32_t delay = row.lo + at->offset[n];
        if (l) {
            const struct wanted *w = m->want[l - 1] + at->part[n];
            v->source[v->nsource++] = w->at + delay - w->lo;
        } else {
            v->source[v->nsource++] = (int64_t)k << 32 | (delay - m->l->least[k]);
        }
    }
    v->row[v->nrow++] = row;
    m->rows->adds += (double)(nparts - 1) * (1 + (double)row.extra / (double)m->l->most);
}

/* Rows from "first" on are adjacent. */
static void group_rows(struct psr_beams_level *v, size_t first)
{
    for (size_t r = first, n; r < v->nrow; r += n) {
        struct beams_k_group *g = v->group + v->ngroup++;
        n = v->nrow - r < BEAMS_ROWS ? v->nrow - r : BEAMS_ROWS;
        *g = (struct beams_k_group){(uint32_t)r, (uint32_t)n, INT32_MAX, INT32_MIN};
        for (const struct beams_k_row *w = v->row + r; w < v->row + r + n; w++) {
            g->lo = w->lo < g->lo ? w->lo : g->lo;
            g->hi = w->lo + w->extra > g->hi ? w->lo + w->extra : g->hi;
        }
    }
}

/* Trial i, or a part of the band, goes to row "to" of the output. */
static void put_output(struct maker *m, size_t i, size_t to, size_t first, size_t nparts)
{
    int top = m->rows->nlevel - 1;
    m->rows->bias[m->rows->level[top].nrow] = m->l->row_bias[to];
    put_row(m, top, (size_t)m->tree->row[i], 0, first, nparts,
            (struct beams_k_row){.at = (int64_t)(to * m->pitch), .lo = offset_of(m, i)});
}

static psr_status make_outputs(struct maker *m, psr_err *err)
{
    int top = m->rows->nlevel - 1;
    struct psr_beams_level *v = m->rows->level + top;
    const struct psr_dedisp_line *l = m->l;
    psr_status st = take_level(v, l->nrow, l->nrow * m->tree->level[top].radix, err);
    m->rows->bias = malloc(l->nrow * sizeof *m->rows->bias);
    if (st || !m->rows->bias)
        return st ? st : psr_fail_nomem(err, "trials", 8.0 * (double)l->nrow);
    for (size_t n = 0; n < m->tree->ndm; n++)
        put_output(m, m->tree->order[n], m->tree->order[n], 0, psr_merge_parts_of(m->tree, top, 0));
    group_rows(v, 0);
    for (size_t b = 0; b < l->nband; b++) {
        size_t first = v->nrow;
        for (size_t n = 0; n < m->tree->ndm; n++)
            if (l->band[b].row[m->tree->order[n]] >= 0)
                put_output(m, m->tree->order[n], (size_t)l->band[b].row[m->tree->order[n]],
                           l->part_band[b].first, l->part_band[b].nparts);
        group_rows(v, first);
    }
    return PSR_OK;
}

/* Given:    l       with rings
 *           pitch   elements from output to output, a multiple of 8
 * Status:   PSR_EUNSUPPORTED (sums beyond 32 bits), PSR_ENOMEM.  rows must be freed even then. */
static psr_status beams_rows_make(struct psr_beams_rows *rows, const struct psr_dedisp_line *l,
                                  size_t pitch, psr_err *err)
{
    struct maker m = {.rows = rows, .l = l, .tree = &l->layout->tree, .pitch = pitch};
    *rows = (struct psr_beams_rows){.nlevel = m.tree->nlevel};
    psr_status st = set_kinds(&m, err);
    st = st ? st : find_wanted(&m, err);
    if (!st) {
        for (int i = 0; i + 1 < m.tree->nlevel; i++) {
            int64_t at = BEAMS_SLACK;
            for (size_t r = 0; r < m.tree->level[i].nrow; r++) {
                struct wanted *w = m.want[i] + r;
                int64_t n = w->hi - w->lo + (int64_t)m.l->most;
                w->at = at;
                at += (n + BEAMS_ALIGN - 1) / BEAMS_ALIGN * BEAMS_ALIGN;
            }
            m.rows->level[i].elements = (size_t)at + BEAMS_SLACK;
        }
    }
    for (int n = 0; n + 1 < rows->nlevel && !st; n++) {
        const struct psr_merge_level *at = m.tree->level + n;
        struct psr_beams_level *v = m.rows->level + n;
        st = take_level(v, at->nrow, at->nrow * at->radix, err);
        for (size_t r = 0, first = 0; r < at->nrow && !st; r++) {
            const struct wanted *w = m.want[n] + r;
            size_t node = (size_t)w->node;
            put_row(&m, n, r, node, 0, psr_merge_parts_of(m.tree, n, node),
                    (struct beams_k_row){.at = w->at, .lo = w->lo, .extra = w->hi - w->lo});
            if (r + 1 < at->nrow && m.want[n][r + 1].node == w->node)
                continue;
            group_rows(v, first);
            first = v->nrow;
        }
    }
    st = st ? st : make_outputs(&m, err);
    for (int n = 0; n < PSR_MERGE_MAXLEVEL; n++)
        free(m.want[n]);
    return st;
}

static void beams_rows_free(struct psr_beams_rows *rows)
{
    for (int n = 0; n < rows->nlevel; n++) {
        free(rows->level[n].row);
        free(rows->level[n].source);
        free(rows->level[n].group);
    }
    free(rows->bias);
    *rows = (struct psr_beams_rows){0};
}

/* --- the plan on the device ------------------------------------------------------------------- */

enum { MAXLINE = 17, NRAW = 2 };

struct level {
    struct beams_k_row *d_row;
    int64_t *d_source;
    struct beams_k_group *d_group;
    enum beams_k_kind in, out;
    size_t ngroup;
};

struct line {
    const struct psr_dedisp_line *l;
    struct psr_beams_rows rows; /* until they are on the device */
    struct level level[PSR_MERGE_MAXLEVEL];
    int nlevel;
    struct beams_k_circles circles;
    void *d_circles;  /* the arrays of circles */
    size_t ring_byte; /* of a beam's memory */
    double *d_bias;
    float *d_out;
    size_t pitch;
};

/* A block's spectra. */
struct raw {
    void *d_in;
    cudaEvent_t copied, used; /* have come; are in circles */
};

struct beams_cuda {
    int device;
    bool started;
    const struct psr_dedisp_beams_desc *d;
    size_t nbeam, row_bytes, block;
    int nbit;
    uint32_t bias;
    struct line line[MAXLINE];
    size_t nline;
    size_t ring_bytes; /* of a beam */
    void **d_beam;     /* [nbeam] circles, then the sums that are not complete */
    void *d_rows[2];   /* of even and of odd levels */
    size_t rows_bytes[2];
    uint32_t *d_chan;
    struct raw raw[NRAW];
    int turn;
    cudaEvent_t given, taken; /* of spectra on the device */
    cudaStream_t in, work;
    cudaError_t failed; /* of a reset */
    int64_t bytes;
};

/* --- the plan's arrays ------------------------------------------------------------------------ */

static cudaError_t upload_levels(struct beams_cuda *c, struct line *n)
{
    n->nlevel = n->rows.nlevel;
    for (int l = 0; l < n->nlevel; l++) {
        const struct psr_beams_level *v = n->rows.level + l;
        struct level *to = n->level + l;
        *to = (struct level){.in = v->in, .out = v->out, .ngroup = v->ngroup};
        TRY(psr_cuda_upload(&to->d_row, v->row, v->nrow * sizeof *v->row, &c->bytes));
        TRY(psr_cuda_upload(&to->d_source, v->source, v->nsource * sizeof *v->source, &c->bytes));
        TRY(psr_cuda_upload(&to->d_group, v->group, v->ngroup * sizeof *v->group, &c->bytes));
    }
    size_t nout = n->l->nrow, bytes = nout * n->pitch * sizeof *n->d_out;
    TRY(psr_cuda_upload(&n->d_bias, n->rows.bias, nout * sizeof *n->d_bias, &c->bytes));
    TRY(psr_cuda_take(&n->d_out, bytes, &c->bytes));
    return cudaMemset(n->d_out, 0, bytes);
}

/* One allocation: places, then sizes, skips, backs and the heads. */
static cudaError_t upload_circles(struct beams_cuda *c, struct line *n)
{
    const struct psr_dedisp_line *l = n->l;
    const size_t nkept = l->layout->nkept;
    const int64_t maxshift = (int64_t)psr_dedisp_maxshift(l->plan);
    int64_t *at = calloc(nkept, 8 + 6 * sizeof(int32_t));
    if (!at)
        return cudaErrorMemoryAllocation;
    int32_t *size = (int32_t *)(at + nkept), *skip = size + nkept, *back = skip + nkept;
    for (size_t k = 0; k < nkept; k++) {
        at[k] = (int64_t)l->rings.at[k];
        size[k] = l->rings.size[k];
        skip[k] = l->rings.skip[k];
        back[k] = (int32_t)(maxshift - l->least[k]);
    }
    cudaError_t e =
        psr_cuda_upload(&n->d_circles, at, nkept * (8 + 6 * sizeof(int32_t)), &c->bytes);
    free(at);
    if (e)
        return e;
    int64_t *d_at = n->d_circles;
    int32_t *d_size = (int32_t *)(d_at + nkept);
    const size_t store = l->lanes.store_bytes;
    n->circles = (struct beams_k_circles){
        .nkept = nkept,
        .kind = store == 1   ? BEAMS_8
                : store == 2 ? BEAMS_16
                             : BEAMS_32,
        .d_at = d_at,
        .d_size = d_size,
        .d_skip = d_size + nkept,
        .d_back = d_size + 2 * nkept,
        .d_head = d_size + 3 * nkept,
        .d_enter = d_size + 4 * nkept,
        .d_from = d_size + 5 * nkept,
    };
    return cudaSuccess;
}

static cudaError_t upload_channels(struct beams_cuda *c, const struct psr_dedisp_layout *s)
{
    uint32_t *chan = malloc(s->nkept * sizeof *chan);
    if (!chan)
        return cudaErrorMemoryAllocation;
    for (size_t k = 0; k < s->nkept; k++)
        chan[k] = (uint32_t)s->chan[k];
    cudaError_t e = psr_cuda_upload(&c->d_chan, chan, s->nkept * sizeof *chan, &c->bytes);
    free(chan);
    return e;
}

/* --- memory ----------------------------------------------------------------------------------- */

static psr_status plan_lines(struct beams_cuda *c, struct psr_dedisp_line *line, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t n = 0; n < c->nline && !st; n++) {
        struct line *to = c->line + n;
        to->l = line + n;
        to->pitch = (line[n].most + 31) / 32 * 32;
        to->ring_byte = c->ring_bytes;
        c->ring_bytes += ((size_t)psr_rings_bytes(&line[n].rings) + 255) / 256 * 256;
        st = beams_rows_make(&to->rows, line + n, to->pitch, err);
        line[n].adds = to->rows.adds;
        for (int l = 0; l + 1 < to->rows.nlevel; l++) {
            const struct psr_beams_level *v = to->rows.level + l;
            size_t bytes = v->elements * beams_kind_bytes(v->out), *most = &c->rows_bytes[l % 2];
            *most = bytes > *most ? bytes : *most;
        }
    }
    return st;
}

static double bytes_of_plan(const struct beams_cuda *c)
{
    double bytes = (double)NRAW * (double)(c->block * c->row_bytes) + (double)c->rows_bytes[0] +
                   (double)c->rows_bytes[1];
    for (size_t n = 0; n < c->nline; n++) {
        const struct line *l = c->line + n;
        for (int k = 0; k < l->rows.nlevel; k++)
            bytes += 40.0 * (double)l->rows.level[k].nrow + 8.0 * (double)l->rows.level[k].nsource;
        bytes += (8.0 + 4.0 * (double)l->pitch) * (double)l->l->nrow +
                 32.0 * (double)l->l->layout->nkept;
    }
    return bytes;
}

static size_t bytes_of_beam(const struct beams_cuda *c)
{
    return c->ring_bytes + c->line->l->layout->nkept * sizeof(uint32_t);
}

static psr_status check_memory(const struct beams_cuda *c, int64_t mem_free, psr_err *err)
{
    double have = (double)(c->d->mem_bytes ? c->d->mem_bytes : mem_free);
    double need = bytes_of_plan(c) + (double)c->nbeam * (double)bytes_of_beam(c);
    char want[PSR_SIZE_TEXT], limit[PSR_SIZE_TEXT], each[PSR_SIZE_TEXT];
    if (need <= have)
        return PSR_OK;
    return psr_fail_field(err, PSR_ENOMEM, "mem_bytes",
                          "dedispersion: device %d: memory of %s is below the %s that %zu beams of "
                          "%s each take",
                          c->device, psr_size_text(limit, have), psr_size_text(want, need),
                          c->nbeam, psr_size_text(each, (double)bytes_of_beam(c)));
}

static cudaError_t clear_beam(const struct beams_cuda *c, size_t beam)
{
    char *d = c->d_beam[beam];
    for (size_t n = 0; n < c->nline; n++)
        TRY(beams_k_fill(d + c->line[n].ring_byte, c->line[n].circles.kind,
                         c->line[n].l->rings.lanes, c->line[n].l->layout->sample_bias, c->work));
    return cudaMemsetAsync(d + c->ring_bytes, 0, bytes_of_beam(c) - c->ring_bytes, c->work);
}

static cudaError_t take_memory(struct beams_cuda *c)
{
    int64_t each = 0;
    for (int n = 0; n < 2; n++) {
        TRY(psr_cuda_take(&c->d_rows[n], c->rows_bytes[n], &c->bytes));
        TRY(cudaMemset(c->d_rows[n], 0,
                       c->rows_bytes[n])); /* lanes that nobody uses are read too */
    }
    for (int n = 0; n < NRAW; n++) {
        TRY(psr_cuda_take(&c->raw[n].d_in, c->block * c->row_bytes, &c->bytes));
        TRY(cudaEventCreateWithFlags(&c->raw[n].copied, cudaEventDisableTiming));
        TRY(cudaEventCreateWithFlags(&c->raw[n].used, cudaEventDisableTiming));
    }
    TRY(cudaEventCreateWithFlags(&c->given, cudaEventDisableTiming));
    TRY(cudaEventCreateWithFlags(&c->taken, cudaEventDisableTiming));
    for (size_t b = 0; b < c->nbeam; b++)
        TRY(psr_cuda_take(&c->d_beam[b], bytes_of_beam(c), &each));
    TRY(cudaStreamSynchronize(cudaStreamLegacy)); /* memory is cleared there, and used elsewhere */
    for (size_t b = 0; b < c->nbeam; b++)
        TRY(clear_beam(c, b));
    return cudaStreamSynchronize(c->work);
}

/* --- start and end ---------------------------------------------------------------------------- */

static cudaError_t upload_plan(struct beams_cuda *c)
{
    TRY(upload_channels(c, c->line->l->layout));
    for (size_t n = 0; n < c->nline; n++) {
        TRY(upload_levels(c, c->line + n));
        TRY(upload_circles(c, c->line + n));
        beams_rows_free(&c->line[n].rows);
    }
    return cudaSuccess;
}

static psr_status start(struct beams_cuda *c, struct psr_dedisp_line *line, double *bytes_shared,
                        psr_err *err)
{
    struct psr_device device;
    psr_err why;
    psr_status st = psr_device_describe(c->device, &device, &why);
    if (st)
        return psr_fail_field(err, st, why.field, "dedispersion on CUDA: %s", why.msg);
    cudaError_t e = cudaSetDevice(c->device);
    c->started = !e;
    if (e || (e = cudaStreamCreateWithFlags(&c->in, cudaStreamNonBlocking)) ||
        (e = cudaStreamCreateWithFlags(&c->work, cudaStreamNonBlocking)))
        return psr_cuda_fail(c->device, e, "start", err);
    c->d_beam = calloc(c->nbeam, sizeof *c->d_beam);
    if (!c->d_beam)
        return psr_fail_nomem(err, "beams", 8.0 * (double)c->nbeam);
    if ((st = plan_lines(c, line, err)) || (st = check_memory(c, device.mem_free, err)))
        return st;
    *bytes_shared = bytes_of_plan(c);
    if ((e = upload_plan(c)))
        return psr_cuda_fail(c->device, e, "the rows of a tree", err);
    if ((e = take_memory(c)))
        return psr_cuda_fail(c->device, e, "the samples of beams", err);
    return PSR_OK;
}

static void free_line(struct line *n)
{
    for (int l = 0; l < n->nlevel; l++) {
        cudaFree(n->level[l].d_row);
        cudaFree(n->level[l].d_source);
        cudaFree(n->level[l].d_group);
    }
    cudaFree(n->d_circles);
    cudaFree(n->d_bias);
    cudaFree(n->d_out);
    beams_rows_free(&n->rows);
}

static void destroy(void *state)
{
    struct beams_cuda *c = state;
    if (c->started) {
        (void)cudaSetDevice(c->device);
        (void)cudaDeviceSynchronize();
    }
    for (size_t n = 0; n < c->nline; n++)
        free_line(c->line + n);
    for (size_t b = 0; c->d_beam && b < c->nbeam; b++)
        cudaFree(c->d_beam[b]);
    for (int n = 0; n < 2; n++)
        cudaFree(c->d_rows[n]);
    for (int n = 0; n < NRAW; n++) {
        cudaFree(c->raw[n].d_in);
        if (c->raw[n].copied)
            cudaEventDestroy(c->raw[n].copied);
        if (c->raw[n].used)
            cudaEventDestroy(c->raw[n].used);
    }
    cudaFree(c->d_chan);
    if (c->given)
        cudaEventDestroy(c->given);
    if (c->taken)
        cudaEventDestroy(c->taken);
    if (c->in)
        cudaStreamDestroy(c->in);
    if (c->work)
        cudaStreamDestroy(c->work);
    free(c->d_beam);
    free(c);
}

static psr_status create(void **state, const struct psr_dedisp_beams_desc *d,
                         struct psr_dedisp_line *line, size_t nline, double *bytes_shared,
                         psr_err *err)
{
    struct beams_cuda *c = calloc(1, sizeof *c);
    if (!c)
        return psr_fail_nomem(err, "a dedispersion plan", sizeof *c);
    c->device = d->device;
    c->d = d;
    c->nbeam = d->nbeam;
    c->block = d->block;
    c->nbit = d->nbit;
    c->bias = d->kind == PSR_INT ? UINT32_C(1) << (d->nbit - 1) : 0;
    c->row_bytes = (d->nchan * (size_t)d->nbit + 7) / 8;
    c->nline = nline;
    psr_status st = start(c, line, bytes_shared, err);
    c->d = NULL;
    if (st)
        destroy(c);
    *state = st ? NULL : c;
    return st;
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Sums of line n enter, "first" and nout of them. */
static cudaError_t enter(struct beams_cuda *c, size_t n, char *d_beam, int64_t first, size_t nout,
                         const struct beams_k_spectra *spectra)
{
    struct line *l = c->line + n, *before = n ? l - 1 : NULL;
    size_t ratio = n ? l->l->downsamp / before->l->downsamp : 1;
    TRY(beams_k_turn(&l->circles, first, n ? &before->circles : NULL, ratio, c->work));
    if (!n)
        return beams_k_push(&l->circles, d_beam + l->ring_byte, spectra, c->work);
    return beams_k_sum(&l->circles, d_beam + l->ring_byte, &before->circles,
                       d_beam + before->ring_byte, ratio, nout, c->work);
}

static cudaError_t run_levels(struct beams_cuda *c, const struct line *n, const char *d_beam,
                              size_t nout)
{
    for (int l = 0; l < n->nlevel && nout; l++) {
        const struct level *v = n->level + l;
        const bool last = l + 1 == n->nlevel;
        const struct beams_k_level level = {
            .in = v->in,
            .out = v->out,
            .ring = !l,
            .d_row = v->d_row,
            .d_source = v->d_source,
            .d_group = v->d_group,
            .ngroup = v->ngroup,
            .d_in = l ? c->d_rows[(l - 1) % 2] : (const void *)(d_beam + n->ring_byte),
            .circles = n->circles,
            .d_out = last ? (void *)n->d_out : c->d_rows[l % 2],
            .n = nout,
            .d_bias = last ? n->d_bias : NULL,
            .divisor = psr_dedisp_layout_divisor(n->l->layout),
        };
        TRY(beams_k_run(&level, c->work));
    }
    return cudaSuccess;
}

/* Spectra of d_in have entered circles when the work reaches event "used". */
static cudaError_t run_block(struct beams_cuda *c, size_t beam, const void *d_in, cudaEvent_t used,
                             uint64_t was, size_t nsamp)
{
    char *d_beam = c->d_beam[beam];
    const size_t downsamp = c->line->l->downsamp;
    const struct beams_k_spectra spectra = {
        .nbit = c->nbit,
        .bias = c->bias,
        .row_bytes = c->row_bytes,
        .d_chan = c->d_chan,
        .downsamp = downsamp,
        .before = (size_t)(was % downsamp),
        .d_partial = (uint32_t *)(d_beam + c->ring_bytes),
        .d_in = d_in,
        .nsamp = nsamp,
    };
    for (size_t n = 0; n < c->nline; n++) {
        const struct line *l = c->line + n;
        uint64_t first = was / l->l->downsamp;
        size_t nout = (size_t)((was + nsamp) / l->l->downsamp - first);
        TRY(enter(c, n, d_beam, (int64_t)first, nout, &spectra));
        if (n == 0)
            TRY(cudaEventRecord(used, c->work));
        TRY(run_levels(c, l, d_beam, nout));
    }
    return cudaSuccess;
}

static cudaError_t take_block(struct beams_cuda *c, size_t beam, const void *in, uint64_t was,
                              size_t nsamp)
{
    struct raw *r = c->raw + c->turn;
    c->turn = (c->turn + 1) % NRAW;
    TRY(c->failed);
    TRY(cudaSetDevice(c->device));
    TRY(cudaStreamWaitEvent(c->in, r->used, 0));
    TRY(cudaMemcpyAsync(r->d_in, in, nsamp * c->row_bytes, cudaMemcpyHostToDevice, c->in));
    TRY(cudaEventRecord(r->copied, c->in));
    TRY(cudaStreamWaitEvent(c->work, r->copied, 0));
    TRY(run_block(c, beam, r->d_in, r->used, was, nsamp));
    return cudaEventSynchronize(r->copied);
}

static psr_status execute(void *state, size_t beam, const void *in, uint64_t was, size_t nsamp,
                          psr_err *err)
{
    struct beams_cuda *c = state;
    cudaError_t e = nsamp ? take_block(c, beam, in, was, nsamp) : c->failed;
    return e ? psr_cuda_fail(c->device, e, "dedispersion of beams", err) : PSR_OK;
}

static cudaError_t take_there(struct beams_cuda *c, size_t beam, const void *d_in,
                              cudaStream_t stream, uint64_t was, size_t nsamp)
{
    TRY(c->failed);
    TRY(cudaSetDevice(c->device));
    if (stream) {
        TRY(cudaEventRecord(c->given, stream));
        TRY(cudaStreamWaitEvent(c->work, c->given, 0));
    }
    TRY(run_block(c, beam, d_in, c->taken, was, nsamp));
    return stream ? cudaStreamWaitEvent(stream, c->taken, 0) : cudaEventSynchronize(c->taken);
}

static psr_status execute_device(void *state, size_t beam, const void *d_in, void *stream,
                                 uint64_t was, size_t nsamp, psr_err *err)
{
    struct beams_cuda *c = state;
    cudaError_t e = nsamp ? take_there(c, beam, d_in, stream, was, nsamp) : c->failed;
    return e ? psr_cuda_fail(c->device, e, "dedispersion of beams", err) : PSR_OK;
}

static void reset(void *state, size_t beam)
{
    struct beams_cuda *c = state;
    cudaError_t e = cudaSetDevice(c->device);
    e = e ? e : clear_beam(c, beam);
    c->failed = c->failed ? c->failed : e;
}

static void series(void *state, size_t line, struct psr_device_series *to)
{
    struct beams_cuda *c = state;
    const struct line *l = c->line + line;
    *to = (struct psr_device_series){
        .backend = psr_beams_cuda.name,
        .device = c->device,
        .nseries = l->l->nrow,
        .d_x = l->d_out,
        .stride = l->pitch,
        .stream = c->work,
    };
}

const struct psr_beams_device_ops psr_beams_cuda = {
    .name = "cuda",
    .create = create,
    .execute = execute,
    .execute_device = execute_device,
    .reset = reset,
    .series = series,
    .destroy = destroy,
};
