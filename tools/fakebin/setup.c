/* Converts fakebin's options to the description of an observation. */
#include "base/tool.h"
#include "fakebin.h"

#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/fake.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Parses the interference that fakebin adds, and writes its rows of the truth table. */

static const char blanks[] = " \t\r\n";

static const char *const kind_name[] = {"tone",  "radar", "phone",    "mains",
                                        "spark", "jump",  "bandpass", "drop"};

enum { NKIND = sizeof kind_name / sizeof *kind_name };

/* Values of keys that are not given. */
static const struct psr_fake_rfi defaults[NKIND] = {
    [PSR_FAKE_RFI_TONE] = {.level = 3, .modulation = 0.3},
    [PSR_FAKE_RFI_RADAR] = {.level = 10,
                            .modulation = 0.3,
                            .period_s = 3e-3,
                            .width_s = 3e-6,
                            .rotation_s = 10,
                            .beam = 0.01},
    [PSR_FAKE_RFI_PHONE] = {.level = 10,
                            .modulation = 0.3,
                            .rate_hz = 1,
                            .width_s = 0.1,
                            .carrier_mhz = 0.2,
                            .frame_s = 4.615e-3,
                            .slot_s = 577e-6},
    [PSR_FAKE_RFI_MAINS] = {.level = 0.1, .hz = 50, .wander_hz = 0.02, .wander_s = 10, .nharm = 5},
    [PSR_FAKE_RFI_SPARK] = {.level = 1, .rate_hz = 1, .width_s = 1e-3},
    [PSR_FAKE_RFI_JUMP] = {.level = 1, .width_s = 1},
    [PSR_FAKE_RFI_BANDPASS] = {.level = 0.1, .period_mhz = 0, .rolloff = 0.05},
    [PSR_FAKE_RFI_DROP] = {.share = 1e-3, .width_s = 1e-3},
};

#define KIND(k) (1u << PSR_FAKE_RFI_##k)

enum {
    PLACED = KIND(TONE) | KIND(RADAR) | KIND(PHONE) | KIND(MAINS) | KIND(SPARK) | KIND(JUMP),
    RANDOM = KIND(PHONE) | KIND(SPARK) | KIND(JUMP),
    MODULATED = KIND(TONE) | KIND(RADAR) | KIND(PHONE) | KIND(SPARK),
};

/* Every key, and the kinds that have it. */
static const struct key {
    const char *name;
    size_t offset;
    unsigned kinds;
} keys[] = {
    {"level", offsetof(struct psr_fake_rfi, level), PLACED},
    {"freq", offsetof(struct psr_fake_rfi, freq_mhz), PLACED},
    {"bw", offsetof(struct psr_fake_rfi, bw_mhz), PLACED | KIND(DROP)},
    {"t", offsetof(struct psr_fake_rfi, t_s), PLACED},
    {"length", offsetof(struct psr_fake_rfi, duration_s), PLACED},
    {"mod", offsetof(struct psr_fake_rfi, modulation), MODULATED},
    {"drift", offsetof(struct psr_fake_rfi, drift_mhz_s), KIND(TONE)},
    {"period", offsetof(struct psr_fake_rfi, period_s), KIND(TONE) | KIND(RADAR)},
    {"width", offsetof(struct psr_fake_rfi, width_s),
     KIND(TONE) | KIND(RADAR) | RANDOM | KIND(DROP)},
    {"rotation", offsetof(struct psr_fake_rfi, rotation_s), KIND(RADAR)},
    {"beam", offsetof(struct psr_fake_rfi, beam), KIND(RADAR)},
    {"rate", offsetof(struct psr_fake_rfi, rate_hz), RANDOM},
    {"carrier", offsetof(struct psr_fake_rfi, carrier_mhz), KIND(PHONE)},
    {"frame", offsetof(struct psr_fake_rfi, frame_s), KIND(PHONE)},
    {"slot", offsetof(struct psr_fake_rfi, slot_s), KIND(PHONE)},
    {"hz", offsetof(struct psr_fake_rfi, hz), KIND(MAINS)},
    {"wander", offsetof(struct psr_fake_rfi, wander_hz), KIND(MAINS)},
    {"wandertime", offsetof(struct psr_fake_rfi, wander_s), KIND(MAINS)},
    {"ripple", offsetof(struct psr_fake_rfi, level), KIND(BANDPASS)},
    {"period", offsetof(struct psr_fake_rfi, period_mhz), KIND(BANDPASS)},
    {"rolloff", offsetof(struct psr_fake_rfi, rolloff), KIND(BANDPASS)},
    {"share", offsetof(struct psr_fake_rfi, share), KIND(DROP)},
};

