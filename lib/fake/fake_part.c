/* Prepares the signals of a synthetic observation, and adds their pulses. */
#include "astro/barycentre.h"

#include "fake_internal.h"
#include <math.h>
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* --- computes the spin phase of a pulsar in a binary ------------------------------------------ */

static void spin_make(struct psr_spin *spin, const struct psr_fake_signal *s, bool legacy)
{
    *spin = (struct psr_spin){.period_s = s->period_s,
                              .pdot = s->pdot,
                              .phase = s->phase,
                              .binary = s->binary,
                              .legacy = legacy,
                              .orbit = s->orbit};
    if (s->binary)
        spin->delay0_s = psr_orbit_delay(&s->orbit, 0).value;
}

/* log(1 + x) / x - 1, without the cancellation near 0. */
static double log_ratio_less_one(double x)
{
    if (fabs(x) > 1e-3)
        return log1p(x) / x - 1;
    return x * (-1.0 / 2 + x * (1.0 / 3 + x * (-1.0 / 4 + x * (1.0 / 5 + x * (-1.0 / 6)))));
}

/* The apparent period and its derivatives by the observer's time, as fake takes them: d1 is P. */
static struct psr_motion legacy_period(const struct psr_spin *spin, double t_s)
{
    struct psr_motion v = {0, 0, 0, 0};
    if (spin->binary)
        v = psr_orbit_delay(&spin->orbit, t_s);
    double p = spin->period_s + spin->pdot * t_s;
    return (struct psr_motion){.d1 = p * (1 + v.d1),
                               .d2 = spin->pdot * (1 + v.d1) + p * v.d2,
                               .d3 = 2 * spin->pdot * v.d2 + p * v.d3};
}

static struct psr_motion legacy_motion(const struct psr_spin *spin, double t_s)
{
    struct psr_motion p = legacy_period(spin, t_s);
    double q = 1 / p.d1;
    return (struct psr_motion){.value = t_s,
                               .d1 = q - t_s * p.d2 * q * q,
                               .d2 = q * q * (2 * t_s * p.d2 * p.d2 * q - 2 * p.d2 - t_s * p.d3)};
}

/* Received at t = u + delay(u) - delay(0); derivatives of the phase by t, from those by u. */
static struct psr_motion motion_from(const struct psr_spin *spin, double u_s)
{
    struct psr_motion r = {0, 0, 0, 0};
    if (spin->binary)
        r = psr_orbit_delay(&spin->orbit, u_s);
    double p = spin->period_s + spin->pdot * u_s;
    double s1 = 1 / p, s2 = -spin->pdot * s1 * s1, s3 = -2 * spin->pdot * s1 * s2;
    double u1 = 1 / (1 + r.d1), u2 = -r.d2 * u1 * u1 * u1;
    double u3 = 3 * u2 * u2 / u1 - r.d3 * u1 * u1 * u1 * u1;
    return (struct psr_motion){
        .value = u_s + r.value - spin->delay0_s,
        .d1 = s1 * u1,
        .d2 = s2 * u1 * u1 + s1 * u2,
        .d3 = s3 * u1 * u1 * u1 + 3 * s2 * u1 * u2 + s1 * u3,
    };
}

static double emission_s(const struct psr_spin *spin, double t_s)
{
    return spin->binary ? psr_orbit_emission_s(&spin->orbit, t_s + spin->delay0_s) : t_s;
}

struct psr_motion psr_spin_motion(const struct psr_spin *spin, double t_s)
{
    return spin->legacy ? legacy_motion(spin, t_s) : motion_from(spin, emission_s(spin, t_s));
}

