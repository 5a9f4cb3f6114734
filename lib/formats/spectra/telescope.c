/* Tables of SIGPROC's telescope and machine numbers and PRESTO's names for them. */
#include "base/obs_internal.h"

#include <psrkit/obs.h>

#include <math.h>
#include <string.h>
#include <strings.h>

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
