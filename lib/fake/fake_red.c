/* Makes red noise as a sum of octaves. */
#include "fake_internal.h"
#include "fake_plan.h"

#include <math.h>
#include <psrkit/fake.h>

/* Red noise is a sum of white ones, an octave apart in time scale: each is drawn at nodes and runs
 * straight between them, which takes two thirds of its variance.  Nodes lie in random numbers by
 * their place, so any stretch can be had at any time. */
enum { NODES = 66 };
static const double straight_share = 2.0 / 3;

static int count_octaves(int64_t nsamp)
{
    int n = 0;
    while (nsamp >> n > 1)
        n++;
    return n;
}

/* Adds one octave to rows first .. first + n - 1, NODES - 2 stretches between nodes at a time. */
static void add_octave(const struct psr_fake *p, int octave, int64_t spacing, float height,
                       int64_t first, int64_t n, float *x)
{
    float node[NODES];
    for (int64_t done = 0; done < n;) {
        int64_t base = (first + done) / spacing, end = (base + NODES - 1) * spacing;
        int64_t stop = end - first < n ? end - first : n;
        psr_rng_normal(p->seed, PSR_FAKE_RED + (uint32_t)octave, (uint64_t)base, NODES, node);
        for (; done < stop; done++) {
            int64_t k = (first + done) / spacing - base;
            float share = (float)((first + done) % spacing) / (float)spacing;
            float value = height * (node[k] + share * (node[k + 1] - node[k]));
            float *row = x + (size_t)done * p->row_values;
            for (size_t i = 0; i < p->row_values; i++)
                row[i] += value;
        }
    }
}

void psr_fake_add_red(const struct psr_fake *p, int64_t first, size_t n, float *x)
{
    const int octaves = count_octaves(p->frame.obs.nsamp);
    double total = 0;
    for (int j = 0; j < octaves; j++)
        total += exp2(j * (1 + p->red_index));
    for (int j = 0; j < octaves; j++) {
        double share = exp2(j * (1 + p->red_index)) / total;
        double height = p->red_sigma * sqrt(share / straight_share);
        int64_t spacing = (p->frame.obs.nsamp >> j) + 1;
        add_octave(p, j, spacing, (float)height, first, (int64_t)n, x);
    }
}
