/* page.h: the parts of the page of the recall. */
#ifndef PSR_TOOLS_PSRINJECT_PAGE_H
#define PSR_TOOLS_PSRINJECT_PAGE_H

#include "psrinject.h"
#include "tools/common/html.h"

/* Signals of one kind, and their range of S/N. */
struct inject_set {
    const struct inject_result *all;
    bool pulsar;
    size_t n;
    double low, high, *scratch;
};

/* Curves of all, and for thirds of each parameter that varies. */
void inject_draw_panels(struct html *h, const struct inject_set *s);

#endif
