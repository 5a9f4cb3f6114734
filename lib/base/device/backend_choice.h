/* backend_choice.h: which backend of a table does the work, by one rule for all tables (private).
 *
 * A name asks for one backend, whose failure is the caller's.  NULL and "auto" ask for the first one
 * of the table whose device is there and which supports what is wanted; any other failure ends the
 * choice. */
#ifndef PSR_BASE_DEVICE_BACKEND_CHOICE_H
#define PSR_BASE_DEVICE_BACKEND_CHOICE_H

#include <psrkit/status.h>
#include <stdbool.h>

bool psr_backend_is_any(const char *asked);

bool psr_backend_is_asked(const char *asked, const char *name);

/* Whether the next one is tried after one that was asked for ended with st. */
bool psr_backend_is_passed(const char *asked, psr_status st);

/* Ends a choice in which every backend was passed.
 * Given:  st     of the last one that was tried, whose error stays; PSR_OK: there was none
 *         what   for the message: "WHAT: no backend 'NAME' in this build"
 * Status: st, or PSR_EDEVICE naming the field backend */
PSR_MUST_CHECK psr_status psr_backend_none(psr_status st, const char *asked, const char *what,
                                           psr_err *err);

#endif
