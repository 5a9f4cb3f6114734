/* live.h: pulses of an endless input, told as they are found. */
#ifndef PSR_TOOLS_GPUDEDISP_LIVE_H
#define PSR_TOOLS_GPUDEDISP_LIVE_H

#include "tools/common/cli.h"

#include <psrkit/pipeline.h>

/* Where lines go: standard output, or a file that they are appended to. */
struct gpudedisp_live {
    const char *name;
    int fd;
    bool standard;
};

/* Status: PSR_EIO naming the file */
PSR_MUST_CHECK psr_status gpudedisp_live_open(struct gpudedisp_live *l, const char *name,
                                              psr_err *err);

/* For psr_sink_live_desc, with a struct gpudedisp_live: writes a line, and opens the file anew after SIGHUP. */
PSR_MUST_CHECK psr_status gpudedisp_live_burst(void *ctx, const struct psr_burst *burst,
                                               psr_err *err);

PSR_MUST_CHECK psr_status gpudedisp_live_close(struct gpudedisp_live *l, psr_err *err);

/* On standard error: what was found, and how fast it was told. */
void gpudedisp_live_report(const struct cli *tool, psr_pipeline *p);

#endif
