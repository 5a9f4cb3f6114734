/* frame_order: frames of a network stream against what was sent. */
#include "formats/stream/udp.h"

#include "tests/support/tap.h"
#include <string.h>

enum { BYTES = 24, LONGEST_LOSS = 24 /* in a row; more is improbable at 0.3 */ };

/* A frame that tells its number. */
static void fill(unsigned char frame[BYTES], int64_t number)
{
    for (size_t i = 0; i < BYTES; i += sizeof number)
        memcpy(frame + i, &number, sizeof number);
}

static bool is_filled(const unsigned char *frame, int64_t number)
{
    unsigned char want[BYTES];
    fill(want, number);
    return !memcmp(frame, want, BYTES);
}

static psr_frame_order *create(size_t window, size_t room)
{
    psr_frame_order *o = NULL;
    psr_err err;
    const struct psr_frame_order_desc d = {.frame_bytes = BYTES, .window = window, .room = room};
    if (psr_frame_order_create(&o, &d, &err)) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
    return o;
}

static void put(psr_frame_order *o, int64_t number)
{
    unsigned char frame[BYTES];
    fill(frame, number);
    psr_frame_order_put(o, number, frame);
}

/* What comes out, one frame after the other. */
struct seen {
    int64_t next;    /* number expected */
    int64_t n, lost; /* frames, right ones */
    bool wrong;      /* a frame of another number */
    int restarts;
};

static void take_all(psr_frame_order *o, size_t most, struct seen *seen)
{
    unsigned char frames[64 * BYTES];
    for (;;) {
        const struct psr_frame_run run = psr_frame_order_take(o, most, frames);
        if (!run.n && !run.lost && !run.restart)
            return;
        if (run.restart) {
            seen->restarts++;
            seen->next = psr_frame_order_next(o);
        }
        for (size_t i = 0; i < run.n; i++) {
            seen->wrong |= !is_filled(frames + i * BYTES, seen->next);
            seen->next++;
        }
        seen->next += run.lost;
        seen->n += (int64_t)run.n;
        seen->lost += run.lost;
        seen->wrong |= psr_frame_order_next(o) != seen->next;
    }
}

/* A stream as a network delivers it: some lost, some twice, none more than reach places from its own. */
struct delivery {
    size_t n;
    int64_t *number; /* [n] */
    size_t sent, twice;
    unsigned char *lost; /* [sent] */
};

static void deliver(struct delivery *d, size_t sent, double loss, double twice, size_t reach,
                    uint64_t *random)
{
    double *when = tap_take(2 * sent, sizeof *when);
    *d = (struct delivery){
        .sent = sent, .number = tap_take(2 * sent, sizeof *d->number), .lost = tap_take(sent, 1)};
    for (size_t i = 0; i < sent; i++) {
        d->lost[i] = i && i + 1 < sent && tap_uniform(random) < loss;
        const size_t copies = d->lost[i] ? 0 : 1 + (tap_uniform(random) < twice);
        for (size_t c = 0; c < copies; c++) {
            const double at = (double)i + (i ? tap_uniform(random) * (double)reach : 0);
            size_t k = d->n++;
            for (; k && when[k - 1] > at; k--) {
                when[k] = when[k - 1];
                d->number[k] = d->number[k - 1];
            }
            when[k] = at;
            d->number[k] = (int64_t)i;
            d->twice += c;
        }
    }
    free(when);
}

static void clear_delivery(struct delivery *d)
{
    free(d->number);
    free(d->lost);
}

/* Frames that came and that were lost are those that the network delivered and lost, to the last: each tells its
 * number, and the numbers are as many. */
static bool run_delivery(const struct delivery *d, int64_t first, size_t window, size_t room,
                         uint64_t *random)
{
    psr_frame_order *o = create(window, room);
    struct seen at = {.next = first};
    bool right = true;
    int64_t lost = 0;
    for (size_t i = 0; i < d->n; i++) {
        put(o, first + d->number[i]);
        if (tap_random(random) % 4 == 0)
            take_all(o, 1 + tap_random(random) % 64, &at);
    }
    psr_frame_order_give_up(o);
    take_all(o, 64, &at);
    for (size_t i = 0; i < d->sent; i++)
        lost += d->lost[i];
    const struct psr_frame_counts c = psr_frame_order_counts(o);
    right = !at.wrong && at.next == first + (int64_t)d->sent && at.lost == lost &&
            at.n == (int64_t)d->sent - lost && c.accepted == at.n && c.lost == lost &&
            c.duplicate == (int64_t)d->twice && !c.late && !c.dropped && !c.rejected && !c.jumps;
    if (!right)
        diag(
            "next %lld of %zu, lost %lld of %lld, accepted %lld, duplicate %lld of %zu, late %lld, "
            "dropped %lld, rejected %lld, jumps %lld",
            (long long)(at.next - first), d->sent, (long long)at.lost, (long long)lost,
            (long long)c.accepted, (long long)c.duplicate, d->twice, (long long)c.late,
            (long long)c.dropped, (long long)c.rejected, (long long)c.jumps);
    psr_frame_order_destroy(o);
    return right;
}

