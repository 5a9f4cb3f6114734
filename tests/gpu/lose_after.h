/* lose_after.h: what programs share that lose a device once LOSE_AFTER bytes have been read. */
#ifndef PSR_TESTS_LOSE_AFTER_H
#define PSR_TESTS_LOSE_AFTER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/types.h>

/* Counts bytes got from a file, and returns them. */
static inline ssize_t lose_after(ssize_t got, void (*lose)(void))
{
    static atomic_llong total;
    static atomic_bool lost;
    const char *text = getenv("LOSE_AFTER");
    if (got > 0 && text && atomic_fetch_add(&total, got) + got > atoll(text) &&
        !atomic_exchange(&lost, true))
        lose();
    return got;
}

#endif
