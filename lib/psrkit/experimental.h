/* experimental.h: includes the headers that may still change from one version to the next; their functions carry the
 * version PSRKIT_EXPERIMENTAL. */
#ifndef PSRKIT_EXPERIMENTAL_H
#define PSRKIT_EXPERIMENTAL_H

#include <psrkit/experimental/accel.h>
#include <psrkit/experimental/accelsearch.h>
#include <psrkit/experimental/array.h>
#include <psrkit/experimental/beam.h>
#include <psrkit/experimental/candlist.h>
#include <psrkit/experimental/clean.h>
#include <psrkit/experimental/clean_auto.h>
#include <psrkit/experimental/dada.h>
#include <psrkit/experimental/dedisp.h>
#include <psrkit/experimental/ffa.h>
#include <psrkit/experimental/filterbank.h>
#include <psrkit/experimental/fold.h>
#include <psrkit/experimental/fourier.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/pulscan.h>
#include <psrkit/experimental/sift.h>
#include <psrkit/experimental/singlepulse.h>
#include <psrkit/experimental/sink.h>
#include <psrkit/experimental/source.h>

#endif
