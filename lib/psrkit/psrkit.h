/* psrkit.h: includes the whole library.
 *
 * psrkit processes radio-telescope data into pulsar and fast-radio-burst candidates.  Expensive
 * operations use plans: psr_X_create checks a description and allocates, psr_X_execute processes a
 * block, psr_X_destroy frees.  Functions that can fail return a psr_status and write a message to a
 * psr_err (status.h).  The library never prints, never exits and has no global state. */
#ifndef PSRKIT_PSRKIT_H
#define PSRKIT_PSRKIT_H

#include <psrkit/accel.h>
#include <psrkit/accel_template.h>
#include <psrkit/accelsearch.h>
#include <psrkit/api.h>
#include <psrkit/array.h>
#include <psrkit/async_task.h>
#include <psrkit/barycentre.h>
#include <psrkit/beam.h>
#include <psrkit/beamformer.h>
#include <psrkit/block.h>
#include <psrkit/candidate_refine.h>
#include <psrkit/channel_list.h>
#include <psrkit/clean.h>
#include <psrkit/compat.h>
#include <psrkit/dada.h>
#include <psrkit/ddplan.h>
#include <psrkit/dedisp.h>
#include <psrkit/dedisp_multi.h>
#include <psrkit/delays.h>
#include <psrkit/device.h>
#include <psrkit/fake.h>
#include <psrkit/fakevolt.h>
#include <psrkit/inf.h>
#include <psrkit/mask.h>
#include <psrkit/mask_correction.h>
#include <psrkit/nibbles.h>
#include <psrkit/number.h>
#include <psrkit/obs.h>
#include <psrkit/orbit.h>
#include <psrkit/outfile.h>
#include <psrkit/output_group.h>
#include <psrkit/overwrite_check.h>
#include <psrkit/pipeline.h>
#include <psrkit/planfile.h>
#include <psrkit/pointing.h>
#include <psrkit/psrfits.h>
#include <psrkit/pulscan.h>
#include <psrkit/resample.h>
#include <psrkit/rng.h>
#include <psrkit/series.h>
#include <psrkit/signif.h>
#include <psrkit/sigproc.h>
#include <psrkit/singlepulse.h>
#include <psrkit/sink.h>
#include <psrkit/source.h>
#include <psrkit/spectrum.h>
#include <psrkit/status.h>
#include <psrkit/subband.h>
#include <psrkit/text.h>
#include <psrkit/units.h>
#include <psrkit/zaplist.h>

/* Version of the headers.  A program built with them runs with any later library of the same major
 * version (while that is 0: of the same minor version). */
#define PSR_VERSION_MAJOR 0
#define PSR_VERSION_MINOR 1
#define PSR_VERSION_PATCH 0

PSR_API_BEGIN

/* Returned: version of the running library, e.g. "0.1.0"; static storage */
const char *psr_version(void);

PSR_API_END
#endif
