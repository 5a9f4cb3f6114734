/* Puts the numbered frames of a network stream in order. */
#include "base/base.h"
#include "udp.h"

#include <stdlib.h>
#include <string.h>

/* Frames are kept by position: numbers less a shift, which a jump changes so that positions go on. */
enum { CONFIRM = 16, NEAR = 16 };
static const int64_t number_max = INT64_C(1) << 62;

struct psr_frame_order {
    struct psr_frame_order_desc d;
    struct psr_frame_counts counts;
    bool started;
    int64_t next, end; /* positions: given out next; after the highest put */
    int64_t floor;     /* after the last jump: frames below it have other numbers */
    int64_t shift;     /* number of position 0 */
    int64_t given_up;  /* positions below are not waited for */
    struct {
        bool pending; /* at position floor, not given out yet */
        bool restart;
        int64_t lost;
        int64_t shift; /* before it */
    } jump;
    struct psr_own own;
    bool dropping;        /* until there is room again */
    unsigned char *frame; /* [room] slots */
    size_t *slot;         /* [room] of position p at p % room */
    size_t
        *spare; /* [nspare] free slots; the last one freed is taken first, so that few are used */
    size_t nspare;
    double now_s;
    double *arrival_s; /* [room] when the frame in a slot came */
    int64_t *position; /* [room] last one at p % room that had a frame; -1: none */
    struct {
        size_t n, age; /* age: frames in place since the first, at most CONFIRM */
        int64_t number[CONFIRM];
        unsigned char *frame; /* [CONFIRM] */
    } strange;
};

psr_status psr_frame_order_create(psr_frame_order **out, const struct psr_frame_order_desc *desc,
                                  psr_err *err)
{
    *out = NULL;
    if (desc->frame_bytes < 1)
        return psr_fail_field(err, PSR_EINVAL, "frame_bytes", "frames of 0 bytes");
    if (desc->window < 1)
        return psr_fail_field(err, PSR_EINVAL, "window", "a window of 0 frames, must be 1 or more");
    if (desc->room / 2 < desc->window || desc->room < CONFIRM ||
        desc->room > SIZE_MAX / 2 / desc->frame_bytes)
        return psr_fail_field(err, PSR_EINVAL, "room", "room for %zu frames, must be %zu or more",
                              desc->room, 2 * desc->window > CONFIRM ? 2 * desc->window : CONFIRM);

    psr_frame_order *o = calloc(1, sizeof *o);
    if (!o)
        return psr_fail_nomem(err, "the order of frames", sizeof *o);
    o->d = *desc;
    o->frame = psr_own(&o->own, desc->room, desc->frame_bytes);
    o->slot = psr_own(&o->own, desc->room, sizeof *o->slot);
    o->spare = psr_own(&o->own, desc->room, sizeof *o->spare);
    o->position = psr_own(&o->own, desc->room, sizeof *o->position);
    o->arrival_s = psr_own(&o->own, desc->room, sizeof *o->arrival_s);
    o->strange.frame = psr_own(&o->own, CONFIRM, desc->frame_bytes);
    psr_status st = psr_own_check(&o->own, "frames to be put in order", err);
    if (st) {
        psr_frame_order_destroy(o);
        return st;
    }
    for (size_t i = 0; i < desc->room; i++) {
        o->position[i] = -1;
        o->slot[i] = i;
        o->spare[i] = desc->room - 1 - i;
    }
    o->nspare = desc->room;
    *out = o;
    return PSR_OK;
}

void psr_frame_order_destroy(psr_frame_order *o)
{
    if (!o)
        return;
    psr_own_free(&o->own);
    free(o);
}

/* --- frames that come ------------------------------------------------------------------------- */

static size_t place_of(const psr_frame_order *o, int64_t position)
{
    return (size_t)(position % (int64_t)o->d.room);
}

static bool is_there(const psr_frame_order *o, int64_t position)
{
    return position >= 0 && o->position[place_of(o, position)] == position;
}

/* So that what is missing is few long blocks, and not many short ones. */
static bool has_room(psr_frame_order *o, int64_t position)
{
    const int64_t room = (int64_t)o->d.room, left = o->next + room - position;
    if (o->dropping ? left > room / 16 : left > 0) {
        o->dropping = false;
        return true;
    }
    o->counts.drops += !o->dropping;
    o->counts.dropped++;
    o->dropping = true;
    return false;
}

/* A frame without room will be lost when its turn comes. */
static void place(psr_frame_order *o, int64_t position, const void *frame)
{
    const size_t at = place_of(o, position);
    const int64_t end = position >= o->end ? position + 1 : o->end;
    const bool kept = has_room(o, position);
    o->end = end;
    if (!kept)
        return;
    o->slot[at] = o->spare[--o->nspare];
    memcpy(o->frame + o->slot[at] * o->d.frame_bytes, frame, o->d.frame_bytes);
    o->arrival_s[o->slot[at]] = o->now_s;
    o->position[at] = position;
    o->counts.accepted++;
}

static void forget_strange(psr_frame_order *o)
{
    o->counts.rejected += (int64_t)o->strange.n;
    o->strange.n = o->strange.age = 0;
}