/* t / P is kept as a quotient and its remainder; all that is added to it is small. */
void psr_spin_phase(const struct psr_spin *spin, double t_s, int64_t *turns, double *fraction)
{
    double p = spin->period_s, rest = spin->phase;
    if (spin->legacy) {
        p = legacy_period(spin, t_s).d1;
    } else {
        double u = emission_s(spin, t_s);
        rest += (spin->binary ? spin->delay0_s - psr_orbit_delay(&spin->orbit, u).value : 0) / p;
        rest += u / p * log_ratio_less_one(spin->pdot * u / p);
    }
    double whole = t_s / p, left = fma(-whole, p, t_s) / p;
    double turn = floor(whole), restturn = floor(rest);
    double f = (whole - turn) + (rest - restturn) + left;
    double carry = floor(f);
    *turns = (int64_t)turn + (int64_t)restturn + (int64_t)carry;
    *fraction = f - carry < 1 ? f - carry : 0;
}

struct psr_motion psr_spin_pulse(const struct psr_spin *spin, int64_t n)
{
    double turns = (double)n + (0.5 - spin->phase), growth = spin->pdot * turns;
    if (spin->legacy) {
        double t_s = turns * spin->period_s;
        for (int i = 0; i < 100; i++) {
            double next = turns * legacy_period(spin, t_s).d1, step = next - t_s;
            t_s = next;
            if (fabs(step) <= 1e-15 * fabs(t_s))
                break;
        }
        return legacy_motion(spin, t_s);
    }
    double stretch = fabs(growth) > 1e-12 ? expm1(growth) / growth : 1 + growth / 2;
    return motion_from(spin, spin->period_s * turns * stretch);
}

/* --- prepares the signals of a synthetic observation, and adds their pulses ------------------- */

/* Computes pulse profiles, smeared and scattered, through their integrals. */

/* Half the support of a Gaussian in full widths at half maximum, and of a tail in 1/e times: what
 * lies beyond is below 1e-11 and 1e-5 of the area. */
static const double gaussian_reach = 3, tail_reach = 12;

static double profile_value(const struct psr_fake_signal *s, double width, double x, double share)
{
    switch (s->shape) {
    case PSR_FAKE_TOPHAT:
        return 1;
    case PSR_FAKE_GAUSSIAN:
        return exp2(-4 * x * x / (width * width));
    case PSR_FAKE_VONMISES:
        return exp(log(2) / (1 - cos(M_PI * width)) * (cos(2 * M_PI * x) - 1));
    case PSR_FAKE_PROFILE:
        break;
    }
    size_t bin = (size_t)(share * (double)s->nprofile);
    return s->profile[bin < s->nprofile ? bin : s->nprofile - 1];
}

static double profile_peak(const struct psr_fake_signal *s)
{
    double peak = s->shape == PSR_FAKE_PROFILE ? s->profile[0] : 1;
    for (size_t b = 1; b < s->nprofile && s->shape == PSR_FAKE_PROFILE; b++)
        peak = fmax(peak, s->profile[b]);
    return peak;
}

static psr_status shape_make(struct psr_shape *shape, const struct psr_fake_signal *s, psr_err *err)
{
    bool pulsar = s->kind == PSR_FAKE_PULSAR;
    double width = pulsar ? s->width_s / s->period_s : s->width_s, extent = width;
    if (s->shape == PSR_FAKE_GAUSSIAN)
        extent = 2 * gaussian_reach * width;
    else if (s->shape == PSR_FAKE_VONMISES || (s->shape == PSR_FAKE_PROFILE && pulsar))
        extent = 1;
    shape->low = -extent / 2;
    shape->high = extent / 2;
    shape->step = extent / PSR_SHAPE_CELLS;
    shape->part = calloc(PSR_SHAPE_CELLS + 1, sizeof *shape->part);
    shape->integral = calloc(PSR_SHAPE_CELLS + 1, sizeof *shape->integral);
    if (!shape->part || !shape->integral)
        return psr_fail_nomem(err, "pulse profile", 2.0 * PSR_SHAPE_CELLS * sizeof(double));
    double peak = profile_peak(s), sum = 0, squares = 0;
    for (int j = 0; j < PSR_SHAPE_CELLS; j++) {
        double share = (j + 0.5) / PSR_SHAPE_CELLS;
        double value = profile_value(s, width, shape->low + share * extent, share) / peak;
        sum += value;
        squares += value * value;
        shape->part[j + 1] = sum;
    }
    for (int j = 0; j < PSR_SHAPE_CELLS; j++) {
        shape->part[j + 1] /= sum;
        shape->integral[j + 1] =
            shape->integral[j] + 0.5 * (shape->part[j] + shape->part[j + 1]) * shape->step;
    }
    shape->area = sum * shape->step;
    shape->energy = squares * shape->step;
    return PSR_OK;
}