static psr_status take_word(struct psr_fake_rfi *r, char *word, psr_err *err)
{
    char *value = strchr(word, '='), label[64];
    const char *kind = kind_name[r->kind];
    if (!value)
        return psr_fail(err, PSR_EINVAL, "-rfi: '%s' is no key=value", word);
    *value++ = '\0';
    snprintf(label, sizeof label, "-rfi: %s: %.20s", kind, word);
    if (r->kind == PSR_FAKE_RFI_MAINS && !strcmp(word, "harmonics")) {
        int64_t n = 0;
        psr_status st = psr_parse_int(label, value, 1, 1000, &n, err);
        r->nharm = (int)n;
        return st;
    }
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        if (!strcmp(word, keys[k].name) && (keys[k].kinds & 1u << r->kind))
            return psr_parse_double(label, value, -1e15, 1e15,
                                    (double *)(void *)((char *)r + keys[k].offset), err);
    return psr_fail(err, PSR_EINVAL, "-rfi: %s has no key '%s'", kind, word);
}

static psr_status take_kind(struct psr_fake_rfi *r, const char *word, psr_err *err)
{
    for (int k = 0; k < NKIND; k++)
        if (!strcmp(word, kind_name[k])) {
            *r = defaults[k];
            r->kind = (enum psr_fake_rfi_kind)k;
            return PSR_OK;
        }
    return psr_fail(err, PSR_EINVAL,
                    "-rfi: '%s' is none of tone, radar, phone, mains, spark, jump, bandpass, drop",
                    word);
}

/* What -rfi gives as text: "spark rate=2 width=1e-3 level=1".  Status: PSR_EINVAL. */
static psr_status fakebin_rfi_text(struct psr_fake_rfi *rfi, const char *text, psr_err *err)
{
    char *rest, *words = strdup(text);
    if (!words)
        return psr_fail_nomem(err, "-rfi", (double)strlen(text));
    char *word = strtok_r(words, blanks, &rest);
    psr_status st = take_kind(rfi, word ? word : "", err);
    while (!st && (word = strtok_r(NULL, blanks, &rest)))
        st = take_word(rfi, word, err);
    free(words);
    return st;
}

/* --- truth ------------------------------------------------------------------------------------ */

struct rows {
    psr_outfile *f;
    const char *kind;
};

static psr_status write_row(void *ctx, const struct psr_fake_rfi_event *e, psr_err *err)
{
    const struct rows *rows = ctx;
    return psr_outfile_printf(rows->f, err, "%s\t%.6f\t%.9g\t%.6f\t%.6f\t%.6g\n", rows->kind,
                              e->t_s, e->width_s, e->lowest_mhz, e->highest_mhz, e->level);
}

psr_status fakebin_rfi_truth(const psr_fake *plan, const struct psr_fake_rfi *rfi, size_t nrfi,
                             psr_outfile *f, psr_err *err)
{
    psr_status st = PSR_OK;
    if (nrfi)
        st = psr_outfile_printf(f, err, "#rfi\tt_s\twidth_s\tlowest_mhz\thighest_mhz\tlevel\n");
    for (size_t i = 0; i < nrfi && !st; i++)
        st = psr_fake_rfi_list(plan, i, write_row, &(struct rows){f, kind_name[rfi[i].kind]}, err);
    return st;
}

/* What SIGPROC's fake writes into its header. */
enum { FAKE_MACHINE = 10, FAKE_TELESCOPE = 4 };

/* Seconds by which DM 1 disperses a band of 1 MHz at 1 MHz, as fake rounds it. */
static const double fake_smear_s = 8.3e3;

/* Streams of random numbers that the library leaves free. */
enum { STREAM_PULSAR = 1 << 20 };

struct psr_mjd fakebin_start(const struct fakebin_options *o)
{
    double day = floor(o->tstart_mjd);
    return (struct psr_mjd){(long)day, o->tstart_mjd - day};
}

