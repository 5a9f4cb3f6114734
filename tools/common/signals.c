/* Parses signals to be added, and writes their table. */
#include "signals.h"

#include "base/tool.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <psrkit/obs.h>
#include <psrkit/series.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 4096, FILE_BYTES = 1 << 24 };

static const char blanks[] = " \t\r\n";

/* What the words of one -add are gathered in. */
struct added {
    struct psr_fake_signal s;
    struct signals_orbit orbit;
    double pdot, accn, smear;
    struct psr_overwrite_check *files;
};

static const struct added defaults = {
    .s = {.shape = PSR_FAKE_TOPHAT, .scatter_index = -4, .t_s = -1},
    .orbit = SIGNALS_ORBIT,
    .smear = 1,
};

enum kinds { OF_BURST = 1, OF_PULSAR = 2, OF_BOTH = 3 };

/* Every key that takes a number. */
static const struct key {
    const char *name;
    size_t offset;
    enum kinds kinds;
    bool orbital;
} keys[] = {
    {"dm", offsetof(struct added, s.dm), OF_BOTH, false},
    {"width", offsetof(struct added, s.width_s), OF_BOTH, false},
    {"snr", offsetof(struct added, s.snr), OF_BOTH, false},
    {"peak", offsetof(struct added, s.peak), OF_BOTH, false},
    {"smear", offsetof(struct added, smear), OF_BOTH, false},
    {"scatter", offsetof(struct added, s.scatter_s), OF_BOTH, false},
    {"scatindex", offsetof(struct added, s.scatter_index), OF_BOTH, false},
    {"index", offsetof(struct added, s.spectral_index), OF_BOTH, false},
    {"flo", offsetof(struct added, s.lowest_mhz), OF_BOTH, false},
    {"fhi", offsetof(struct added, s.highest_mhz), OF_BOTH, false},
    {"t", offsetof(struct added, s.t_s), OF_BURST, false},
    {"period", offsetof(struct added, s.period_s), OF_PULSAR, false},
    {"phase", offsetof(struct added, s.phase), OF_PULSAR, false},
    {"pdot", offsetof(struct added, pdot), OF_PULSAR, false},
    {"accn", offsetof(struct added, accn), OF_PULSAR, false},
    {"bper", offsetof(struct added, orbit.period_h), OF_PULSAR, true},
    {"becc", offsetof(struct added, orbit.ecc), OF_PULSAR, true},
    {"binc", offsetof(struct added, orbit.inc_deg), OF_PULSAR, true},
    {"bomega", offsetof(struct added, orbit.omega_deg), OF_PULSAR, true},
    {"bphase", offsetof(struct added, orbit.phase), OF_PULSAR, true},
    {"bpmass", offsetof(struct added, orbit.pulsar_msun), OF_PULSAR, true},
    {"bcmass", offsetof(struct added, orbit.companion_msun), OF_PULSAR, true},
};

psr_status signals_add(struct signals *to, const struct psr_fake_signal *s, double *profile,
                       psr_err *err)
{
    struct psr_fake_signal *signal = realloc(to->signal, (to->n + 1) * sizeof *signal);
    if (signal)
        to->signal = signal;
    double **kept = realloc(to->profile, (to->n + 1) * sizeof *kept);
    if (kept)
        to->profile = kept;
    if (!signal || !kept) {
        free(profile);
        return psr_fail_nomem(err, "signals", (double)to->n * sizeof *signal);
    }
    to->signal[to->n] = *s;
    to->signal[to->n].profile = profile;
    to->profile[to->n++] = profile;
    return PSR_OK;
}

void signals_clear(struct signals *signals)
{
    for (size_t i = 0; i < signals->n; i++)
        free(signals->profile[i]);
    free(signals->signal);
    free(signals->profile);
    psr_overwrite_check_clear(&signals->files);
    memset(signals, 0, sizeof *signals);
}

/* A shape by name; any other text is a file of bins. */
static psr_status take_shape(struct added *a, const char *value, double **profile, psr_err *err)
{
    static const char *const names[] = {"tophat", "gauss", "vonmises"};
    for (int k = 0; k < 3; k++)
        if (!strcmp(value, names[k])) {
            a->s.shape = (enum psr_fake_shape)k;
            return PSR_OK;
        }
    free(*profile);
    *profile = NULL;
    a->s.shape = PSR_FAKE_PROFILE;
    psr_status st = psr_overwrite_check_input(a->files, value, err);
    return st ? st : psr_numbers_read(value, profile, &a->s.nprofile, err);
}

static psr_status take_word(struct added *a, char *word, const char *what, double **profile,
                            psr_err *err)
{
    char *value = strchr(word, '='), label[600];
    enum kinds kind = a->s.kind == PSR_FAKE_BURST ? OF_BURST : OF_PULSAR;
    if (!value)
        return psr_fail(err, PSR_EINVAL, "%s: '%s' is no key=value", what, word);
    *value++ = '\0';
    if (!strcmp(word, "shape"))
        return take_shape(a, value, profile, err);
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        if (strcmp(word, keys[k].name) != 0)
            continue;
        if (!(keys[k].kinds & kind))
            return psr_fail(err, PSR_EINVAL, "%s: a %s has no %s", what,
                            kind == OF_BURST ? "burst" : "pulsar", word);
        a->s.binary = a->s.binary || keys[k].orbital;
        snprintf(label, sizeof label, "%s: %s", what, word);
        return psr_parse_double(label, value, -1e15, 1e15,
                                (double *)(void *)((char *)a + keys[k].offset), err);
    }
    return psr_fail(err, PSR_EINVAL, "%s: unknown key '%s'", what, word);
}

