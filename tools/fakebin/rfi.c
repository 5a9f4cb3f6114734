/* Parses the interference that fakebin adds, and writes its rows of the truth table. */
#include "fakebin.h"

#include "base/tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

psr_status fakebin_rfi_text(struct psr_fake_rfi *rfi, const char *text, psr_err *err)
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