static psr_status set_observation(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    struct psr_obs *obs = &j->obs;
    obs->nchan = (size_t)o->nchans;
    obs->nif = (int)o->nifs;
    obs->nbit = (int)o->nbits;
    obs->kind = o->nbits == 32 ? PSR_FLOAT : PSR_UINT;
    obs->fch1_mhz = o->fch1_mhz;
    obs->foff_mhz = o->foff_mhz;
    obs->tsamp_s = o->tsamp_us * 1e-6;
    obs->nsamp = (int64_t)fmax(1, floor(o->tobs_s / obs->tsamp_s + 0.5));
    if (o->dat) /* what is to be transformed has an even length */
        obs->nsamp += obs->nsamp % 2;
    obs->tstart = fakebin_start(o);
    obs->machine_id = FAKE_MACHINE;
    obs->telescope_id = FAKE_TELESCOPE;
    snprintf(obs->telescope, sizeof obs->telescope, "%s", psr_telescope_name(obs->telescope_id));
    return psr_obs_copy(&j->made, obs, &j->err);
}

psr_status fakebin_choose_seed(struct fakebin_job *j)
{
    struct timespec now;
    if (j->opt.seed >= 0)
        return PSR_OK;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0)
        return psr_fail_errno(&j->err, "clock");
    j->opt.seed = ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec) & INT64_C(0xffffffffffff);
    return PSR_OK;
}

/* As fake: a top hat as wide as its width, the sample and the dispersion of the highest channel in
 * quadrature. */
static double widened_s(const struct fakebin_options *o, double width_s)
{
    double dispersion_s = fake_smear_s * o->dm * o->foff_mhz / pow(o->fch1_mhz, 3);
    if (o->nosmear)
        return width_s;
    return sqrt(width_s * width_s + pow(o->tsamp_us * 1e-6, 2) + dispersion_s * dispersion_s);
}

static psr_status add_pulsar(struct fakebin_job *j)
{
    struct fakebin_options *o = &j->opt;
    uint64_t seed = (uint64_t)o->seed;
    if (o->period_ms < 0)
        o->period_ms =
            o->add.n + o->addfile.n > 0 ? 0 : 1 + 999 * psr_rng_uniform(seed, STREAM_PULSAR, 0);
    if (o->period_ms <= 0)
        return PSR_OK;
    if (o->dm < 0)
        o->dm = 1 + 999 * psr_rng_uniform(seed, STREAM_PULSAR, 1);
    double period_s = o->period_ms * 1e-3;
    struct psr_fake_signal s = {
        .kind = PSR_FAKE_PULSAR,
        .shape = PSR_FAKE_TOPHAT,
        .dm = o->dm,
        .width_s = fmin(widened_s(o, o->width_percent / 100 * period_s), 0.999 * period_s),
        .peak = o->snrpeak / sqrt((double)o->nchans),
        .period_s = period_s,
    };
    signals_set_drift(&s, o->pdot, o->accn, o->tobs_s);
    if (o->binary)
        signals_set_orbit(&s, &o->orbit);
    return signals_add(&j->signals, &s, NULL, &j->err);
}

static psr_status add_signals(struct fakebin_job *j)
{
    struct fakebin_options *o = &j->opt;
    psr_status st = add_pulsar(j);
    for (size_t i = 0; i < o->add.n && !st; i++)
        st = signals_add_text(&j->signals, o->add.text[i], "-add", o->tobs_s, &j->err);
    for (size_t i = 0; i < o->addfile.n && !st; i++)
        st = signals_add_file(&j->signals, o->addfile.text[i], o->tobs_s, &j->err);
    if (o->dm < 0)
        o->dm = j->signals.n > 0 ? j->signals.signal[0].dm : 0;
    /* One channel stands for all: its noise is theirs over the root of their number. */
    for (size_t i = 0; i < j->signals.n && o->dat; i++) {
        j->signals.signal[i].peak *= sqrt((double)o->nchans);
        j->signals.signal[i].lowest_mhz = j->signals.signal[i].highest_mhz = 0;
    }
    return st;
}

