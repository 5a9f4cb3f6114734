/* frame_order.h: puts the numbered frames of a network stream in order (private).
 *
 * The numbers of frames of one size increase by one; frames arrive early, late, twice or never.  A
 * frame is given out as soon as those before it have been given out or are lost, and one is lost when
 * it has not come although a frame "window" numbers higher has.  A number at least a window above the
 * highest, or far below what was given out, is not believed until 16 of the last 32 frames were around
 * it, so that stray or hostile frames cannot move a stream; then the stream has jumped ahead (frames
 * between are lost) or, if it was too far or back, has begun again.  Memory is used as far as frames are held.  Not thread-safe. */
#ifndef PSR_FORMATS_STREAM_FRAME_ORDER_H
#define PSR_FORMATS_STREAM_FRAME_ORDER_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct psr_frame_order psr_frame_order;

struct psr_frame_order_desc {
    size_t frame_bytes;
    size_t window;     /* frames; 1: a frame is lost when a later one comes */
    size_t room;       /* frames held for the caller, at least 2 windows */
    int64_t most_lost; /* by a jump ahead; by more the stream begins again.  0: any number */
};

/* Frames so far.  Each frame put is in one of the first four, or rejected. */
struct psr_frame_counts {
    int64_t accepted;
    int64_t duplicate;
    int64_t late; /* lost already when they came */
    int64_t
        dropped;   /* there was no room: the caller took frames too slowly.  Once a frame has none,
                         those after it are dropped until a sixteenth of the room is free */
    int64_t drops; /* such blocks */
    int64_t rejected; /* numbers out of place */
    int64_t lost;     /* given out as lost */
    int64_t jumps;    /* ahead by more than a window */
    int64_t restarts; /* began again at a lower number, or one too high */
};

/* Status: PSR_EINVAL naming the field, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_frame_order_create(psr_frame_order **out,
                                                 const struct psr_frame_order_desc *desc,
                                                 psr_err *err);

/* The stream begins with this number; otherwise with that of the first frame put. */
void psr_frame_order_begin(psr_frame_order *o, int64_t number);

/* Frames that are put from now on came at this time, in seconds of any clock. */
void psr_frame_order_clock(psr_frame_order *o, double now_s);

/* Takes a frame.
 * Given:  number   any; those below 0 are out of place */
void psr_frame_order_put(psr_frame_order *o, int64_t number, const void *frame);

/* No frame before the highest is waited for any longer, as when no frames have come for a while. */
void psr_frame_order_give_up(psr_frame_order *o);

/* What comes next in order: n frames, or else lost ones, or else a new beginning; all 0 if that is not
 * known yet. */
struct psr_frame_run {
    size_t n;
    int64_t lost;
    bool restart;
    double arrival_s; /* when the first of the frames came; 0 without a clock */
    int64_t next;     /* as psr_frame_order_next, after the run */
};

static inline bool psr_frame_run_is_empty(const struct psr_frame_run *run)
{
    return !run->n && !run->lost && !run->restart;
}

/* Gives out the next frames.
 * Given:    frames   room for n of them
 * Returned: frames   those of the run */
struct psr_frame_run psr_frame_order_take(psr_frame_order *o, size_t n, void *frames);

/* Number of the next frame to be given out, after a run that is not all 0. */
int64_t psr_frame_order_next(const psr_frame_order *o);

/* Number after the highest that was put in place. */
int64_t psr_frame_order_end(const psr_frame_order *o);

struct psr_frame_counts psr_frame_order_counts(const psr_frame_order *o);

/* Frees it; NULL is allowed. */
void psr_frame_order_destroy(psr_frame_order *o);

#endif
