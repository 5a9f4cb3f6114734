/* Rows of option tables that all readers of observations share. */
#include "cli.h"

#include <string.h>
#include <strings.h>

void cli_add_observation(struct cli_table *table, struct cli_observation o)
{
    const struct cli_option options[] = {
        {"filterbank", CLI_FLAG, o.filterbank, NULL, 0, 0,
         "Treat the input as SIGPROC filterbank (default: from its first bytes)."},
        {"psrfits", CLI_FLAG, o.psrfits, NULL, 0, 0, "Treat the input as PSRFITS."},
        {"if", CLI_INT, o.if_choice, "N", 0, 15,
         "Use polarisation or IF N, from 0 (default: total intensity)."},
        {"state", CLI_TEXT, o.state, "NAME", 0, 0,
         "What the polarisations are, instead of what the header says: Stokes (the first is total "
         "intensity) or Coherence (the sum of the first two is)."},
        {"noweights", CLI_FLAG, o.no_weights, NULL, 0, 0, "Do not apply PSRFITS weights."},
        {"noscales", CLI_FLAG, o.no_scales, NULL, 0, 0, "Do not apply PSRFITS scales."},
        {"nooffsets", CLI_FLAG, o.no_offsets, NULL, 0, 0, "Do not apply PSRFITS offsets."},
        {"invert", CLI_FLAG, o.invert, NULL, 0, 0,
         "Reverse the band: the header has the frequency order wrong."},
    };
    CLI_ADD(table, options);
}

void cli_add_ignored(struct cli_table *table, bool *wapp, bool *window, int64_t *numwapps)
{
    const struct cli_option options[] = {
        {"wapp", CLI_FLAG, wapp, NULL, 0, 0, "Ignored with a note."},
        {"window", CLI_FLAG, window, NULL, 0, 0, "Ignored with a note."},
        {"numwapps", CLI_INT, numwapps, "N", 1, 8, "Ignored with a note."},
    };
    CLI_ADD(table, options);
}

void cli_add_mask(struct cli_table *table, const char **mask, const char **ignorechan)
{
    const struct cli_option options[] = {
        {"mask", CLI_TEXT, mask, "FILE", 0, 0,
         "Apply an rfifind mask: ROOT_rfifind.mask, with its .stats beside it."},
        {"ignorechan", CLI_TEXT, ignorechan, "LIST", 0, 0,
         "Ignore channels: 3,5:9,20:30:5 (channel 0 is the lowest in frequency), or a file of such "
         "text."},
    };
    CLI_ADD(table, options);
}

void cli_add_clean(struct cli_table *table, const char **how, const char *help)
{
    const struct cli_option options[] = {{"clean", CLI_TEXT, how, "HOW", 0, 0, help}};
    CLI_ADD(table, options);
}

enum psr_pols cli_parse_state(const struct cli *tool, const char *state)
{
    if (state && strcasecmp(state, "Stokes") != 0 && strcasecmp(state, "Coherence") != 0)
        cli_usage_error(tool, "-state: '%s' is neither Stokes nor Coherence", state);
    return !state                         ? PSR_POLS_UNKNOWN
           : !strcasecmp(state, "Stokes") ? PSR_POLS_STOKES
                                          : PSR_POLS_COHERENCE;
}

bool cli_parse_clean(const struct cli *tool, const char *how)
{
    const bool automatic = !strcmp(how, "auto");
    if (!automatic && strcmp(how, "none") != 0)
        cli_usage_error(tool, "-clean: '%s' is neither auto nor none", how);
    return automatic;
}

void cli_add_clipping(struct cli_table *table, double *sigma, bool *noclip, bool *zerodm)
{
    const struct cli_option options[] = {
        {"clip", CLI_DOUBLE, sigma, "S", 0, 1000,
         "Clip spectra whose sum deviates from the mean by more than S standard deviations "
         "(default 6; 0: do not clip)."},
        {"noclip", CLI_FLAG, noclip, NULL, 0, 0, "Do not clip."},
        {"zerodm", CLI_FLAG, zerodm, NULL, 0, 0,
         "Subtract the series at DM 0 from every channel, weighted by the bandpass; disables "
         "clipping."},
    };
    CLI_ADD(table, options);
}