/* The cell of x and how far into it x lies; x is within the shape. */
static int find_cell(const struct psr_shape *shape, double x, double *into)
{
    double at = (x - shape->low) / shape->step;
    int cell = at < PSR_SHAPE_CELLS - 1 ? (int)at : PSR_SHAPE_CELLS - 1;
    *into = x - shape->low - cell * shape->step;
    return cell;
}

/* The integral of part_below. */
static double integral_below(const struct psr_shape *shape, double x)
{
    double into;
    if (x <= shape->low)
        return 0;
    if (x >= shape->high)
        return shape->integral[PSR_SHAPE_CELLS] + (x - shape->high);
    int cell = find_cell(shape, x, &into);
    double below = shape->part[cell], rise = shape->part[cell + 1] - below;
    return shape->integral[cell] + into * (below + 0.5 * rise * into / shape->step);
}

/* How far such a broadened pulse extends beyond shape->high. */
static double shape_reach(double smear, double scatter)
{
    return smear / 2 + tail_reach * scatter;
}

/* The profile convolved with a box of width smear. */
static double smeared_below(const struct psr_shape *shape, double x, double smear)
{
    if (smear <= 0) {
        double into;
        if (x <= shape->low)
            return 0;
        if (x >= shape->high)
            return 1;
        int cell = find_cell(shape, x, &into);
        double below = shape->part[cell];
        return below + (shape->part[cell + 1] - below) * into / shape->step;
    }
    double above = integral_below(shape, x + smear / 2);
    return (above - integral_below(shape, x - smear / 2)) / smear;
}

/* Given:    smear, scatter   in units of x; periodic   wraps the pulse to one turn
 *           scratch   room for PSR_SHAPE_MAX_ROTATIONS (PSR_SHAPE_NODES - 1) + 1 numbers */
static void shape_widen(struct psr_shape_row *row, const struct psr_shape *shape, double smear,
                        double scatter, bool periodic, double *scratch)
{
    double low = shape->low - smear / 2, high = shape->high + shape_reach(smear, scatter);
    size_t n = PSR_SHAPE_NODES - 1;
    bool wraps = periodic && high - low > 1;
    if (wraps)
        n *= (size_t)fmin(ceil(high - low), PSR_SHAPE_MAX_ROTATIONS);
    double step = (high - low) / (double)n;
    for (size_t j = 0; j <= n; j++)
        scratch[j] = smeared_below(shape, low + (double)j * step, smear);
    if (scatter > 0) {
        /* Convolves n + 1 nodes with a one-sided exponential: y' = (part - y) / scatter, solved exactly for
         * a part that is straight between nodes. */
        double h = step / scatter, stays = exp(-h), ramp = -expm1(-h) / h, last = scratch[0], y = 0;
        for (size_t j = 1; j <= n; j++) {
            double now = scratch[j];
            y = stays * y + last * (1 - stays) + (now - last) * (1 - ramp);
            last = now;
            scratch[j] = y;
        }
        /* What the end of the tail loses goes back to the whole. */
        for (size_t j = 0; j <= n; j++)
            scratch[j] /= y;
    }
    if (wraps) {
        /* Adds up the turns of a pulse that is longer than one: nodes of [-1/2, 1/2]. */
        const int nodes = PSR_SHAPE_NODES;
        int first = (int)floor(low - 0.5), last = (int)ceil(low + (double)n * step + 0.5);
        for (int j = 0; j < nodes; j++) {
            double x = -0.5 + (double)j / (nodes - 1), sum = 0;
            for (int k = first; k <= last; k++) {
                double value[2], place[2] = {x + k, -0.5 + k};
                for (int e = 0; e < 2; e++) {
                    double at = (place[e] - low) / step;
                    size_t node = at > 0 ? (size_t)at : 0;
                    value[e] = at <= 0    ? 0
                               : node < n ? scratch[node] + (at - (double)node) *
                                                                (scratch[node + 1] - scratch[node])
                                          : 1;
                }
                sum += value[0] - value[1];
            }
            row->part[j] = (float)sum;
        }
        row->low = -0.5;
        row->high = 0.5;
    } else {
        for (size_t j = 0; j <= n; j++)
            row->part[j] = (float)scratch[j];
        row->low = low;
        row->high = high;
    }
    row->per_step = (PSR_SHAPE_NODES - 1) / (row->high - row->low);
}

