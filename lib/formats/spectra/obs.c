/* Checks the description of an observation, and computes frequencies and times from it. */
#include "base/obs_internal.h"
#include "base/tool.h"
#include "unpack.h"
#include <psrkit/obs.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

void psr_obs_init(struct psr_obs *obs)
{
    *obs = (struct psr_obs){
        .nsamp = -1,
        .telescope_id = -1,
        .machine_id = -1,
        .beam_arcsec = -1,
        .source = "Unknown",
        .telescope = "Unknown",
        .instrument = "Unknown",
        .observer = "unset",
        .project_id = "unset",
        .poln = "2 polns were summed",
    };
}

psr_status psr_obs_copy(struct psr_obs *to, const struct psr_obs *from, psr_err *err)
{
    double *freq_mhz = NULL;
    if (from->freq_mhz) {
        size_t bytes = from->nchan * sizeof *freq_mhz;
        freq_mhz = malloc(bytes);
        if (!freq_mhz)
            return psr_fail_nomem(err, "channel frequencies", (double)bytes);
        memcpy(freq_mhz, from->freq_mhz, bytes);
    }
    *to = *from;
    to->freq_mhz = freq_mhz;
    return PSR_OK;
}

void psr_obs_clear(struct psr_obs *obs)
{
    free(obs->freq_mhz);
    psr_obs_init(obs);
}

PSR_COMPARE_VALUES(compare_doubles, double);

static psr_status check_table(const struct psr_obs *obs, const char *name, psr_err *err)
{
    for (size_t c = 0; c < obs->nchan; c++)
        if (!isfinite(obs->freq_mhz[c]) || obs->freq_mhz[c] <= 0)
            return psr_fail_field(err, PSR_EFORMAT, "freq_mhz",
                                  "%s: frequency of channel %zu = %.15g MHz, must be above 0", name,
                                  c, obs->freq_mhz[c]);
    struct psr_obs sorted = {0};
    psr_status st = psr_obs_copy(&sorted, obs, err);
    if (st)
        return st;
    qsort(sorted.freq_mhz, sorted.nchan, sizeof *sorted.freq_mhz, compare_doubles);
    for (size_t c = 1; c < sorted.nchan && !st; c++)
        if (sorted.freq_mhz[c] <= sorted.freq_mhz[c - 1])
            st = psr_fail_field(err, PSR_EFORMAT, "freq_mhz",
                                "%s: two channels at %.15g MHz, all must differ", name,
                                sorted.freq_mhz[c]);
    psr_obs_clear(&sorted);
    return st;
}

static psr_status check_band(const struct psr_obs *obs, const char *name, psr_err *err)
{
    if (!isfinite(obs->fch1_mhz) || obs->fch1_mhz <= 0)
        return psr_fail_field(err, PSR_EFORMAT, "fch1", "%s: fch1 = %.15g MHz, must be above 0",
                              name, obs->fch1_mhz);
    if (!isfinite(obs->foff_mhz))
        return psr_fail_field(err, PSR_EFORMAT, "foff", "%s: foff = %g MHz is not a number", name,
                              obs->foff_mhz);
    double lowest = psr_obs_lowest_mhz(obs), highest = psr_obs_highest_mhz(obs);
    if (lowest <= 0 || !isfinite(highest))
        return psr_fail_field(
            err, PSR_EFORMAT, "fch1",
            "%s: fch1 = %.15g MHz, foff = %.15g MHz: the band of %zu channels ends at %.15g MHz, "
            "must be above 0 and finite",
            name, obs->fch1_mhz, obs->foff_mhz, obs->nchan, lowest <= 0 ? lowest : highest);
    if (obs->nchan > 1 && fabs(obs->foff_mhz) < 4 * DBL_EPSILON * highest)
        return psr_fail_field(err, PSR_EFORMAT, "foff",
                              "%s: foff = %.15g MHz, must tell %zu channels apart", name,
                              obs->foff_mhz, obs->nchan);
    return PSR_OK;
}