static void test_random_networks(uint64_t *random)
{
    size_t wrong = 0, frames = 0;
    for (int i = 0; i < 300; i++) {
        struct delivery d;
        const size_t reach = tap_random(random) % 65;
        const double loss = i % 3 == 0 ? 0 : tap_uniform(random) * 0.3;
        const size_t window = reach + LONGEST_LOSS + (size_t)(i % 7);
        deliver(&d, 1 + tap_random(random) % 3000, loss, tap_uniform(random) * 0.1, reach, random);
        wrong += !run_delivery(&d, (int64_t)(tap_random(random) >> 3), window,
                               2 * window + 8 + tap_random(random) % 100, random);
        frames += d.sent;
        clear_delivery(&d);
    }
    ok(!wrong, "%zu of 300 networks (%zu frames) gave another stream or account", wrong, frames);
}

static void test_late_frames(void)
{
    psr_frame_order *o = create(3, 16);
    struct seen seen = {.next = 10};
    put(o, 10);
    put(o, 12);
    put(o, 13);
    take_all(o, 8, &seen);
    ok(seen.n == 1 && !seen.lost, "a frame is waited for, and those after it wait");
    put(o, 14);
    put(o, 15);
    take_all(o, 8, &seen);
    ok(seen.n == 5 && seen.lost == 1 && !seen.wrong, "until one a window ahead has come");
    put(o, 11);
    put(o, 12);
    take_all(o, 8, &seen);
    struct psr_frame_counts c = psr_frame_order_counts(o);
    ok(seen.n == 5 && c.late == 1 && c.duplicate == 1, "then it is late, and a second one a copy");
    psr_frame_order_destroy(o);
}

/* A run says when the first of its frames came, in whatever order, also after slots have been used again. */
static void test_clock(uint64_t *random)
{
    enum { SENT = 500 };
    psr_frame_order *o = create(16, 40);
    double arrival_s[SENT];
    unsigned char frames[3 * BYTES];
    size_t wrong = 0, next = 0;
    for (int64_t k = 0; k < SENT; k += 4)
        for (int64_t i = 0; i < 4; i++) {
            const int64_t number = k + (i ^ (int64_t)(k % 3 == 0 && k > 0));
            arrival_s[number] = 7 + tap_uniform(random);
            psr_frame_order_clock(o, arrival_s[number]);
            put(o, number);
            psr_frame_order_clock(o, 1);
            put(o, number); /* a second one is dropped */
            const struct psr_frame_run run =
                psr_frame_order_take(o, 1 + tap_random(random) % 3, frames);
            wrong += run.n > 0 ? run.arrival_s != arrival_s[next] : run.arrival_s != 0;
            next += run.n;
        }
    ok(!wrong && next > SENT / 2, "%zu frames came when they were put", next);
    psr_frame_order_destroy(o);
}

static void test_jump_ahead(void)
{
    psr_frame_order *o = create(8, 32);
    struct seen seen = {.next = 0};
    for (int64_t k = 0; k < 20; k++)
        put(o, k);
    take_all(o, 8, &seen);
    for (int64_t k = 1000003; k < 1000030; k++)
        put(o, k == 1000004 ? 1000003 : k == 1000003 ? 1000004 : k);
    take_all(o, 8, &seen);
    const struct psr_frame_counts c = psr_frame_order_counts(o);
    ok(seen.n == 47 && seen.lost == 1000003 - 20 && !seen.wrong && seen.next == 1000030 &&
           c.jumps == 1 && c.accepted == 47 && !c.rejected && !c.restarts,
       "a stream that goes on later keeps all that came, and counts what is lost between");
    psr_frame_order_destroy(o);
}

/* Beyond what a jump may lose a stream begins again; fewer than 16 frames, and 16 among many others, are not believed. */
static void test_far(void)
{
    psr_frame_order *o = NULL;
    psr_err err;
    const struct psr_frame_order_desc d = {
        .frame_bytes = BYTES, .window = 8, .room = 64, .most_lost = 1000};
    const int64_t far = INT64_C(1) << 40;
    struct seen seen = {.next = 0};
    if (psr_frame_order_create(&o, &d, &err))
        return;
    for (int64_t k = 0; k < 100; k++) {
        put(o, k);
        take_all(o, 8, &seen);
        if (k % 5 > 1)
            put(o, far + k); /* 60, at most 15 among 32 */
        for (int64_t i = 0; k == 50 && i < 15; i++)
            put(o, 2 * far + i);
    }
    struct psr_frame_counts c = psr_frame_order_counts(o);
    ok(seen.n == 100 && !seen.wrong && !seen.lost && !c.jumps && !c.restarts,
       "few frames far ahead are not believed: %lld jumps, %lld restarts", (long long)c.jumps,
       (long long)c.restarts);
    for (int64_t i = 0; i < 20; i++)
        put(o, far + 1000 + i);
    take_all(o, 8, &seen);
    c = psr_frame_order_counts(o);
    ok(seen.n == 120 && !seen.wrong && !seen.lost && seen.restarts == 1 && c.restarts == 1 &&
           seen.next == far + 1020,
       "a stream that goes on too far ahead begins again there, %lld lost", (long long)seen.lost);
    psr_frame_order_destroy(o);
}

