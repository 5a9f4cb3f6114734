/* Counts the beams in which a pulse is seen. */
#include <psrkit/experimental/singlepulse.h>

#include <math.h>
#include <stdlib.h>

struct sorted {
    struct psr_beam_pulse pulse;
    size_t index;
};

static int compare_starts(const void *a, const void *b)
{
    const struct sorted *p = a, *q = b;
    return (p->pulse.first_s > q->pulse.first_s) - (p->pulse.first_s < q->pulse.first_s);
}

/* First pulse that does not begin before. */
static size_t find_start(const struct sorted *s, size_t n, double from_s)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (s[middle].pulse.first_s < from_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Given: seen [nbeam]   the last pulse, counted from 1, that was found to be in a beam */
static size_t count_beams(const struct sorted *s, size_t n, size_t k, double longest_s,
                          double tol_s, size_t *seen)
{
    const struct psr_beam_pulse *own = &s[k].pulse;
    size_t count = 0;
    for (size_t j = find_start(s, n, own->first_s - tol_s - longest_s);
         j < n && s[j].pulse.first_s <= own->last_s + tol_s; j++) {
        const struct psr_beam_pulse *other = &s[j].pulse;
        if (other->last_s + tol_s < own->first_s || seen[other->beam] == k + 1)
            continue;
        seen[other->beam] = k + 1;
        count++;
    }
    return count;
}

psr_status psr_pulse_count_beams(const struct psr_beam_pulse *pulse, size_t n, size_t nbeam,
                                 double tol_s, size_t *count, psr_err *err)
{
    double longest_s = 0;
    if (!(tol_s >= 0) || !isfinite(tol_s))
        return psr_fail_field(err, PSR_EINVAL, "tol_s", "beams: a tolerance of %g s is below 0",
                              tol_s);
    for (size_t k = 0; k < n; k++)
        if (pulse[k].beam >= nbeam)
            return psr_fail_field(err, PSR_EINVAL, "beam", "beams: pulse %zu is in beam %zu of %zu",
                                  k, pulse[k].beam, nbeam);
        else if (!(pulse[k].last_s >= pulse[k].first_s) || !isfinite(pulse[k].first_s) ||
                 !isfinite(pulse[k].last_s))
            return psr_fail_field(err, PSR_EINVAL, "last_s", "beams: pulse %zu is from %g to %g s",
                                  k, pulse[k].first_s, pulse[k].last_s);
    struct sorted *s = malloc((n + 1) * sizeof *s);
    size_t *seen = calloc(nbeam + 1, sizeof *seen);
    if (!s || !seen) {
        free(s);
        free(seen);
        return psr_fail_nomem(err, "the pulses of beams", (double)n * sizeof *s);
    }
    for (size_t k = 0; k < n; k++) {
        s[k] = (struct sorted){pulse[k], k};
        longest_s = fmax(longest_s, pulse[k].last_s - pulse[k].first_s);
    }
    qsort(s, n, sizeof *s, compare_starts);
    for (size_t k = 0; k < n; k++)
        count[s[k].index] = count_beams(s, n, k, longest_s, tol_s, seen);
    free(s);
    free(seen);
    return PSR_OK;
}