static psr_status check_samples(const struct psr_obs *obs, const char *name, psr_err *err)
{
    static const struct {
        const char *word, *nbits;
    } kinds[] = {
        [PSR_UINT] = {"unsigned", "1, 2, 4, 8, 16 or 32"},
        [PSR_INT] = {"signed", "8 or 16"},
        [PSR_FLOAT] = {"floating-point", "32"},
    };
    if ((size_t)obs->kind >= sizeof kinds / sizeof *kinds)
        return psr_fail_field(err, PSR_EFORMAT, "kind", "%s: kind of samples = %d, must be 0 to 2",
                              name, (int)obs->kind);
    if (!psr_row_known(obs->nbit, obs->kind))
        return psr_fail_field(err, PSR_EFORMAT, "nbits", "%s: nbits = %d of %s samples, must be %s",
                              name, obs->nbit, kinds[obs->kind].word, kinds[obs->kind].nbits);
    return PSR_OK;
}

psr_status psr_obs_check(const struct psr_obs *obs, const char *name, psr_err *err)
{
    const size_t nchan_max = (size_t)1 << 20;
    const int nif_max = 16;
    const double tsamp_min = 1e-15, tsamp_max = 1e6;
    if (obs->nchan < 1 || obs->nchan > nchan_max)
        return psr_fail_field(err, PSR_EFORMAT, "nchans", "%s: nchans = %zu, must be 1 to %zu",
                              name, obs->nchan, nchan_max);
    if (obs->nif < 1 || obs->nif > nif_max)
        return psr_fail_field(err, PSR_EFORMAT, "nifs", "%s: nifs = %d, must be 1 to %d", name,
                              obs->nif, nif_max);
    if (!(obs->tsamp_s >= tsamp_min && obs->tsamp_s < tsamp_max))
        return psr_fail_field(err, PSR_EFORMAT, "tsamp",
                              "%s: tsamp = %.15g s, must be at least %g and below %g s", name,
                              obs->tsamp_s, tsamp_min, tsamp_max);
    psr_status st = check_samples(obs, name, err);
    if (st)
        return st;
    return obs->freq_mhz ? check_table(obs, name, err) : check_band(obs, name, err);
}

double psr_obs_freq_mhz(const struct psr_obs *obs, size_t c)
{
    if (obs->freq_mhz)
        return obs->freq_mhz[c];
    double width = fabs(obs->foff_mhz), lowest = obs->fch1_mhz;
    size_t above = c;
    if (obs->foff_mhz < 0) {
        lowest -= (double)(obs->nchan - 1) * width;
        above = obs->nchan - 1 - c;
    }
    return lowest + (double)above * width;
}

double psr_obs_lowest_mhz(const struct psr_obs *obs)
{
    if (!obs->freq_mhz)
        return psr_obs_freq_mhz(obs, obs->foff_mhz < 0 ? obs->nchan - 1 : 0);
    double lowest = obs->freq_mhz[0];
    for (size_t c = 1; c < obs->nchan; c++)
        lowest = fmin(lowest, obs->freq_mhz[c]);
    return lowest;
}

double psr_obs_highest_mhz(const struct psr_obs *obs)
{
    if (!obs->freq_mhz)
        return psr_obs_freq_mhz(obs, obs->foff_mhz < 0 ? 0 : obs->nchan - 1);
    double highest = obs->freq_mhz[0];
    for (size_t c = 1; c < obs->nchan; c++)
        highest = fmax(highest, obs->freq_mhz[c]);
    return highest;
}

static double least_distance(const struct psr_obs *obs)
{
    double least = INFINITY;
    for (size_t c = 1; c < obs->nchan; c++)
        least = fmin(least, fabs(obs->freq_mhz[c] - obs->freq_mhz[c - 1]));
    return least;
}

/* Formats store frequencies as 32-bit floats, whose rounding is no irregularity. */
static bool is_even(const struct psr_obs *obs, double step_mhz)
{
    const double *freq_mhz = obs->freq_mhz;
    for (size_t c = 0; c < obs->nchan; c++) {
        const double tol = 2.0 * (double)FLT_EPSILON * fabs(freq_mhz[c]) + 1e-3 * fabs(step_mhz);
        if (!(fabs(freq_mhz[c] - (freq_mhz[0] + (double)c * step_mhz)) <= tol))
            return false;
    }
    return true;
}