static void test_restart(void)
{
    psr_frame_order *o = create(8, 32);
    struct seen seen = {.next = 500};
    for (int64_t k = 500; k < 600; k++) {
        put(o, k);
        take_all(o, 8, &seen);
    }
    for (int64_t k = 0; k < 20; k++)
        put(o, k);
    take_all(o, 8, &seen);
    const struct psr_frame_counts c = psr_frame_order_counts(o);
    ok(seen.n == 120 && seen.restarts == 1 && !seen.wrong && seen.next == 20 && c.restarts == 1 &&
           !c.lost,
       "a sender that begins again is said, and no frame of it is lost");
    psr_frame_order_destroy(o);
}

/* Numbers at random, and a few near each other, do not move a stream. */
static void test_hostile(uint64_t *random)
{
    psr_frame_order *o = create(16, 64);
    struct seen seen = {.next = 70000};
    int64_t strange = 0;
    for (int64_t k = 70000; k < 90000; k++) {
        put(o, k);
        if (k % 3 == 0) {
            put(o, (int64_t)tap_random(random));
            strange++;
        }
        if (k % 1000 < 3) {
            put(o, 5000000 + k);
            strange++;
        }
        take_all(o, 64, &seen);
    }
    psr_frame_order_give_up(o);
    take_all(o, 64, &seen);
    ok(seen.n == 20000 && !seen.lost && !seen.wrong && !seen.restarts,
       "%lld frames out of place do not move a stream of 20000", (long long)strange);
    psr_frame_order_destroy(o);
}

static void test_slow_caller(void)
{
    psr_frame_order *o = create(8, 32);
    struct seen seen = {.next = 0};
    for (int64_t k = 0; k < 50; k++)
        put(o, k);
    take_all(o, 64, &seen);
    struct psr_frame_counts c = psr_frame_order_counts(o);
    ok(seen.n == 32 && c.accepted == 32 && c.dropped == 18 && c.drops == 1 && !c.rejected,
       "without room frames are dropped and counted: %lld", (long long)c.dropped);
    for (int64_t k = 50; k < 90; k++) {
        put(o, k);
        take_all(o, 64, &seen);
    }
    psr_frame_order_give_up(o);
    take_all(o, 64, &seen);
    c = psr_frame_order_counts(o);
    ok(!seen.wrong && seen.next == 90 && seen.n + seen.lost == 90 && c.lost == seen.lost,
       "and the stream goes on, %lld lost", (long long)seen.lost);
    psr_frame_order_destroy(o);
}

/* What is dropped for a caller who takes half of the frames are few long blocks. */
static void test_blocks(void)
{
    enum { ROOM = 1600, SENT = 40000 };
    unsigned char frames[BYTES];
    psr_frame_order *o = create(8, ROOM);
    struct seen seen = {.next = 0};
    int64_t nrun = 0, shortest = SENT, length = 0;
    for (int64_t k = 0; k < SENT; k++) {
        put(o, k);
        const struct psr_frame_run run =
            k % 2 ? psr_frame_order_take(o, 1, frames) : (struct psr_frame_run){0};
        seen.wrong |= run.n && !is_filled(frames, seen.next);
        seen.next += (int64_t)run.n + run.lost;
        seen.lost += run.lost;
        nrun += run.n && length;
        shortest = run.n && length && length < shortest ? length : shortest;
        length = run.n ? 0 : length + run.lost;
    }
    take_all(o, 64, &seen);
    const struct psr_frame_counts c = psr_frame_order_counts(o);
    ok(!seen.wrong && c.drops > 3 && c.dropped > 100 * c.drops && !c.rejected &&
           c.accepted + c.dropped == SENT && nrun <= c.drops && shortest > 90,
       "a slow caller loses %lld frames in %lld blocks, the shortest of %lld", (long long)c.dropped,
       (long long)c.drops, (long long)shortest);
    psr_frame_order_destroy(o);
}

static void test_desc(void)
{
    const struct psr_frame_order_desc wrong[] = {
        {.frame_bytes = 0, .window = 1, .room = 8},
        {.frame_bytes = 8, .window = 0, .room = 8},
        {.frame_bytes = 8, .window = 5, .room = 8},
        {.frame_bytes = SIZE_MAX / 8, .window = 1, .room = 8},
    };
    bool all = true;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        psr_frame_order *o;
        all &= psr_frame_order_create(&o, &wrong[i], NULL) == PSR_EINVAL && !o;
    }
    ok(all, "sizes that cannot be are refused");
}

int main(void)
{
    uint64_t random = tap_seed();
    test_desc();
    test_clock(&random);
    test_late_frames();
    test_jump_ahead();
    test_far();
    test_restart();
    test_slow_caller();
    test_blocks();
    test_hostile(&random);
    test_random_networks(&random);
    return done_testing();
}
