/* failing_heap.h: runs a use of the library without one of its allocations, and counts what remains.  The
 * program is linked with --wrap of the functions below. */
#ifndef PSR_FAILING_HEAP_H
#define PSR_FAILING_HEAP_H

#include <psrkit/status.h>

#include "source_made.h"
#include "tap.h"
#include <fftw3.h>
#include <pthread.h>

/* --- the heap --------------------------------------------------------------------------------- */

/* What was allocated while the heap was watched and is not free yet. */
enum { NLIVE = 1 << 16 };

static struct {
    pthread_mutex_t mutex;
    bool watched;
    int64_t count, fail_at; /* allocations so far; the one to fail, from 1; 0: none */
    void *live[NLIVE];
    size_t nlive;
} heap = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* Returned: whether this allocation is to fail. */
static bool fails(void)
{
    pthread_mutex_lock(&heap.mutex);
    const bool now = heap.watched && ++heap.count == heap.fail_at;
    pthread_mutex_unlock(&heap.mutex);
    return now;
}

static void *born(void *p)
{
    pthread_mutex_lock(&heap.mutex);
    if (heap.watched && p && heap.nlive < NLIVE)
        heap.live[heap.nlive++] = p;
    pthread_mutex_unlock(&heap.mutex);
    return p;
}

static void dies(const void *p)
{
    pthread_mutex_lock(&heap.mutex);
    for (size_t k = heap.nlive; p && k-- > 0;)
        if (heap.live[k] == p) {
            heap.live[k] = heap.live[--heap.nlive];
            break;
        }
    pthread_mutex_unlock(&heap.mutex);
}

/* Stands before a function that allocates: DECLARED (PASSED). */
#define ALLOCATES(result, name, declared, passed)                                                  \
    result __real_##name declared;                                                                 \
    result __wrap_##name declared;                                                                 \
    result __wrap_##name declared                                                                  \
    {                                                                                              \
        return fails() ? NULL : born(__real_##name passed);                                        \
    }

#define FREES(name, type)                                                                          \
    void __real_##name(type p);                                                                    \
    void __wrap_##name(type p);                                                                    \
    void __wrap_##name(type p)                                                                     \
    {                                                                                              \
        dies(p);                                                                                   \
        __real_##name(p);                                                                          \
    }

ALLOCATES(void *, malloc, (size_t n), (n))
ALLOCATES(void *, calloc, (size_t n, size_t size), (n, size))
ALLOCATES(void *, aligned_alloc, (size_t alignment, size_t n), (alignment, n))
ALLOCATES(char *, strdup, (const char *text), (text))
ALLOCATES(char *, strndup, (const char *text, size_t n), (text, n))
ALLOCATES(void *, fftwf_malloc, (size_t n), (n))
ALLOCATES(fftwf_plan, fftwf_plan_dft_1d,
          (int n, fftwf_complex *in, fftwf_complex *out, int sign, unsigned flags),
          (n, in, out, sign, flags))
ALLOCATES(fftwf_plan, fftwf_plan_dft_r2c_1d, (int n, float *in, fftwf_complex *out, unsigned flags),
          (n, in, out, flags))
ALLOCATES(fftwf_plan, fftwf_plan_guru_dft,
          (int rank, const fftwf_iodim *dim, int loops, const fftwf_iodim *loop, fftwf_complex *in,
           fftwf_complex *out, int sign, unsigned flags),
          (rank, dim, loops, loop, in, out, sign, flags))
ALLOCATES(fftwf_plan, fftwf_plan_guru64_dft,
          (int rank, const fftwf_iodim64 *dim, int loops, const fftwf_iodim64 *loop,
           fftwf_complex *in, fftwf_complex *out, int sign, unsigned flags),
          (rank, dim, loops, loop, in, out, sign, flags))
ALLOCATES(fftwf_plan, fftwf_plan_guru64_dft_r2c,
          (int rank, const fftwf_iodim64 *dim, int loops, const fftwf_iodim64 *loop, float *in,
           fftwf_complex *out, unsigned flags),
          (rank, dim, loops, loop, in, out, flags))
ALLOCATES(fftwf_plan, fftwf_plan_guru_split_dft,
          (int rank, const fftwf_iodim *dim, int loops, const fftwf_iodim *loop, float *ri,
           float *ii, float *ro, float *io, unsigned flags),
          (rank, dim, loops, loop, ri, ii, ro, io, flags))
FREES(free, void *)
FREES(fftwf_free, void *)
FREES(fftwf_destroy_plan, fftwf_plan)

void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

void *__wrap_realloc(void *p, size_t n)
{
    if (fails())
        return NULL;
    dies(p);
    return born(__real_realloc(p, n));
}

/* --- one use after the other ------------------------------------------------------------------ */

typedef psr_status use_of(psr_err *err);

struct outcome {
    psr_status st;
    psr_err err;
    int64_t count;
    size_t left;
    int descriptors; /* more than before */
};

static struct outcome run(use_of *use, int64_t fail_at)
{
    struct outcome o = {.err = {.msg = ""}, .descriptors = -count_descriptors()};
    heap.count = 0;
    heap.nlive = 0;
    heap.fail_at = fail_at;
    heap.watched = true;
    o.st = use(&o.err);
    heap.watched = false;
    o.count = heap.count;
    o.left = heap.nlive;
    o.descriptors += count_descriptors();
    return o;
}

/* A plan of FFTW's says what it is for, as memory is not always what it lacks. */
static bool says_so(const struct outcome *o)
{
    return o->err.msg[0] && (o->st == PSR_ENOMEM || strstr(o->err.msg, "FFTW has no plan"));
}

/* spared: how many of the allocations files do without, as they then write as it comes. */
static void try_all(const char *what, use_of *use, int64_t spared)
{
    const struct outcome whole = run(use, 0), again = run(use, 0);
    if (!ok(!whole.st && !again.st && !again.left && !again.descriptors && again.count > 0,
            "%s: %lld allocations, and all are freed", what, (long long)again.count))
        diag("%s; %zu, %d left", again.err.msg, again.left, again.descriptors);
    int64_t wrong = 0, fine = 0;
    for (int64_t k = 1; k <= again.count; k++) {
        const struct outcome o = run(use, k);
        fine += !o.st;
        if ((!o.st || says_so(&o)) && !o.left && !o.descriptors)
            continue;
        if (wrong++ < 5)
            diag("allocation %lld: status %d, %s; %zu allocations and %d descriptors are left",
                 (long long)k, (int)o.st, o.err.msg, o.left, o.descriptors);
    }
    ok(!wrong && fine <= spared,
       "%s: it says if it lacks one, and keeps none: %lld wrong, %lld spared", what,
       (long long)wrong, (long long)fine);
}

#endif