static psr_status read_rfi(struct fakebin_job *j)
{
    const struct cli_list *list = &j->opt.rfi;
    psr_status st = PSR_OK;
    j->rfi = calloc(list->n + 1, sizeof *j->rfi);
    if (!j->rfi)
        return psr_fail_nomem(&j->err, "interference", (double)list->n * sizeof *j->rfi);
    for (size_t i = 0; i < list->n && !st; i++)
        st = fakebin_rfi_text(&j->rfi[i], list->text[i], &j->err);
    return st;
}

/* The pulsar of the options, as fake names it; else the first signal that is added. */
static void describe_source(char *text, size_t room, const struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    const struct psr_fake_signal *s = j->signals.n ? j->signals.signal : NULL;
    if (o->period_ms > 0)
        snprintf(text, room, "P: %.12f ms, DM: %.3f", o->period_ms, o->dm);
    else if (s && s->kind == PSR_FAKE_PULSAR)
        snprintf(text, room, "P: %.12f ms, DM: %.3f", s->period_s * 1e3, s->dm);
    else if (s)
        snprintf(text, room, "Burst, DM: %.3f", s->dm);
    else
        snprintf(text, room, "Noise");
}

static void name_source(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    char *source = j->obs.source;
    if (o->source.n > 0)
        snprintf(source, sizeof j->obs.source, "%s", o->source.text[o->source.n - 1]);
    else if (o->evenodd)
        snprintf(source, sizeof j->obs.source, "Even-Odd channel test");
    else
        describe_source(source, sizeof j->obs.source, j);
    j->obs.refdm = o->nchans == 1 ? o->dm : 0;
}

static psr_status read_bandpass(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    size_t n;
    psr_status st = o->bandpass ? psr_numbers_read(o->bandpass, &j->gain, &n, &j->err) : PSR_OK;
    if (!st && j->gain && n != (size_t)o->nchans)
        st = psr_fail(&j->err, PSR_EFORMAT, "%s: %zu numbers for %d channels", o->bandpass, n,
                      (int)o->nchans);
    return st;
}

psr_status fakebin_prepare(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    struct psr_fake_desc d = {
        .size = sizeof d,
        .obs = &j->made,
        .noise_sigma = 1,
        .red_sigma = o->rednoise,
        .red_index = o->redindex,
        .even_odd = o->evenodd,
        .legacy_phase = o->legacy_phase,
        .nthread = (int)o->ncpus,
    };
    psr_obs_init(&j->obs);
    psr_obs_init(&j->made);
    psr_status st = psr_parse_dmconst(o->dmconst, &d.dmconst, &j->err);
    if (!st)
        st = set_observation(j);
    if (!st)
        st = fakebin_choose_seed(j);
    if (!st)
        st = add_signals(j);
    if (!st)
        st = read_rfi(j);
    if (!st)
        st = read_bandpass(j);
    if (st)
        return st;
    name_source(j);
    if (!o->quiet)
        d.notes = (struct psr_notes){cli_note, &j->tool};
    if (o->dat) {
        /* A series is synthesised as the one channel that all channels would add up to. */
        j->made.fch1_mhz += j->made.foff_mhz * (double)(j->made.nchan - 1) / 2;
        j->made.nchan = 1;
        j->made.nif = 1;
        j->made.nbit = 32;
        j->made.kind = PSR_FLOAT;
    } else
        d.gain = j->gain;
    d.seed = (uint64_t)j->opt.seed;
    d.rfi = j->rfi;
    d.nrfi = o->rfi.n;
    d.signal = j->signals.signal;
    d.nsignal = o->evenodd ? 0 : j->signals.n;
    return psr_fake_create(&j->plan, &d, &j->err);
}

void fakebin_release(struct fakebin_job *j)
{
    psr_fake_destroy(j->plan);
    psr_series_abort(j->series);
    psr_psrfits_destroy(j->fits);
    psr_udp_sender_destroy(j->sender);
    psr_output_group_abort(j->group);
    signals_clear(&j->signals);
    psr_obs_clear(&j->obs);
    psr_obs_clear(&j->made);
    free(j->opt.add.text);
    free(j->opt.addfile.text);
    free(j->opt.source.text);
    free(j->opt.rfi.text);
    free(j->rfi);
    free(j->gain);
    free(j->command);
    free(j->series_root);
}