/* Units of x in a second, at the start. */
static double per_second(const struct psr_fake_signal *s)
{
    return s->kind == PSR_FAKE_PULSAR ? 1 / s->period_s : 1;
}

static bool in_band(const struct psr_fake_signal *s, double freq_mhz)
{
    return freq_mhz >= s->lowest_mhz && (s->highest_mhz <= 0 || freq_mhz <= s->highest_mhz);
}

/* Flux in a channel, unnormalised. */
static double flux(const struct psr_fake_signal *s, const struct psr_fake_frame *frame, size_t c)
{
    double f = psr_obs_freq_mhz(&frame->obs, c);
    return in_band(s, f) ? pow(f / frame->highest_mhz, s->spectral_index) : 0;
}

static double smear_s(const struct psr_fake_signal *s, const struct psr_fake_frame *frame,
                      double freq_mhz)
{
    const double half = frame->chan_mhz / 2;
    if (!s->smear || s->dm == 0)
        return 0;
    return psr_delay_s(frame->dmconst, s->dm, freq_mhz - half) -
           psr_delay_s(frame->dmconst, s->dm, freq_mhz + half);
}

static double scatter_s(const struct psr_fake_signal *s, double freq_mhz)
{
    return s->scatter_s > 0 ? s->scatter_s * pow(freq_mhz / 1000, s->scatter_index) : 0;
}

struct field {
    const char *field, *name;
    double value, min, max;
};

static psr_status check_signal(const struct psr_fake_signal *s, const struct psr_fake_frame *frame,
                               psr_err *err)
{
    const bool pulsar = s->kind == PSR_FAKE_PULSAR;
    const double observed_s = (double)frame->obs.nsamp * frame->obs.tsamp_s;
    const struct field fields[] = {
        {"period_s", "period (s)", pulsar ? s->period_s : 1, 1e-6, 1e6},
        {"dm", "dm (pc cm^-3)", s->dm, 0, 1e6},
        {"width_s", "width (s)", s->width_s, pulsar ? 1e-9 * s->period_s : 1e-9,
         pulsar ? s->period_s : 1e6},
        {"peak", "peak (sigma)", s->peak, 0, 1e6},
        {"snr", "snr", s->snr, 0, 1e9},
        {"scatter_s", "scattering (s)", s->scatter_s, 0, 1e3},
        {"scatter_index", "scattering index", s->scatter_index, -10, 10},
        {"spectral_index", "spectral index", s->spectral_index, -50, 50},
        {"t_s", "t (s)", s->t_s, -1e9, 1e9},
        {"pdot", "pdot (s/s)", s->pdot, -1, 1},
        {"phase", "phase (turns)", s->phase, -1e9, 1e9},
        {"pdot", "period at the end (s)", pulsar ? s->period_s + s->pdot * observed_s : 1, 1e-6,
         1e9},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!(fields[i].value >= fields[i].min && fields[i].value <= fields[i].max))
            return psr_fail_field(err, PSR_EINVAL, fields[i].field, "%s %g, must be in %g..%g",
                                  fields[i].name, fields[i].value, fields[i].min, fields[i].max);
    if (s->shape == PSR_FAKE_VONMISES && (!pulsar || !(s->width_s < 0.999 * s->period_s)))
        return psr_fail_field(err, PSR_EINVAL, "shape",
                              "a von Mises profile is a pulsar's, narrower than a turn");
    double top = 0;
    for (size_t b = 0; s->shape == PSR_FAKE_PROFILE && b < s->nprofile; b++) {
        if (!isfinite(s->profile[b]))
            return psr_fail_field(err, PSR_EINVAL, "profile",
                                  "profile: bin %zu is %g, must be finite", b, s->profile[b]);
        top = fmax(top, s->profile[b]);
    }
    if (s->shape == PSR_FAKE_PROFILE && !(top > 0))
        return psr_fail_field(err, PSR_EINVAL, "profile",
                              "profile: its highest bin is %g, must be above 0", top);
    if (s->smear && s->dm > 0 && !(psr_obs_lowest_mhz(&frame->obs) > frame->chan_mhz / 2))
        return psr_fail_field(err, PSR_EINVAL, "smear",
                              "smearing: the lowest channel begins below 0 MHz");
    return s->binary ? psr_orbit_check(&s->orbit, err) : PSR_OK;
}

