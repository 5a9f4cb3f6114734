/* The header of an observation, as readfile prints it. */
#include "psrpresto.h"

#include <math.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIGPROC_BLOCK = 2400, HEADER_MAX = 1 << 16, UNIX_MJD = 40587 };

static void print_text(const char *label, const char *text)
{
    if (*text && strcmp(text, "unset") != 0)
        printf("%27s = %s\n", label, text);
}

static void print_number(const char *label, double x)
{
    printf("%27s = %-17.15g\n", label, x);
}

static void print_count(const char *label, long long n)
{
    printf("%27s = %lld\n", label, n);
}

/* Hours or degrees, rounded to 0.0001 s. */
static void print_angle(const char *label, const char *sign, double units)
{
    const long long n = llround(fabs(units) * 36000000);
    printf("%27s = %s%02lld:%02lld:%02lld.%04lld\n", label, units < 0 ? "-" : sign, n / 36000000,
           n / 600000 % 60, n / 10000 % 60, n % 10000);
}

static void print_position(const struct psr_obs *o)
{
    print_angle("RA J2000", "", o->ra_deg / 15);
    print_number("RA J2000 (deg)", o->ra_deg);
    print_angle("Dec J2000", "", o->dec_deg);
    print_number("Dec J2000 (deg)", o->dec_deg);
    printf("%27s = %-.7g\n", "Azimuth (deg)", o->az_deg);
    printf("%27s = %-.7g\n", "Zenith Ang (deg)", o->za_deg);
}

static void print_band(const struct psr_obs *o)
{
    const struct psr_obs_band b = psr_obs_band(o);
    const double beam =
        o->beam_arcsec >= 0
            ? o->beam_arcsec
            : psr_telescope_beam_arcsec(o->telescope, (b.lowest_mhz + b.highest_mhz) / 2);
    print_number("Sample time (us)", o->tsamp_s * 1e6);
    print_number("Central freq (MHz)", (b.lowest_mhz + b.highest_mhz) / 2);
    print_number("Low channel (MHz)", b.lowest_mhz);
    print_number("High channel (MHz)", b.highest_mhz);
    print_number("Channel width (MHz)", b.spacing_mhz);
    print_count("Number of channels", (long long)o->nchan);
    if (o->chan_dm > 0)
        print_number("DM used for chan dedisp", o->chan_dm);
    print_number("Total Bandwidth (MHz)", b.spacing_mhz * (double)o->nchan);
    if (o->nbeam > 0)
        printf("%27s = %d of %d\n", "Beam", o->ibeam, o->nbeam);
    printf("%27s = %.3f\n", "Beam FWHM (deg)", beam / 3600);
}

static void print_samples(const struct psr_obs *o, int nbit, int npol)
{
    const long long block = o->block_nsamp > 0 ? o->block_nsamp : SIGPROC_BLOCK,
                    nsample = (long long)o->nchan * npol;
    print_count("Spectra per subint", block);
    print_count("Spectra per file", o->nsamp);
    printf("%27s = %-.12g\n", "Time per subint (sec)", (double)block * o->tsamp_s);
    printf("%27s = %-.12g\n", "Time per file (sec)", (double)o->nsamp * o->tsamp_s);
    print_count("bits per sample", nbit);
    if (nbit == 8)
        print_text("Are bytes signed?", o->kind == PSR_INT ? "True" : "False");
    print_count("bytes per spectra", nsample * nbit / 8);
    print_count("samples per spectra", nsample);
    print_count("bytes per subint", block * nsample * nbit / 8);
    print_count("samples per subint", block * nsample);
}

/* The end of SIGPROC's header; 0: none found. */
static long long find_header_end(const char *path)
{
    static const char word[] = "HEADER_END";
    char text[HEADER_MAX];
    FILE *f = fopen(path, "rbe");
    const size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    const char *at = memmem(text, n, word, strlen(word));
    return at ? at - text + (long long)strlen(word) : 0;
}

static const char *date_of(const struct psr_mjd *t, char *text, size_t room)
{
    const time_t s = (t->day - UNIX_MJD) * (time_t)PSR_DAY_S + (time_t)floor(t->frac * PSR_DAY_S);
    struct tm tm;
    return gmtime_r(&s, &tm) && strftime(text, room, "%Y-%m-%dT%H:%M:%S", &tm) ? text : "";
}

static void print_observation(const char *path, const struct psr_obs *o, int nbit, bool fits)
{
    char mjd[32];
    printf("\n1: From the %s file '%s':\n", fits ? "PSRFITS" : "SIGPROC filterbank", path);
    print_text("Telescope", o->telescope);
    print_text("Observer", o->observer);
    print_text("Source Name", o->source);
    print_text("Backend", o->instrument);
    print_text("Project ID", o->project_id);
    print_text("Obs Date String", o->has_date ? o->date : date_of(&o->tstart, mjd, sizeof mjd));
    snprintf(mjd, sizeof mjd, "%.14f", o->tstart.frac);
    printf("%27s = %ld%s\n", fits ? "MJD start time (STT_*)" : "MJD start time", o->tstart.day,
           mjd + 1);
    print_position(o);
    const int npol = atoi(o->poln);
    const bool summed = !strstr(o->poln, "not");
    printf("%27s = %d%s\n", "Number of polns", npol > 1 ? npol : 1, summed ? " (summed)" : "");
    print_band(o);
    print_samples(o, nbit, summed || npol < 1 ? 1 : npol);
    if (!fits)
        print_count("bytes in file header", find_header_end(path));
    printf("\n");
}

psr_status presto_print_header(const struct cli *tool, const char *path, bool fits, psr_err *err)
{
    psr_source *source;
    const struct psr_source_desc desc = {.size = sizeof desc,
                                         .path = &path,
                                         .npath = 1,
                                         .input = fits ? PSR_INPUT_PSRFITS : PSR_INPUT_SIGPROC,
                                         .if_choice = 0,
                                         .as_presto = true,
                                         .notes = {cli_note, (void *)(uintptr_t)tool}};
    psr_status st = psr_source_open(&source, &desc, err);
    if (st != PSR_OK)
        return st;
    print_observation(path, psr_source_obs(source), psr_source_file_nbit(source), fits);
    psr_source_close(source);
    return PSR_OK;
}