static psr_status check_added(const struct added *a, const char *what, psr_err *err)
{
    const struct psr_fake_signal *s = &a->s;
    bool pulsar = s->kind == PSR_FAKE_PULSAR;
    const char *missing = pulsar && s->period_s <= 0                                     ? "period="
                          : !pulsar && s->t_s < 0                                        ? "t="
                          : s->width_s <= 0 && !(pulsar && s->shape == PSR_FAKE_PROFILE) ? "width="
                          : s->snr <= 0 && s->peak <= 0 ? "snr= or peak="
                                                        : NULL;
    if (missing)
        return psr_fail(err, PSR_EINVAL, "%s: %s is missing, or not above 0", what, missing);
    return PSR_OK;
}

static const double degree = M_PI / 180;

void signals_set_orbit(struct psr_fake_signal *s, const struct signals_orbit *orbit)
{
    double period_s = orbit->period_h * 3600;
    s->binary = true;
    s->orbit = (struct psr_orbit){
        .period_s = period_s,
        .ecc = orbit->ecc,
        .asini_s = psr_orbit_asini_s(period_s, orbit->inc_deg * degree, orbit->pulsar_msun,
                                     orbit->companion_msun),
        .omega_rad = orbit->omega_deg * degree,
        .t0_s = orbit->phase * period_s,
    };
}

void signals_set_drift(struct psr_fake_signal *s, double pdot, double accn, double observed_s)
{
    s->period_s /= 1 + accn * observed_s / 2 / PSR_LIGHT_M_S;
    s->pdot = pdot + s->period_s * accn / PSR_LIGHT_M_S;
}

psr_status signals_add_text(struct signals *to, const char *text, const char *what,
                            double observed_s, psr_err *err)
{
    struct added a = defaults;
    a.files = &to->files;
    double *profile = NULL;
    char *rest, *words = strdup(text);
    if (!words)
        return psr_fail_nomem(err, what, (double)strlen(text));
    psr_status st = PSR_OK;
    char *word = strtok_r(words, blanks, &rest);
    if (word && !strcmp(word, "burst"))
        a.s.kind = PSR_FAKE_BURST;
    else if (word && !strcmp(word, "pulsar"))
        a.s.kind = PSR_FAKE_PULSAR;
    else
        st = psr_fail(err, PSR_EINVAL, "%s: '%s' is neither burst nor pulsar", what,
                      word ? word : "");
    while (!st && (word = strtok_r(NULL, blanks, &rest)))
        st = take_word(&a, word, what, &profile, err);
    if (!st)
        st = check_added(&a, what, err);
    free(words);
    if (st) {
        free(profile);
        return st;
    }
    a.s.smear = a.smear != 0;
    if (a.s.kind == PSR_FAKE_PULSAR) {
        if (a.s.width_s <= 0)
            a.s.width_s = a.s.period_s;
        signals_set_drift(&a.s, a.pdot, a.accn, observed_s);
        if (a.s.binary)
            signals_set_orbit(&a.s, &a.orbit);
    }
    return signals_add(to, &a.s, profile, err);
}

psr_status signals_add_file(struct signals *to, const char *path, double observed_s, psr_err *err)
{
    char line[LINE_BYTES], what[512];
    struct psr_text_lines in;
    bool exists;
    psr_status st = psr_text_lines_open(&in, path, FILE_BYTES, err);
    if (st)
        return st;
    while (!st && !(st = psr_text_lines_next(&in, line, sizeof line, &exists, err)) && exists) {
        line[strcspn(line, "#")] = '\0';
        snprintf(what, sizeof what, "%.400s: line %ld", in.name, in.number);
        if (line[strspn(line, blanks)])
            st = signals_add_text(to, line, what, observed_s, err);
    }
    psr_text_lines_close(&in);
    if (st == PSR_EINVAL) /* what is wrong in a file is no mistake of the command line */
        err->code = st = PSR_EFORMAT;
    return st;
}

psr_status signals_truth_begin(psr_outfile *f, const char *command, int64_t seed,
                               const struct psr_obs *obs, psr_err *err)
{
    return psr_outfile_printf(f, err,
                              "# %s\n# seed %lld, %lld samples of %.12g s\n"
                              "#kind\tdm\tt_s\twidth_s\tpeak\tpulses\tmean_hz\tmiddle_hz\tr\tz\tw"
                              "\tsnr_single\tsnr_folded\tsnr_boxcar\n",
                              command, (long long)seed, (long long)obs->nsamp, obs->tsamp_s);
}

psr_status signals_truth_row(psr_outfile *f, enum psr_fake_kind kind,
                             const struct psr_fake_truth *t, psr_err *err)
{
    return psr_outfile_printf(
        f, err,
        "%s\t%.6f\t%.9f\t%.9g\t%.6g\t%.6f\t%.15g\t%.15g\t%.6f\t%.6f\t%.6f\t%.4f\t%.4f\t%.4f\n",
        kind == PSR_FAKE_BURST ? "burst" : "pulsar", t->dm, t->t_s, t->width_s, t->peak, t->pulses,
        t->mean_hz, t->middle_hz, t->r, t->z, t->w, t->snr_single, t->snr_folded, t->snr_boxcar);
}