/* From S/N to height: the matched filter's S/N^2 is the sum over pulses, channels and samples of
 * the profile squared. */
static psr_status resolve_peak(struct psr_fake_part *part, const struct psr_fake_frame *frame,
                               psr_err *err)
{
    const struct psr_fake_signal *s = &part->desc;
    const double tsamp_s = frame->obs.tsamp_s;
    double pulses = 1, channels = 0;
    for (size_t c = 0; c < frame->obs.nchan; c++)
        channels += in_band(s, psr_obs_freq_mhz(&frame->obs, c));
    if (channels == 0)
        return psr_fail_field(err, PSR_EINVAL, "lowest_mhz",
                              "no channel lies between %g and %g MHz", s->lowest_mhz,
                              s->highest_mhz);
    if (s->kind == PSR_FAKE_PULSAR)
        pulses = fmax(1, (double)frame->obs.nsamp * tsamp_s / s->period_s);
    double samples = part->shape.energy / (per_second(s) * tsamp_s);
    part->peak = s->snr > 0 ? s->snr / sqrt(pulses * channels * samples) : s->peak;
    return PSR_OK;
}

psr_status psr_fake_part_make(struct psr_fake_part *part, const struct psr_fake_frame *frame,
                              const struct psr_fake_signal *s, bool legacy, psr_err *err)
{
    psr_status st = check_signal(s, frame, err);
    if (st)
        return st;
    part->desc = *s;
    part->desc.profile = NULL;
    if (s->shape == PSR_FAKE_PROFILE) {
        part->profile = malloc(s->nprofile * sizeof *part->profile);
        if (!part->profile)
            return psr_fail_nomem(err, "profile", (double)s->nprofile * sizeof *part->profile);
        memcpy(part->profile, s->profile, s->nprofile * sizeof *part->profile);
        part->desc.profile = part->profile;
    }
    spin_make(&part->spin, s, legacy);
    st = shape_make(&part->shape, &part->desc, err);
    if (!st)
        st = resolve_peak(part, frame, err);
    if (st)
        return st;
    double lowest = psr_obs_lowest_mhz(&frame->obs), unit = per_second(s);
    double smear = unit * smear_s(s, frame, lowest);
    double scatter = unit * fmax(scatter_s(s, lowest), scatter_s(s, frame->highest_mhz));
    part->before_x = part->shape.low - smear / 2;
    part->after_x = part->shape.high + shape_reach(smear, scatter);
    if (s->kind == PSR_FAKE_PULSAR && part->after_x - part->before_x > PSR_SHAPE_MAX_ROTATIONS)
        return psr_fail_field(err, PSR_EINVAL, "width_s",
                              "the pulse is smeared over %.3g turns, must be at most %d",
                              part->after_x - part->before_x, PSR_SHAPE_MAX_ROTATIONS);
    part->sweep_s = psr_delay_s(frame->dmconst, s->dm, lowest) -
                    psr_delay_s(frame->dmconst, s->dm, frame->highest_mhz);
    return PSR_OK;
}

