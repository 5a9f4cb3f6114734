/* The options of fbedit, in the order of --help. */
#include "fbedit.h"

static void add_input(struct cli_table *list, struct psr_source_desc *d, struct fbedit_words *w)
{
    cli_add_heading(list, "Input");
    cli_add_observation(list, (struct cli_observation){.filterbank = &w->filterbank,
                                                       .psrfits = &w->psrfits,
                                                       .if_choice = &w->if_choice,
                                                       .no_weights = &d->no_weights,
                                                       .no_scales = &d->no_scales,
                                                       .no_offsets = &d->no_offsets,
                                                       .invert = &d->invert,
                                                       .state = &w->state});
}

static void add_ranges(struct cli_table *list, struct fbedit_options *o, struct fbedit_words *w)
{
    struct psr_edit_desc *d = &o->run;
    const struct cli_option options[] = {
        {"set", CLI_LIST, &w->set, "KEY=VALUE",
         "Correct the header of the input, before all else, and as often as needed: source, "
         "telescope, position (RA,DEC), tstart (MJD), tsamp (s), fch1, foff (MHz), beam, nbeams, "
         "machine.",
         0, 0},
        {"gaps", CLI_TEXT, &w->gaps, "HOW",
         "What stands for data that are missing between or within files: mean (of each channel, "
         "default), zero, or none: the run fails.",
         0, 0},
        {"Ranges", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"start", CLI_TEXT, &d->start, "TIME",
         "First spectrum: seconds from the start of the input (12.5), a date (60000.5mjd), or "
         "spectra (2000smp); the nearest is taken.",
         0, 0},
        {"end", CLI_TEXT, &d->end, "TIME",
         "The first spectrum that is left out, in the same forms.", 0, 0},
        {"around", CLI_TEXT, &o->around, "LIST",
         "Write a file for each burst of gpudedisp's list (ROOT.cand), FILE_0001 and so on: its "
         "sweep, and -pad before and after.",
         0, 0},
        {"pad", CLI_DOUBLE, &o->pad_s, "SEC", "Of -around (default 1).", 0, 1e6},
        {"cutout", CLI_TEXT, &w->cutout, "NAME",
         "your: write for each burst of -around what classifiers read, the pictures of frequency "
         "and "
         "time and of DM and time, 256 x 256, in HDF5 as your_candmaker.py does.",
         0, 0},
        {"chans", CLI_TEXT, &w->chans, "A:B",
         "Channels A to B in the order of the file, from 0, B not included; A: and :B are open.", 0,
         0},
        {"band", CLI_TEXT, &w->band, "MHZ:MHZ", "Channels whose centres lie within, both included.",
         0, 0},
        {"order", CLI_TEXT, &w->order, "HOW",
         "Order of the channels in frequency: up, or down, the highest first (default: as they "
         "are).",
         0, 0},
    };
    CLI_ADD(list, options);
}

static void add_signals(struct cli_table *list, struct fbedit_options *o)
{
    const struct cli_option options[] = {
        {"Signals", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"add", CLI_LIST, &o->add, "TEXT",
         "Add a signal before cleaning, as fakebin does, e.g. \"burst dm=475 t=2.0 width=2e-3 "
         "snr=20\"; may be repeated. Time 0 is the start of the range.",
         0, 0},
        {"addfile", CLI_LIST, &o->addfile, "FILE", "Add one signal for each line of FILE.", 0, 0},
        {"truth", CLI_TEXT, &o->truth, "FILE",
         "Write the table of the signals to FILE (default: the output's name and .truth; of "
         "standard output and rings none).",
         0, 0},
        {"seed", CLI_INT, &o->seed, "N",
         "Seed of the rounding of what is added (default -1: from the clock).", -1, 9e18},
    };
    CLI_ADD(list, options);
}

static void add_cleaning(struct cli_table *list, struct psr_edit_desc *d, struct fbedit_words *w)
{
    const struct cli_option options[] = {
        {"Cleaning", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"mask", CLI_TEXT, &d->mask, "FILE",
         "Apply an rfifind mask: ROOT_rfifind.mask, with its .stats beside it.", 0, 0},
        {"clip", CLI_DOUBLE, &d->clip_sigma, "S",
         "Clip spectra whose sum deviates from the mean by more than S standard deviations "
         "(default 0: do not clip).",
         0, 1000},
        {"zerodm", CLI_FLAG, &d->zerodm, NULL,
         "Subtract the series at DM 0 from every channel, weighted by the bandpass; disables "
         "clipping.",
         0, 0},
        {"clean", CLI_TEXT, &w->clean, "HOW",
         "auto: write what gpudedisp -clean auto searches, samples of 8 bits with one level and "
         "scatter, without interference. none (default): only what the other options say.",
         0, 0},
        {"dedisperse", CLI_DOUBLE, &d->dm, "DM",
         "Shift channels by their delays to the highest at this DM, pc cm^-3.", 0, 1e6},
    };
    CLI_ADD(list, options);
}

static void add_samples(struct cli_table *list, struct psr_edit_desc *d)
{
    const struct cli_option options[] = {
        {"Samples", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"tdecimate", CLI_INT, &d->tsum, "N", "Sum N spectra.", 1, 1e12},
        {"fdecimate", CLI_INT, &d->fsum, "N",
         "Sum N channels.  Sums are written where all that are possible fit, otherwise means.", 1,
         1 << 20},
        {"nbits", CLI_INT, &d->nbits, "N",
         "Bits per sample: 1, 2, 4, 8, 16, or 32: floats (default: as they are).  Where values do "
         "not fit, each channel gets the same mean and scatter.",
         1, 32},
    };
    CLI_ADD(list, options);
}

static void add_output(struct cli_table *list, struct psr_edit_desc *d, struct fbedit_words *w)
{
    const struct cli_option options[] = {
        {"Output", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"o", CLI_TEXT, &d->output, "FILE",
         "Write the observation to FILE; - is standard output, dada://KEY a ring of psrdada.", 0,
         0},
        {"format", CLI_TEXT, &w->format, "NAME",
         "sigproc, psrfits, dada or fbh5 (default: psrfits for .fits, .fit and .sf, dada for .dada "
         "and rings, fbh5 for .h5 and .hdf5, otherwise sigproc).",
         0, 0},
        {"Running", CLI_HEADING, NULL, NULL, NULL, 0, 0},
        {"ncpus, threads", CLI_INT, &d->nthread, "N", "Threads (default: all cores).", 1, 4096},
    };
    CLI_ADD(list, options);
}

void fbedit_fill_table(struct cli_table *list, struct fbedit_options *o, struct fbedit_words *w)
{
    add_input(list, &o->source, w);
    add_ranges(list, o, w);
    add_signals(list, o);
    add_cleaning(list, &o->run, w);
    add_samples(list, &o->run);
    add_output(list, &o->run, w);
    cli_add_verbosity(list, &o->quiet, &o->verbose);
}
