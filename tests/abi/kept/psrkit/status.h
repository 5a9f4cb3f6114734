/* status.h: status codes and error messages of the library.
 *
 * A function that can fail returns a psr_status and, if the caller passed a psr_err, writes one
 * line to it that names the file, field, value and limit, and the name of the field apart.  The library never prints and never
 * exits. */
#ifndef PSRKIT_STATUS_H
#define PSRKIT_STATUS_H

/* The shared library exports the functions declared between PSR_API_BEGIN and PSR_API_END. */
#ifdef __cplusplus
#define PSR_EXTERN_C_BEGIN extern "C" {
#define PSR_EXTERN_C_END   }
#else
#define PSR_EXTERN_C_BEGIN
#define PSR_EXTERN_C_END
#endif

#define PSR_API_BEGIN PSR_EXTERN_C_BEGIN _Pragma("GCC visibility push(default)")
#define PSR_API_END   _Pragma("GCC visibility pop") PSR_EXTERN_C_END

PSR_API_BEGIN

#define PSR_MUST_CHECK __attribute__((warn_unused_result))

typedef enum psr_status {
    PSR_OK = 0,
    PSR_EINVAL,       /* an argument is out of its range */
    PSR_ENOMEM,       /* host memory ran out */
    PSR_EIO,          /* open, read or write failed */
    PSR_EFORMAT,      /* the content of a file violates its format */
    PSR_EDEVICE,      /* the accelerator failed or is absent */
    PSR_EUNSUPPORTED, /* valid, but not supported */
    PSR_ESTOPPED,     /* the caller asked to stop */
} psr_status;

enum { PSR_FIELD_MAX = 64 };

typedef struct psr_err {
    psr_status code;
    char field[PSR_FIELD_MAX]; /* what is wrong, if it has a name: a field of a description, a
                                  keyword of a header, an option; else empty.  Programs decide by
                                  code and field: msg may change. */
    char msg[512];             /* one line, no newline, no program name */
} psr_err;

/* Callback for notes, which are not errors: a key was skipped, a file is shorter than its header
 * states.  ctx belongs to the caller; msg is one line, valid during the call only.  If note is
 * NULL, notes are dropped. */
struct psr_notes {
    void (*note)(void *ctx, const char *msg);
    void *ctx;
};

/* Given:    err    may be NULL
 *           fmt    as in printf
 * Returned: code, to be used as "return psr_fail(...)"; err receives code and text */
psr_status psr_fail(psr_err *err, psr_status code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* As psr_fail, for a field that has a name. */
psr_status psr_fail_field(psr_err *err, psr_status code, const char *field, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* As psr_fail with PSR_EIO, or PSR_ENOMEM if errno is ENOMEM; ": " and the text of errno are
 * appended. */
psr_status psr_fail_errno(psr_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* As psr_fail with PSR_ENOMEM: "no memory for WHAT (N bytes)". */
psr_status psr_fail_nomem(psr_err *err, const char *what, double bytes);

/* Returned: a short description of a status; static storage */
const char *psr_status_text(psr_status code);

/* Sends one note; notes and notes->note may be NULL. */
void psr_note(const struct psr_notes *notes, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

PSR_API_END
#endif