void psr_fake_ready_clear(struct psr_fake_ready *ready)
{
    free(ready->delay_s);
    free(ready->fluence);
    free(ready->row);
    free(ready->part);
    free(ready->pulse);
    memset(ready, 0, sizeof *ready);
}

void psr_fake_part_clear(struct psr_fake_part *part)
{
    psr_fake_ready_clear(&part->ready);
    struct psr_shape *shape = &part->shape;
    free(shape->part);
    free(shape->integral);
    memset(shape, 0, sizeof *shape);
    free(part->profile);
    memset(part, 0, sizeof *part);
}

static void prepare_channels(struct psr_fake_part *part, const struct psr_fake_frame *frame,
                             double *scratch)
{
    const struct psr_fake_signal *s = &part->desc;
    struct psr_fake_ready *ready = &part->ready;
    double sum = 0, channels = 0, unit = per_second(s);
    double reference_s = psr_delay_s(frame->dmconst, s->dm, frame->highest_mhz);
    for (size_t c = 0; c < frame->obs.nchan; c++) {
        double f = psr_obs_freq_mhz(&frame->obs, c);
        ready->delay_s[c] = psr_delay_s(frame->dmconst, s->dm, f) - reference_s;
        ready->fluence[c] = flux(s, frame, c);
        sum += ready->fluence[c];
        channels += in_band(s, f);
        if (c >= ready->nrow)
            continue;
        ready->row[c].part = ready->part + c * PSR_SHAPE_NODES;
        shape_widen(&ready->row[c], &part->shape, unit * smear_s(s, frame, f),
                    unit * scatter_s(s, f), s->kind == PSR_FAKE_PULSAR, scratch);
    }
    for (size_t c = 0; c < frame->obs.nchan; c++)
        ready->fluence[c] *= part->peak * part->shape.area * channels / sum;
}

psr_status psr_fake_part_prepare(struct psr_fake_part *part, const struct psr_fake_frame *frame,
                                 psr_err *err)
{
    const struct psr_fake_signal *s = &part->desc;
    struct psr_fake_ready *ready = &part->ready;
    const size_t nchan = frame->obs.nchan;
    if (ready->row)
        return PSR_OK;
    ready->nrow = (s->smear && s->dm > 0) || s->scatter_s > 0 ? nchan : 1;
    ready->delay_s = calloc(nchan, sizeof *ready->delay_s);
    ready->fluence = calloc(nchan, sizeof *ready->fluence);
    ready->row = calloc(ready->nrow, sizeof *ready->row);
    ready->part = calloc(ready->nrow * PSR_SHAPE_NODES, sizeof *ready->part);
    double *scratch = calloc(PSR_SHAPE_MAX_ROTATIONS * (PSR_SHAPE_NODES - 1) + 1, sizeof *scratch);
    psr_status st = PSR_OK;
    if (!ready->delay_s || !ready->fluence || !ready->row || !ready->part || !scratch) {
        psr_fake_ready_clear(ready);
        st = psr_fail_nomem(err, "pulse profiles of the channels",
                            (double)ready->nrow * PSR_SHAPE_NODES * sizeof(float));
    } else {
        prepare_channels(part, frame, scratch);
    }
    free(scratch);
    return st;
}

static psr_status make_room(struct psr_fake_ready *ready, size_t npulse, psr_err *err)
{
    return psr_reserve(&ready->pulse, &ready->room, npulse, sizeof *ready->pulse, "list of pulses",
                       err);
}