struct psr_obs_band psr_obs_band(const struct psr_obs *obs)
{
    struct psr_obs_band b = {.lowest_mhz = psr_obs_lowest_mhz(obs),
                             .highest_mhz = psr_obs_highest_mhz(obs),
                             .spacing_mhz = fabs(obs->foff_mhz),
                             .chan_mhz = fabs(obs->foff_mhz),
                             .even = true};
    const double first_mhz = psr_obs_freq_mhz(obs, 0),
                 last_mhz = psr_obs_freq_mhz(obs, obs->nchan - 1);
    b.rising = first_mhz < last_mhz;
    if (!obs->freq_mhz || obs->nchan < 2)
        return b;
    const double gaps = (double)(obs->nchan - 1);
    b.spacing_mhz = (b.highest_mhz - b.lowest_mhz) / gaps;
    b.even = is_even(obs, (last_mhz - first_mhz) / gaps);
    b.chan_mhz = b.even ? b.spacing_mhz : least_distance(obs);
    return b;
}

struct psr_mjd psr_mjd_add(struct psr_mjd date, double seconds)
{
    double whole = floor(seconds / PSR_DAY_S);
    double frac = date.frac + (seconds - whole * PSR_DAY_S) / PSR_DAY_S;
    double carry = floor(frac);
    return (struct psr_mjd){.day = date.day + (long)(whole + carry), .frac = frac - carry};
}

bool psr_mjd_text(struct psr_mjd date, char *text, size_t room)
{
    const int64_t unix_day = 40587, day_ms = 86400000, second_ms = 1000;
    const int64_t ms = (date.day - unix_day) * day_ms + (int64_t)(date.frac * (double)day_ms),
                  part = (ms % second_ms + second_ms) % second_ms;
    const time_t seconds = (time_t)((ms - part) / second_ms);
    struct tm utc;
    const bool exists = gmtime_r(&seconds, &utc) != NULL;
    *text = '\0';
    if (exists)
        snprintf(text, room, "%04d-%02d-%02dT%02d:%02d:%02d.%03d", utc.tm_year + 1900,
                 utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec, (int)part);
    return exists;
}

double psr_mjd_diff_s(struct psr_mjd a, struct psr_mjd b)
{
    return (double)(b.day - a.day) * PSR_DAY_S + (b.frac - a.frac) * PSR_DAY_S;
}

/* --- telescopes ------------------------------------------------------------------------------- */

/* SIGPROC's numbers, PRESTO's names and dish diameters; 0 where PRESTO knows none. */
static const struct telescope {
    int id;
    const char *name;
    double dish_m;
} telescopes[] = {
    {0, "Fake", 0},         {1, "Arecibo", 200}, {2, "Ooty", 0},    {3, "Nancay", 100},
    {4, "Parkes", 64},      {5, "Jodrell", 76},  {6, "GBT", 100},   {7, "GMRT", 0},
    {8, "Effelsberg", 100}, {9, "ATA", 0},       {10, "SRT", 0},    {11, "LOFAR", 0},
    {12, "VLA", 0},         {20, "CHIME", 20},   {21, "FAST", 350}, {30, "MWA", 0},
    {64, "MeerKAT", 0},     {65, "KAT-7", 0},
};
enum { NTELESCOPE = sizeof telescopes / sizeof *telescopes };

static const struct telescope *find_telescope(const char *name)
{
    for (int i = 0; i < NTELESCOPE; i++)
        if (strcasecmp(name, telescopes[i].name) == 0)
            return telescopes + i;
    return NULL;
}

const char *psr_telescope_name(int telescope_id)
{
    for (int i = 0; i < NTELESCOPE; i++)
        if (telescopes[i].id == telescope_id)
            return telescopes[i].name;
    return "Unknown";
}

int psr_telescope_id(const char *name)
{
    const struct telescope *t = find_telescope(name);
    return t ? t->id : -1;
}

