/* Keeps the last spectra of an input, and gives them to a fold in reverse order. */
#include "fold_tail.h"
#include "search/fold/fold_internal.h"

#include <stdlib.h>
#include <string.h>

psr_status psr_fold_tail_init(struct psr_fold_tail *t, size_t room, size_t row_bytes, psr_err *err)
{
    *t = (struct psr_fold_tail){.row_bytes = row_bytes, .room = room};
    t->row = room ? malloc(room * row_bytes) : NULL;
    return t->row || !room
               ? PSR_OK
               : psr_fail_nomem(err, "the last spectra", (double)room * (double)row_bytes);
}

void psr_fold_tail_take(struct psr_fold_tail *t, const void *spectra, size_t n)
{
    const unsigned char *from = spectra;
    if (n > t->room) {
        from += (n - t->room) * t->row_bytes;
        n = t->room;
    }
    while (n) {
        const size_t to_end = t->room - t->next, now = n < to_end ? n : to_end;
        memcpy(t->row + t->next * t->row_bytes, from, now * t->row_bytes);
        from += now * t->row_bytes;
        t->next = (t->next + now) % t->room;
        t->n = t->n + now < t->room ? t->n + now : t->room;
        n -= now;
    }
}

psr_status psr_fold_tail_push(const struct psr_fold_tail *t, psr_fold *fold, psr_err *err)
{
    psr_status st = PSR_OK;
    unsigned char *reversed = t->n ? malloc(t->n * t->row_bytes) : NULL;
    if (t->n && !reversed)
        return psr_fail_nomem(err, "the last spectra", (double)t->n * (double)t->row_bytes);
    for (size_t i = 0; i < t->n; i++) {
        const size_t at = (t->next + t->room - 1 - i) % t->room;
        memcpy(reversed + i * t->row_bytes, t->row + at * t->row_bytes, t->row_bytes);
    }
    for (int64_t missing = psr_fold_missing(fold); t->n && missing > 0 && !st;
         missing = psr_fold_missing(fold)) {
        const size_t n = missing < (int64_t)t->n ? (size_t)missing : t->n;
        st = psr_fold_execute(fold, reversed, n, NULL, 0, err);
    }
    free(reversed);
    return st;
}

void psr_fold_tail_clear(struct psr_fold_tail *t)
{
    free(t->row);
    *t = (struct psr_fold_tail){.row = NULL};
}