struct psr_pulse psr_pulse_of_rotation(const struct psr_fake_part *part, int64_t n)
{
    struct psr_motion m = psr_spin_pulse(&part->spin, n);
    return (struct psr_pulse){m.value, m.d1, m.d2, 1 / m.d1};
}

struct psr_pulse psr_pulse_of_burst(const struct psr_fake_part *part)
{
    return (struct psr_pulse){part->desc.t_s, 1, 0, 1};
}

psr_status psr_fake_part_list(struct psr_fake_part *part, const struct psr_fake_frame *frame,
                              int64_t first, int64_t n, int nthread, psr_err *err)
{
    struct psr_fake_ready *ready = &part->ready;
    double from_s = (double)first * frame->obs.tsamp_s - part->sweep_s;
    double to_s = (double)(first + n) * frame->obs.tsamp_s, fraction;
    int64_t turns;
    (void)nthread; /* without OpenMP */
    if (part->desc.kind == PSR_FAKE_BURST) {
        psr_status st = make_room(ready, 1, err);
        bool reaches =
            part->desc.t_s + part->after_x >= from_s && part->desc.t_s + part->before_x <= to_s;
        ready->npulse = 0;
        if (!st && reaches)
            ready->pulse[ready->npulse++] = psr_pulse_of_burst(part);
        return st;
    }
    /* Pulses wider than a turn are wrapped to within half a turn of their middle. */
    double before = fmax(part->before_x, -1), after = fmin(part->after_x, 1);
    psr_spin_phase(&part->spin, from_s, &turns, &fraction);
    const int64_t low = turns + (int64_t)floor(fraction - 0.5 - after) - 1;
    psr_spin_phase(&part->spin, to_s, &turns, &fraction);
    const int64_t high = turns + (int64_t)ceil(fraction - 0.5 - before) + 1;
    ready->npulse = high < low ? 0 : (size_t)(high - low + 1);
    psr_status st = make_room(ready, ready->npulse, err);
    if (st)
        return st;
#pragma omp parallel for num_threads(nthread)
    for (int64_t k = low; k <= high; k++) {
        ready->pulse[k - low] = psr_pulse_of_rotation(part, k);
    }
    return PSR_OK;
}

struct psr_fake_place psr_fake_place(const struct psr_fake_ready *ready, size_t c)
{
    return (struct psr_fake_place){&ready->row[ready->nrow > 1 ? c : 0], ready->delay_s[c],
                                   ready->fluence[c]};
}

static int64_t floor_of(double x)
{
    int64_t whole = (int64_t)x;
    return whole - ((double)whole > x);
}

int64_t psr_fake_pulse_begin(const struct psr_fake_place *at, const struct psr_pulse *pulse,
                             double tsamp_s)
{
    return floor_of((pulse->t_s + at->delay_s + at->row->low * pulse->period_s) / tsamp_s);
}

int64_t psr_fake_pulse_end(const struct psr_fake_place *at, const struct psr_pulse *pulse,
                           double tsamp_s)
{
    return -floor_of((pulse->t_s + at->delay_s + at->row->high * pulse->period_s) / -tsamp_s);
}

void psr_fake_pulse_add(const struct psr_fake_place *at, const struct psr_pulse *pulse,
                        double tsamp_s, int64_t first, int64_t end, float *x, size_t stride)
{
    const double start_s = pulse->t_s + at->delay_s, half = pulse->hz_per_s / 2;
    const double height = at->fluence * pulse->period_s / tsamp_s;
    double tau_s = (double)first * tsamp_s - start_s;
    double below = psr_shape_part(at->row, tau_s * (pulse->hz + half * tau_s));
    for (int64_t t = first; t < end; t++) {
        tau_s = (double)(t + 1) * tsamp_s - start_s;
        double part = psr_shape_part(at->row, tau_s * (pulse->hz + half * tau_s));
        x[(size_t)(t - first) * stride] += (float)(height * (part - below));
        below = part;
    }
}
