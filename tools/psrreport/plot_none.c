/* What a build without cairo does instead of plots of single pulses. */
#include "psrreport.h"

bool report_can_draw(void)
{
    return false;
}

psr_status report_draw_pulses(const struct report *r, unsigned char **bytes, size_t *n,
                              psr_err *err)
{
    (void)bytes;
    (void)n;
    return psr_fail(err, PSR_EINVAL, "%s: no plot: built without cairo", r->folder);
}

psr_status report_draw_burst(const struct report *r, const struct report_burst *b,
                             unsigned char **bytes, size_t *n, psr_err *err)
{
    (void)b;
    return report_draw_pulses(r, bytes, n, err);
}