static bool has_strange(const psr_frame_order *o, int64_t number)
{
    for (size_t i = 0; i < o->strange.n; i++)
        if (o->strange.number[i] == number)
            return true;
    return false;
}

static void put_strange(psr_frame_order *o, int64_t number, const void *frame)
{
    const int64_t near = (int64_t)(o->d.window > NEAR ? o->d.window : NEAR);
    if (o->strange.n && llabs(number - o->strange.number[o->strange.n - 1]) >= near)
        forget_strange(o);
    if (has_strange(o, number)) {
        o->counts.duplicate++;
        return;
    }
    o->strange.number[o->strange.n] = number;
    memcpy(o->strange.frame + o->strange.n * o->d.frame_bytes, frame, o->d.frame_bytes);
    if (++o->strange.n < CONFIRM)
        return;
    if (o->jump.pending)
        forget_strange(o);
    else {
        /* The strange frames are the stream: it goes on with them at the next position. */
        int64_t lowest = o->strange.number[0];
        for (size_t i = 1; i < o->strange.n; i++)
            lowest = o->strange.number[i] < lowest ? o->strange.number[i] : lowest;
        const int64_t missing = lowest - (o->end + o->shift);
        const bool restart = missing < 0 || (o->d.most_lost && missing > o->d.most_lost);
        o->jump.pending = true;
        o->jump.restart = restart;
        o->jump.lost = restart ? 0 : missing;
        o->counts.jumps += !restart;
        o->counts.restarts += restart;
        o->jump.shift = o->shift;
        o->floor = o->given_up = o->end;
        o->shift = lowest - o->end;
        for (size_t i = 0; i < o->strange.n; i++)
            place(o, o->strange.number[i] - o->shift, o->strange.frame + i * o->d.frame_bytes);
        o->strange.n = o->strange.age = 0;
    }
}

void psr_frame_order_begin(psr_frame_order *o, int64_t number)
{
    o->shift = number;
    o->started = true;
}

void psr_frame_order_clock(psr_frame_order *o, double now_s)
{
    o->now_s = now_s;
}

void psr_frame_order_put(psr_frame_order *o, int64_t number, const void *frame)
{
    if (number < 0 || number > number_max) {
        o->counts.rejected++;
        return;
    }
    if (!o->started)
        psr_frame_order_begin(o, number);
    const int64_t position = number - o->shift;
    const bool ahead = position >= o->end + (int64_t)o->d.window;
    const bool behind = position < o->next - (int64_t)o->d.room;
    if (ahead || behind)
        put_strange(o, number, frame);
    else {
        if (o->strange.n && ++o->strange.age > CONFIRM)
            forget_strange(o);
        if (position >= o->floor && is_there(o, position))
            o->counts.duplicate++;
        else if (position < o->floor || position < o->next)
            o->counts.late++;
        else
            place(o, position, frame);
    }
}

void psr_frame_order_give_up(psr_frame_order *o)
{
    o->given_up = o->end;
}

/* --- frames given out ------------------------------------------------------------------------- */

/* Where what is known ends: at the highest frame put, or at a jump. */
static int64_t stop_of(const psr_frame_order *o)
{
    return o->jump.pending ? o->floor : o->end;
}

static struct psr_frame_run take_lost(psr_frame_order *o)
{
    const int64_t window = (int64_t)o->d.window, stop = stop_of(o),
                  sure = o->end - window > o->given_up ? o->end - window : o->given_up;
    struct psr_frame_run run = {0};
    while (o->next < stop && o->next < sure && !is_there(o, o->next)) {
        o->next++;
        run.lost++;
    }
    o->counts.lost += run.lost;
    return run;
}

static struct psr_frame_run take_run(psr_frame_order *o, size_t n, void *frames)
{
    const size_t bytes = o->d.frame_bytes;
    struct psr_frame_run run = {0};
    if (o->jump.pending && o->next == o->floor) {
        run.lost = o->jump.lost;
        run.restart = o->jump.restart;
        o->jump.pending = false;
        o->counts.lost += run.lost;
        if (run.lost || run.restart)
            return run;
    }
    const int64_t stop = stop_of(o);
    for (; run.n < n && o->next < stop && is_there(o, o->next); run.n++, o->next++) {
        const size_t slot = o->slot[place_of(o, o->next)];
        memcpy((unsigned char *)frames + run.n * bytes, o->frame + slot * bytes, bytes);
        run.arrival_s = run.n == 0 ? o->arrival_s[slot] : run.arrival_s;
        o->spare[o->nspare++] = slot;
    }
    return run.n ? run : take_lost(o);
}

struct psr_frame_run psr_frame_order_take(psr_frame_order *o, size_t n, void *frames)
{
    struct psr_frame_run run = take_run(o, n, frames);
    run.next = psr_frame_order_next(o);
    return run;
}

int64_t psr_frame_order_next(const psr_frame_order *o)
{
    return o->next + (o->jump.pending ? o->jump.shift : o->shift);
}

int64_t psr_frame_order_end(const psr_frame_order *o)
{
    return o->end + o->shift;
}

struct psr_frame_counts psr_frame_order_counts(const psr_frame_order *o)
{
    return o->counts;
}
