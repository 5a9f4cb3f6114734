/* psrkit.h: includes what is stable of the library; experimental.h has the rest, which may still change.
 *
 * psrkit processes radio-telescope data into pulsar and fast-radio-burst candidates.  Expensive
 * operations use plans: psr_X_create checks a description and allocates, psr_X_execute processes a
 * block, psr_X_finish ends the stream, psr_X_destroy frees.  Functions that can fail return a
 * psr_status and write a message to a psr_err (status.h).  The library never prints, never exits and has no global state.
 *
 * Words.  execute takes the next block of an endless stream or returns a batch; run does all that a description says,
 * from files to files; append adds to a file or a datagram stream that is written; finish completes.  open and close
 * belong to inputs, create and destroy to objects, clear to structs of the caller, whose memory it frees; abort takes
 * back files.  In descriptions nthread counts threads of the host, 0 being all cores; device is a text for
 * psr_devices_choose in what reads files, a number beside backend in plans.
 *
 * Versions.  Structs whose first field is size grow at their end.  Of a description (psr_X_desc), zero-initialise it
 * and set size to its sizeof, or call psr_X_defaults where there is one: fields that a later library has count as 0.
 * Of a report, the library sets size and fills what the caller's version has.  psr_X_defaults, psr_X_describe and
 * such are macros that pass sizeof to an exported function (psr_X_set_defaults, psr_X_describe_sized), which other
 * languages call.  Descriptions that belong to others are reached by pointers.  All other structs keep their fields:
 * small values, records of files, elements of arrays; results that the library owns may grow at their end. */
#ifndef PSRKIT_PSRKIT_H
#define PSRKIT_PSRKIT_H

#include <psrkit/ddplan.h>
#include <psrkit/device.h>
#include <psrkit/ephemeris.h>
#include <psrkit/fake.h>
#include <psrkit/obs.h>
#include <psrkit/pipeline.h>
#include <psrkit/series.h>
#include <psrkit/signif.h>
#include <psrkit/status.h>

/* Version of the headers.  A program built with them runs with any later library of the same major
 * version. */
#define PSR_VERSION_MAJOR 1
#define PSR_VERSION_MINOR 0
#define PSR_VERSION_PATCH 0

PSR_API_BEGIN

/* Returned: version of the running library, e.g. "1.0.0"; static storage */
const char *psr_version(void);

PSR_API_END
#endif