double psr_telescope_beam_arcsec(const char *name, double freq_mhz)
{
    const double unknown_arcsec = 3600;
    const struct telescope *t = find_telescope(name);
    if (!t || t->dish_m <= 0)
        return unknown_arcsec;
    double wavelength_m = PSR_LIGHT_M_S / (freq_mhz * 1e6);
    return 1.2 * wavelength_m / t->dish_m * (180 / M_PI) * 3600;
}

/* Coordinates as TEMPO's obsys.dat has them, and tempo2 or PINT where it has none: those that
 * PRESTO goes by. */
static const struct place {
    const char *names; /* that PRESTO knows, separated by | */
    const char *more;  /* that it does not; NULL: none */
    double xyz_m[3];
} places[] = {
    {"GBT", NULL, {882589.289, -4924872.368, 3943729.418}},
    {"Arecibo", NULL, {2390487.080, -5564731.357, 1994720.633}},
    {"VLA", NULL, {-1601192.0, -5041981.4, 3554871.4}},
    {"Parkes", NULL, {-4554231.5, 2816759.1, -3454036.3}},
    {"Jodrell", "Jodrell Bank", {3822626.04, -154105.65, 5086486.04}},
    {"GB43m|GB 140ft|NRAO20", NULL, {882872.57, -4924552.73, 3944154.92}},
    {"Nancay", NULL, {4324165.81, 165927.11, 4670132.83}},
    {"Effelsberg", NULL, {4033949.5, 486989.4, 4900430.8}},
    {"SRT", "Sardinia Radio Telescope", {4865182.766, 791922.689, 4035137.174}},
    {"FAST", NULL, {-1668557.0, 5506838.0, 2744934.0}},
    {"WSRT", NULL, {3828445.659, 445223.600, 5064921.5677}},
    {"GMRT", NULL, {1656342.30, 5797947.77, 2073243.16}},
    {"CHIME", NULL, {-2059166.313, -3621302.972, 4814304.113}},
    {"LOFAR", NULL, {3826577.462, 461022.624, 5064892.526}},
    {"LWA", "LWA1", {-1602196.60, -5042313.47, 3553971.51}},
    {"MWA", NULL, {-2559454.08, 5095372.14, -2849057.18}},
    {"MeerKAT", NULL, {5109360.133, 2006852.586, -3238948.127}},
    {"ATA", NULL, {-2524263.18, -4123529.78, 4147966.36}},
    {"K7", "KAT-7", {5109943.1050, 2003650.7359, -3239908.3195}},
    {"Geocenter", "Geocentre", {0, 0, 0}},
};

static bool is_among(const char *name, const char *names)
{
    size_t length = strlen(name);
    while (*names) {
        size_t n = strcspn(names, "|");
        if (n == length && strncasecmp(name, names, n) == 0)
            return true;
        names += n + (names[n] == '|');
    }
    return false;
}

static bool find_place(const char *telescope, bool presto, struct psr_site *site)
{
    *site = (struct psr_site){{0, 0, 0}};
    for (const struct place *p = places; p < places + sizeof places / sizeof *places; p++)
        if (is_among(telescope, p->names) || (!presto && p->more && is_among(telescope, p->more))) {
            memcpy(site->xyz_m, p->xyz_m, sizeof site->xyz_m);
            return true;
        }
    return false;
}

bool psr_site_find(const char *telescope, struct psr_site *site)
{
    return find_place(telescope, false, site);
}

bool psr_site_find_as_presto(const char *telescope, struct psr_site *site)
{
    return find_place(telescope, true, site);
}

const char *psr_machine_name(int machine_id)
{
    static const struct {
        int id;
        const char *name;
    } machines[] = {
        {0, "FAKE"},      {1, "PSPM"},      {2, "WAPP"},       {3, "AOFTM"},
        {4, "BPP"},       {5, "OOTY"},      {6, "SCAMP"},      {7, "SPIGOT"},
        {11, "BG/P"},     {12, "PDEV"},     {20, "CHIME+PSR"}, {30, "MWA-VCS"},
        {31, "MWAX-VCS"}, {32, "MWAX-RTB"}, {64, "KAT"},       {65, "KAT-DC2"},
    };
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].id == machine_id)
            return machines[i].name;
    return "Unknown";
}
