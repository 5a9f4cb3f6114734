/* status.h: how every function of the library says what went wrong.
 *
 * A function that can fail returns a psr_status and, where the caller gave a psr_err, writes there
 * one line naming the file, field, value and limit.  The library never prints and never exits. */
#ifndef PSRKIT_STATUS_H
#define PSRKIT_STATUS_H

#include <psrkit/api.h>

PSR_API_BEGIN

#define PSR_MUST_CHECK __attribute__((warn_unused_result))

typedef enum psr_status {
    PSR_OK = 0,
    PSR_EINVAL,       /* an argument is out of its range */
    PSR_ENOMEM,       /* host memory ran out */
    PSR_EIO,          /* the system refused to open, read or write */
    PSR_EFORMAT,      /* a file's content is not what its format says */
    PSR_EDEVICE,      /* the accelerator failed or is absent */
    PSR_EUNSUPPORTED, /* understood, but not done */
    PSR_ESTOPPED,     /* the caller asked to stop */
} psr_status;

typedef struct psr_err {
    psr_status code;
    char msg[512]; /* one line, no newline, no program name */
} psr_err;

/* Receives remarks that are no failure: a key skipped, a file shorter than promised.  ctx is the
 * caller's; msg is one line and is valid during the call only.  A NULL function drops remarks. */
struct psr_notes {
    void (*note)(void *ctx, const char *msg);
    void *ctx;
};

/* Given:    err   may be NULL; code; fmt as in printf
 * Returned: code, so that "return psr_fail(...)" reads well; err holds code and text. */
psr_status psr_fail(psr_err *err, psr_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As psr_fail with PSR_EIO, or PSR_ENOMEM for ENOMEM; ": " and the text of errno follow the
 * message. */
psr_status psr_fail_errno(psr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As psr_fail with PSR_ENOMEM: "no memory for WHAT (N bytes)". */
psr_status psr_fail_nomem(psr_err *err, const char *what, double bytes);

/* Returned: a few words for a status, in static storage. */
const char *psr_status_text(psr_status code);

/* Sends one remark to notes; notes and notes->note may be NULL. */
void psr_note(const struct psr_notes *notes, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

PSR_API_END
#endif
