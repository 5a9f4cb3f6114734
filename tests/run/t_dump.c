/* dump: files hold the spectra that were asked for, byte for byte; what is lost is counted, and said. */
#include "base/obs_internal.h"
#include "run/dedisperse/pulses/pulse_parts.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

#include <pthread.h>

enum { NSAMP = 20000 };
static const double tsamp_s = 1e-3;

/* --- notes, which may be held up -------------------------------------------------------------- */

struct notes {
    pthread_mutex_t lock; /* held: the thread that writes waits in its note */
    int n;
    char last[512];
};

static void take_note(void *ctx, const char *text)
{
    struct notes *notes = ctx;
    pthread_mutex_lock(&notes->lock);
    notes->n++;
    snprintf(notes->last, sizeof notes->last, "%s", text);
    pthread_mutex_unlock(&notes->lock);
}

/* --- a ring and its spectra ------------------------------------------------------------------- */

struct shape {
    size_t nchan;
    int nbit;
    enum psr_kind kind;
};

struct made {
    struct psr_obs obs;
    size_t row_bytes;
    unsigned char *spectra; /* [NSAMP][row_bytes] */
    struct notes notes;
    psr_dump *dump;
};

static void begin(struct made *m, const struct shape *shape, double ring_s, bool waits,
                  uint64_t *seed)
{
    psr_err err;
    *m = (struct made){.notes = {.lock = PTHREAD_MUTEX_INITIALIZER}};
    psr_obs_init(&m->obs);
    m->obs.nchan = shape->nchan;
    m->obs.nif = 1;
    m->obs.nbit = shape->nbit;
    m->obs.kind = shape->kind;
    m->obs.fch1_mhz = 1500;
    m->obs.foff_mhz = -0.5;
    m->obs.tsamp_s = tsamp_s;
    m->obs.tstart = (struct psr_mjd){58000, 0.25};
    m->row_bytes = shape->nchan * (size_t)shape->nbit / 8;
    m->spectra = tap_take(NSAMP, m->row_bytes);
    for (size_t i = 0; i < NSAMP * m->row_bytes; i++)
        m->spectra[i] = (unsigned char)(tap_random(seed) >> 56);
    const struct psr_dump_desc d = {.obs = &m->obs,
                                    .row_bytes = m->row_bytes,
                                    .ring_s = ring_s,
                                    .folder = scratch_dir,
                                    .waits = waits,
                                    .notes = {take_note, &m->notes}};
    if (psr_dump_create(&m->dump, &d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
}

static void push(struct made *m, int64_t first, int64_t n)
{
    psr_dump_push(m->dump, m->spectra + (size_t)first * m->row_bytes, (size_t)n);
}

static void end(struct made *m)
{
    psr_dump_destroy(m->dump);
    free(m->spectra);
    psr_obs_clear(&m->obs);
    scratch_empty();
}

/* Waits until nothing changes any more that another thread does. */
static void settle(struct made *m, bool (*done)(struct psr_dump_counts c))
{
    for (int i = 0; i < 5000 && !done(psr_dump_count(m->dump)); i++)
        usleep(1000);
}

/* Whether a file has these spectra, and says when they began. */
static bool holds(const struct made *m, const char *name, int64_t first, int64_t end_)
{
    const char *path = scratch(name);
    const struct psr_source_desc d = {.size = sizeof d, .path = &path, .npath = 1, .if_choice = -1};
    psr_source *s;
    psr_err err;
    if (psr_source_open(&s, &d, &err)) {
        diag("%s", err.msg);
        return false;
    }
    const struct psr_obs *obs = psr_source_obs(s);
    const size_t n = (size_t)(end_ - first);
    unsigned char *got = tap_take(n + 1, m->row_bytes);
    size_t nread = 0;
    const double late_s =
        psr_mjd_diff_s(m->obs.tstart, obs->tstart) - (double)first * m->obs.tsamp_s;
    bool same = obs->nsamp == (int64_t)n && obs->nchan == m->obs.nchan &&
                obs->nbit == m->obs.nbit && obs->kind == m->obs.kind &&
                obs->fch1_mhz == m->obs.fch1_mhz && obs->foff_mhz == m->obs.foff_mhz &&
                fabs(late_s) < 2e-6 && !psr_source_read(s, n + 1, got, &nread, &err) &&
                nread == n &&
                !memcmp(got, m->spectra + (size_t)first * m->row_bytes, n * m->row_bytes);
    if (!same)
        diag("%s: %lld spectra, not %zu; %g s late", name, (long long)obs->nsamp, n, late_s);
    free(got);
    psr_source_close(s);
    return same;
}

static struct psr_mjd date_of(const struct made *m, int64_t t)
{
    return psr_mjd_add(m->obs.tstart, (double)t * m->obs.tsamp_s);
}

static void print_counts(const struct made *m, struct psr_dump_counts c)
{
    diag("%lld pulses, %lld files, %lld late, %lld busy, %lld slow, %lld failed; last note: %s",
         (long long)c.npulse, (long long)c.nfile, (long long)c.nlate, (long long)c.nbusy,
         (long long)c.nslow, (long long)c.nfailed, m->notes.last);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* Every file has the spectra of the pulses that it was named for. */
static bool check_stream(struct made *m, uint64_t *seed)
{
    enum { MOST = 64 };
    struct {
        char name[PSR_DUMP_NAME];
        int64_t first, end;
    } kept[MOST];
    size_t nkept = 0;
    const int64_t capacity = psr_dump_capacity(m->dump);
    bool good = true;
    for (int64_t at = 0, n; at < NSAMP; at += n) {
        n = tap_between(seed, 1, capacity);
        n = n < NSAMP - at ? n : NSAMP - at;
        push(m, at, n);
        const int64_t seen = at + n, oldest = seen > capacity ? seen - capacity : 0;
        if (nkept == MOST)
            continue;
        const int64_t first = tap_between(seed, oldest - 20, seen - 1),
                      end_ = first + tap_between(seed, 1, capacity);
        psr_dump_keep(m->dump, (struct psr_span){first, end_ - first}, date_of(m, first), 12.345,
                      kept[nkept].name);
        kept[nkept].first = first > 0 ? first : 0;
        kept[nkept].end = end_;
        nkept += *kept[nkept].name != '\0';
        good &= *kept[nkept - (nkept > 0)].name || first < oldest;
    }
    psr_dump_finish(m->dump);
    for (size_t k = 0; k < nkept; k++) {
        int64_t first = kept[k].first, end_ = kept[k].end;
        for (size_t j = 0; j < nkept; j++)
            if (!strcmp(kept[j].name, kept[k].name)) {
                first = kept[j].first < first ? kept[j].first : first;
                end_ = kept[j].end > end_ ? kept[j].end : end_;
            }
        good &=
            end_ - first <= capacity && holds(m, kept[k].name, first, end_ < NSAMP ? end_ : NSAMP);
    }
    const struct psr_dump_counts c = psr_dump_count(m->dump);
    print_counts(m, c);
    return good && c.npulse == (int64_t)nkept && c.nfile == scratch_count(".fil") && c.nfile > 1 &&
           !c.nbusy && !c.nslow && !c.nfailed && !scratch_count(".part");
}

static void test_streams(uint64_t *seed)
{
    static const struct shape shapes[] = {{24, 8, PSR_UINT}, {64, 1, PSR_UINT}, {32, 2, PSR_UINT},
                                          {16, 4, PSR_UINT}, {7, 16, PSR_UINT}, {5, 32, PSR_FLOAT},
                                          {11, 8, PSR_INT}};
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        struct made m;
        begin(&m, &shapes[k], (double)tap_between(seed, 200, 3000) * tsamp_s, true, seed);
        ok(check_stream(&m, seed), "%zu channels of %d bits: each file has its spectra",
           shapes[k].nchan, shapes[k].nbit);
        end(&m);
    }
}

static const struct shape bytes = {24, 8, PSR_UINT};

static void test_sharing(uint64_t *seed)
{
    struct made m;
    char a[PSR_DUMP_NAME], b[PSR_DUMP_NAME], c[PSR_DUMP_NAME], late[PSR_DUMP_NAME];
    begin(&m, &bytes, 1, true, seed);
    push(&m, 0, 1500);
    psr_dump_keep(m.dump, (struct psr_span){499, 900}, date_of(&m, 600), 5, late);
    psr_dump_keep(m.dump, (struct psr_span){1000, 600}, date_of(&m, 1100), 5, a);
    psr_dump_keep(m.dump, (struct psr_span){1200, 700}, date_of(&m, 1300), 7, b);
    psr_dump_keep(m.dump, (struct psr_span){1300, 900}, date_of(&m, 1400), 6, c);
    push(&m, 1500, 3000);
    psr_dump_finish(m.dump);
    ok(!strcmp(a, "58000.2500127315_DM5.00.fil"), "a name has date and DM: %s", a);
    ok(!strcmp(a, b) && holds(&m, a, 1000, 1900), "pulses that overlap share a file");
    ok(strcmp(a, c) && holds(&m, c, 1300, 2200), "but none longer than the ring");
    ok(!*late && psr_dump_count(m.dump).nlate == 1, "what has left the ring is not kept");
    ok(strcmp(a, c) < 0, "names sort by time");
    end(&m);
}

static bool has_failed(struct psr_dump_counts c)
{
    return c.nfailed > 0;
}

static bool has_two(struct psr_dump_counts c)
{
    return c.nfile == 2;
}

/* A file that is there stays; the note is held up, so that the disk seems to be. */
static void test_slow(uint64_t *seed)
{
    struct made m;
    char name[PSR_DUMP_NAME], other[PSR_DUMP_NAME];
    begin(&m, &bytes, 1, false, seed);
    scratch_write_text(scratch("58000.2500000000_DM1.00.fil"), "mine");
    push(&m, 0, 900);
    pthread_mutex_lock(&m.notes.lock);
    psr_dump_keep(m.dump, (struct psr_span){0, 600}, m.obs.tstart, 1, name);
    settle(&m, has_failed);
    for (int k = 0; k < 20; k++)
        psr_dump_keep(m.dump, (struct psr_span){200 + 20 * k, 990}, date_of(&m, k), 2, other);
    ok(psr_dump_count(m.dump).nbusy == 4 && !*other, "more files than places are not begun");
    push(&m, 900, 5000);
    pthread_mutex_unlock(&m.notes.lock);
    psr_dump_finish(m.dump);
    const struct psr_dump_counts c = psr_dump_count(m.dump);
    ok(c.nslow == 16 && c.nfailed == 1 && !c.nfile, "the disk is slow: %lld files are given up",
       (long long)c.nslow);
    ok(m.notes.n == 1 &&
           strstr(m.notes.last, "is there already, and stays as it is: not kept, and"),
       "of failures that follow each other the first is said: %s", m.notes.last);
    ok(scratch_count("") == 1, "no part of a file is left, and what was there is");
    end(&m);
}

static void test_slow_note(uint64_t *seed)
{
    struct made m;
    char name[PSR_DUMP_NAME];
    begin(&m, &bytes, 1, false, seed);
    psr_dump_keep(m.dump, (struct psr_span){0, 6}, m.obs.tstart, 3, name);
    push(&m, 0, 900);
    psr_dump_keep(m.dump, (struct psr_span){100, 6}, date_of(&m, 100), 1, name);
    settle(&m, has_two);
    psr_dump_keep(m.dump, (struct psr_span){200, 5000}, date_of(&m, 200), 1, name);
    /* At once, under the thread's feet. */
    for (int64_t at = 900; at + 1000 <= NSAMP; at += 1000)
        push(&m, at, 1000);
    psr_dump_finish(m.dump);
    const struct psr_dump_counts c = psr_dump_count(m.dump);
    print_counts(&m, c);
    ok(c.nfile + c.nslow == 3 && c.nfile >= 2 && m.notes.n == (int)c.nslow,
       "a race with the ring ends either way: %lld files", (long long)c.nfile);
    end(&m);
}

/* As a full disk, and what happens when it has room again. */
static void test_full(uint64_t *seed)
{
    struct made m;
    char name[PSR_DUMP_NAME], good[PSR_DUMP_NAME];
    struct rlimit before, small;
    signal(SIGXFSZ, SIG_IGN);
    begin(&m, &bytes, 5, true, seed);
    push(&m, 0, 6000);
    getrlimit(RLIMIT_FSIZE, &before);
    small = before;
    small.rlim_cur = 4096;
    setrlimit(RLIMIT_FSIZE, &small);
    psr_dump_keep(m.dump, (struct psr_span){1000, 4000}, date_of(&m, 1000), 3, name);
    settle(&m, has_failed);
    setrlimit(RLIMIT_FSIZE, &before);
    psr_dump_keep(m.dump, (struct psr_span){2000, 4000}, date_of(&m, 2000), 3, good);
    push(&m, 6000, 1000);
    psr_dump_finish(m.dump);
    const struct psr_dump_counts c = psr_dump_count(m.dump);
    print_counts(&m, c);
    ok(c.nfailed == 1 && c.nfile == 1 && holds(&m, good, 2000, 6000),
       "a full disk costs a file, and no later one");
    ok(m.notes.n == 1 && strstr(m.notes.last, name) && strstr(m.notes.last, "File too large"),
       "one line says so: %s", m.notes.last);
    ok(scratch_count("") == 1, "and no part of it is left");
    end(&m);
}

static void test_abort(uint64_t *seed)
{
    struct made m;
    char name[PSR_DUMP_NAME];
    begin(&m, &bytes, 5, true, seed);
    push(&m, 0, 4000);
    psr_dump_keep(m.dump, (struct psr_span){100, 4500}, date_of(&m, 100), 3, name);
    psr_dump_destroy(m.dump);
    m.dump = NULL;
    ok(!scratch_count(""), "what was not finished leaves nothing");
    end(&m);
}

static void refuses(struct psr_dump_desc d, psr_status want, const char *text)
{
    psr_err err;
    psr_dump *dump;
    psr_status st = psr_dump_create(&dump, &d, &err);
    ok(st == want && !dump && strstr(err.msg, text), "%s", err.msg);
    psr_dump_destroy(dump);
}

static void test_refusals(void)
{
    struct psr_obs obs;
    psr_obs_init(&obs);
    obs.nchan = 6, obs.nif = 1, obs.nbit = 8, obs.fch1_mhz = 1400, obs.foff_mhz = 1,
    obs.tsamp_s = 1e-3;
    const struct psr_dump_desc good = {
        .obs = &obs, .row_bytes = 6, .ring_s = 1, .folder = scratch_dir};
    struct psr_dump_desc d = good;
    d.folder = "/nowhere/at/all", refuses(d, PSR_EIO, "-dump /nowhere/at/all: No such file");
    d = good, d.folder = "/dev/null", refuses(d, PSR_EIO, "-dump /dev/null: ");
    d = good, d.mem_bytes = 5999,
    refuses(d, PSR_EINVAL,
            "-ring 1 s: takes 5.86 KiB, must be a spectrum or more, and at most 5.86 KiB");
    d = good, d.ring_s = 1e6, d.mem_bytes = 1 << 20,
    refuses(d, PSR_EINVAL, "-ring 1e+06 s: takes 5.59 GiB");
    obs.kind = PSR_UINT, obs.nbit = 4, obs.nchan = 5,
    refuses(good, PSR_EUNSUPPORTED, "5 channels of 4 bits");
    obs.nbit = 32, refuses(good, PSR_EUNSUPPORTED, "whole numbers of 32 bits");
    psr_obs_clear(&obs);
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    test_streams(&seed);
    test_sharing(&seed);
    test_slow(&seed);
    test_slow_note(&seed);
    test_full(&seed);
    test_abort(&seed);
    test_refusals();
    return done_testing();
}
