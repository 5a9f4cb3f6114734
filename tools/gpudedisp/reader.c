/* Blocks of the input, read ahead by a thread of their own where devices do the work. */
#include "gpudedisp.h"

#include "tools/common/run.h"
#include <psrkit/device.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One is worked on, one waits, one is read. */
enum { AHEAD = 3 };

struct gpudedisp_reader {
    psr_source *source;
    size_t nsamp; /* of a block */
    struct gpudedisp_block block[AHEAD];
    size_t nblock;       /* 1: blocks are read when they are asked for */
    bool pinned;         /* for devices */
    int64_t filled, had; /* blocks read; blocks that the caller is done with */
    int given;           /* blocks that the caller holds: 0 or 1 */
    bool threaded, stop;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    double read_s;
};

/* Stretches without data as they are known once the block has been read. */
static psr_status copy_gaps(struct gpudedisp_reader *r, struct gpudedisp_block *b)
{
    const struct psr_span *gap;
    size_t n = psr_source_gaps(r->source, &gap);
    if (n > b->ngap) {
        struct psr_span *more = realloc(b->gap, n * sizeof *more);
        if (!more)
            return psr_fail_nomem(&b->err, "the account of gaps", (double)n * sizeof *more);
        b->gap = more;
    }
    if (n)
        memcpy(b->gap, gap, n * sizeof *gap);
    b->ngap = n;
    return PSR_OK;
}

static void fill_block(struct gpudedisp_reader *r, struct gpudedisp_block *b)
{
    double began_s = run_seconds();
    b->status = psr_source_read(r->source, r->nsamp, b->data, &b->n, &b->err);
    if (b->status == PSR_OK)
        b->status = copy_gaps(r, b);
    r->read_s += run_seconds() - began_s;
}

/* Reads until the input ends or the caller wants no more. */
static void *read_ahead(void *ctx)
{
    struct gpudedisp_reader *r = ctx;
    bool more = true;
    pthread_mutex_lock(&r->lock);
    while (more) {
        while (!r->stop && r->filled - r->had >= (int64_t)r->nblock)
            pthread_cond_wait(&r->changed, &r->lock);
        if (r->stop)
            break;
        struct gpudedisp_block *b = &r->block[r->filled % AHEAD];
        pthread_mutex_unlock(&r->lock);
        fill_block(r, b);
        pthread_mutex_lock(&r->lock);
        more = b->status == PSR_OK && b->n > 0;
        r->filled++;
        pthread_cond_broadcast(&r->changed);
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

static psr_status take_block(struct gpudedisp_reader *r, struct gpudedisp_block *b, size_t bytes,
                             psr_err *err)
{
    if (r->pinned)
        return psr_device_pin(&b->data, bytes, err);
    b->data = malloc(bytes);
    return b->data ? PSR_OK : psr_fail_nomem(err, "a block of data", (double)bytes);
}

psr_status gpudedisp_reader_start(struct gpudedisp_job *j, bool for_device)
{
    /* A pipe has its own pace, and may never give more. */
    bool ahead = for_device && psr_source_obs(j->source)->nsamp >= 0;
    size_t bytes = psr_source_block_bytes(j->source, j->block);
    struct gpudedisp_reader *r = calloc(1, sizeof *r);
    if (!r)
        return psr_fail_nomem(&j->err, "blocks of data", sizeof *r);
    j->reader = r;
    r->source = j->source;
    r->nsamp = j->block;
    r->nblock = ahead ? AHEAD : 1;
    r->pinned = for_device;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->changed, NULL);
    for (size_t k = 0; k < r->nblock; k++) {
        psr_status st = take_block(r, &r->block[k], bytes, &j->err);
        if (st != PSR_OK)
            return st;
    }
    if (!ahead)
        return PSR_OK;
    r->threaded = pthread_create(&r->thread, NULL, read_ahead, r) == 0;
    if (!r->threaded)
        return psr_fail(&j->err, PSR_ENOMEM, "no thread to read the input");
    return PSR_OK;
}

psr_status gpudedisp_reader_next(struct gpudedisp_job *j, struct gpudedisp_block **out)
{
    struct gpudedisp_reader *r = j->reader;
    struct gpudedisp_block *b = r->block;
    if (r->threaded) {
        pthread_mutex_lock(&r->lock);
        r->had += r->given;
        r->given = 1;
        pthread_cond_broadcast(&r->changed);
        while (r->filled == r->had)
            pthread_cond_wait(&r->changed, &r->lock);
        b = &r->block[r->had % AHEAD];
        pthread_mutex_unlock(&r->lock);
    } else {
        fill_block(r, b);
    }
    *out = b;
    if (b->status != PSR_OK)
        j->err = b->err;
    return b->status;
}

double gpudedisp_reader_seconds(const struct gpudedisp_job *j)
{
    return j->reader->read_s;
}

void gpudedisp_reader_stop(struct gpudedisp_job *j)
{
    struct gpudedisp_reader *r = j->reader;
    if (!r)
        return;
    if (r->threaded) {
        pthread_mutex_lock(&r->lock);
        r->stop = true;
        pthread_cond_broadcast(&r->changed);
        pthread_mutex_unlock(&r->lock);
        pthread_join(r->thread, NULL);
    }
    for (size_t k = 0; k < AHEAD; k++) {
        if (r->pinned)
            psr_device_unpin(r->block[k].data);
        else
            free(r->block[k].data);
        free(r->block[k].gap);
    }
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    free(r);
    j->reader = NULL;
}
