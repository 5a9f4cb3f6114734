/* Corrects the header of an input. */
#include "edit_state.h"

#include "astro/barycentre.h"
#include "base/obs_internal.h"
#include "base/tool.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Given:  key, text   the correction; what   "set KEY" for messages */
typedef psr_status set_field(struct psr_obs *obs, const char *what, const char *text, psr_err *err);

static psr_status copy_text(char *to, const char *what, const char *text, psr_err *err)
{
    if (strlen(text) >= PSR_TEXT_MAX)
        return psr_fail_field(err, PSR_EINVAL, "set", "%s: a text of %zu bytes, must be below %d",
                              what, strlen(text), PSR_TEXT_MAX);
    strcpy(to, text);
    return PSR_OK;
}

static psr_status set_source(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return copy_text(obs->source, what, text, err);
}

static psr_status set_observer(struct psr_obs *obs, const char *what, const char *text,
                               psr_err *err)
{
    return copy_text(obs->observer, what, text, err);
}

static psr_status set_instrument(struct psr_obs *obs, const char *what, const char *text,
                                 psr_err *err)
{
    return copy_text(obs->instrument, what, text, err);
}

/* SIGPROC knows telescopes by number alone. */
static psr_status set_telescope(struct psr_obs *obs, const char *what, const char *text,
                                psr_err *err)
{
    psr_err why;
    int64_t id;
    obs->telescope_id = psr_telescope_id(text);
    if (obs->telescope_id >= 0)
        return copy_text(obs->telescope, what, psr_telescope_name(obs->telescope_id), err);
    if (psr_parse_int(what, text, 0, 1 << 30, &id, &why))
        return copy_text(obs->telescope, what, text, err);
    obs->telescope_id = (int)id;
    return copy_text(obs->telescope, what, psr_telescope_name((int)id), err);
}

static psr_status set_position(struct psr_obs *obs, const char *what, const char *text,
                               psr_err *err)
{
    psr_err why;
    psr_status st = psr_position_parse(text, &obs->ra_deg, &obs->dec_deg, &why);
    if (st)
        return psr_fail_field(err, st, "set", "%s: %.400s", what, why.msg);
    obs->has_position = true;
    return PSR_OK;
}

static psr_status set_tstart(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return psr_edit_date(what, text, &obs->tstart, err);
}

static psr_status set_tsamp(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return psr_parse_double(what, text, 1e-9, 1e6, &obs->tsamp_s, err);
}

static psr_status set_fch1(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return psr_parse_double(what, text, 1e-6, 1e9, &obs->fch1_mhz, err);
}

static psr_status set_foff(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    double spacing = 0;
    psr_status st = psr_parse_double(what, text, -1e9, 1e9, &spacing, err);
    if (!st)
        obs->foff_mhz = spacing;
    return st;
}

static psr_status set_whole(int *to, const char *what, const char *text, psr_err *err)
{
    int64_t value = 0;
    psr_status st = psr_parse_int(what, text, 0, 1 << 30, &value, err);
    if (!st)
        *to = (int)value;
    return st;
}

static psr_status set_beam(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return set_whole(&obs->ibeam, what, text, err);
}

static psr_status set_nbeam(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return set_whole(&obs->nbeam, what, text, err);
}

static psr_status set_machine(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return set_whole(&obs->machine_id, what, text, err);
}

static const struct {
    const char *key;
    set_field *set;
    bool band; /* means nothing beside a table of frequencies */
} fields[] = {
    {"source", set_source, false},
    {"telescope", set_telescope, false},
    {"position", set_position, false},
    {"tstart", set_tstart, false},
    {"tsamp", set_tsamp, false},
    {"fch1", set_fch1, true},
    {"foff", set_foff, true},
    {"beam", set_beam, false},
    {"nbeams", set_nbeam, false},
    {"machine", set_machine, false},
    {"instrument", set_instrument, false},
    {"observer", set_observer, false},
};
enum { NFIELD = sizeof fields / sizeof *fields };

static psr_status fail_unknown(const char *text, psr_err *err)
{
    char keys[256] = "";
    for (size_t i = 0; i < NFIELD; i++)
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%s", i ? " " : "",
                 fields[i].key);
    return psr_fail_field(err, PSR_EINVAL, "set",
                          "edit: set '%.80s', must be KEY=VALUE, KEY one of %s", text, keys);
}

static psr_status apply(struct psr_obs *obs, const char *text, psr_err *err)
{
    psr_err why;
    char what[64];
    for (size_t i = 0; i < NFIELD; i++) {
        const size_t n = strlen(fields[i].key);
        if (strncmp(text, fields[i].key, n) != 0 || text[n] != '=')
            continue;
        if (fields[i].band && obs->freq_mhz)
            return psr_fail_field(err, PSR_EUNSUPPORTED, "set",
                                  "edit: set %s: the input has a table of frequencies",
                                  fields[i].key);
        snprintf(what, sizeof what, "edit: set %s", fields[i].key);
        psr_status st = fields[i].set(obs, what, text + n + 1, &why);
        return st ? psr_fail_field(err, st, "set", "%.500s", why.msg) : PSR_OK;
    }
    return fail_unknown(text, err);
}

psr_status psr_edit_correct(psr_edit *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < p->d.nset && !st; i++)
        st = apply(&p->in, p->d.set[i], err);
    return st || !p->d.nset ? st : psr_obs_check(&p->in, "edit: set", err);
}
