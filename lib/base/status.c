/* Formats errors and notes, and tells how far work is. */
#include "base/base.h"

#include <errno.h>
#include <limits.h>
#include <psrkit/psrkit.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* --- returns the version of the library ------------------------------------------------------- */

#define TEXT_OF(x)                        #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *psr_version(void)
{
    return VERSION_TEXT(PSR_VERSION_MAJOR, PSR_VERSION_MINOR, PSR_VERSION_PATCH);
}

/* --- formats errors and notes ----------------------------------------------------------------- */

/* Two names of the system's greatest length, and what is wrong with them. */
enum { WHOLE_BYTES = 2 * PATH_MAX + 1024, HEAD_BYTES = 128 };

/* Names come first in a message, and what is wrong last: a message that is too long loses its middle. */
static void put_message(psr_err *err, psr_status code, const char *whole)
{
    static const char gap[] = "...";
    size_t n = strlen(whole), most = sizeof err->msg - 1;
    const char *tail = whole;
    char *to = err->msg;
    if (n > most) {
        memcpy(to, whole, HEAD_BYTES);
        memcpy(to + HEAD_BYTES, gap, sizeof gap - 1);
        to += HEAD_BYTES + sizeof gap - 1;
        tail = whole + n - (most - HEAD_BYTES - (sizeof gap - 1));
    }
    strcpy(to, tail);
    err->code = code;
    psr_make_printable(err->msg);
}

/* Field and arguments may be those of err. */
static void format_message(psr_err *err, psr_status code, const char *field, const char *fmt,
                           va_list ap)
{
    char whole[WHOLE_BYTES], name[PSR_FIELD_MAX];
    vsnprintf(whole, sizeof whole, fmt, ap);
    snprintf(name, sizeof name, "%s", field);
    put_message(err, code, whole);
    strcpy(err->field, name);
    psr_make_printable(err->field);
}

psr_status psr_fail(psr_err *err, psr_status code, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        format_message(err, code, "", fmt, ap);
        va_end(ap);
    }
    return code;
}

psr_status psr_fail_field(psr_err *err, psr_status code, const char *field, const char *fmt, ...)
{
    if (err) {
        va_list ap;
        va_start(ap, fmt);
        format_message(err, code, field, fmt, ap);
        va_end(ap);
    }
    return code;
}

psr_status psr_fail_errno(psr_err *err, const char *fmt, ...)
{
    int cause = errno;
    psr_status code = cause == ENOMEM ? PSR_ENOMEM : PSR_EIO;
    if (err) {
        char whole[WHOLE_BYTES];
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(whole, sizeof whole, fmt, ap);
        va_end(ap);
        size_t used = strlen(whole);
        snprintf(whole + used, sizeof whole - used, ": %s", strerror(cause));
        put_message(err, code, whole);
        err->field[0] = '\0';
    }
    return code;
}

psr_status psr_fail_nomem(psr_err *err, const char *what, double bytes)
{
    return psr_fail(err, PSR_ENOMEM, "no memory for %s (%.0f bytes)", what, bytes);
}

const char *psr_status_text(psr_status code)
{
    static const char *const text[] = {
        [PSR_OK] = "ok",
        [PSR_EINVAL] = "argument out of range",
        [PSR_ENOMEM] = "out of memory",
        [PSR_EIO] = "input or output failed",
        [PSR_EFORMAT] = "malformed input",
        [PSR_EDEVICE] = "device failed",
        [PSR_EUNSUPPORTED] = "not supported",
        [PSR_ESTOPPED] = "stopped",
    };
    if ((size_t)code >= sizeof text / sizeof *text)
        return "unknown status";
    return text[code];
}

void psr_note(const struct psr_notes *notes, const char *fmt, ...)
{
    if (!notes || !notes->note)
        return;
    psr_err line;
    va_list ap;
    va_start(ap, fmt);
    format_message(&line, PSR_OK, "", fmt, ap);
    va_end(ap);
    notes->note(notes->ctx, line.msg);
}

/* --- counts work that several threads share --------------------------------------------------- */

void psr_progress_add(struct psr_progress *w, int64_t n)
{
    if (!w->stop->progress)
        return;
#pragma omp critical(psr_progress)
    {
        w->done += n;
        w->stop->progress(w->stop->ctx, w->done, w->total);
    }
}
