/* Indexes candidates by frequency. */
#include "pulscan_grid.h"

#include <math.h>
#include <stdlib.h>

psr_status psr_grid_create(struct psr_grid *g, double width, double reach, size_t n, psr_err *err)
{
    /* No more cells than twice the candidates, however long the spectrum. */
    g->width = fmax(width, reach / (2.0 * (double)n));
    g->ncell = (size_t)(reach / g->width) + 1;
    g->head = malloc(g->ncell * sizeof *g->head);
    g->next = malloc(n * sizeof *g->next);
    if (!g->head || !g->next)
        return psr_fail_nomem(err, "candidates", 8.0 * (double)(g->ncell + n));
    for (size_t k = 0; k < g->ncell; k++)
        g->head[k] = -1;
    return PSR_OK;
}

void psr_grid_free(struct psr_grid *g)
{
    free(g->head);
    free(g->next);
}

size_t psr_grid_cell(const struct psr_grid *g, double r)
{
    double k = r / g->width;
    return k <= 0 ? 0 : k >= (double)g->ncell ? g->ncell - 1 : (size_t)k;
}

void psr_grid_put(struct psr_grid *g, int64_t c, double r)
{
    size_t k = psr_grid_cell(g, r);
    g->next[c] = g->head[k];
    g->head[k] = c;
}
