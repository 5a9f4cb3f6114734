/* make_demo FILE.fil: an observation with a pulsar and a burst in white noise, and its truth.
 *
 * The pulsar's single pulses drown in the noise; the burst is seen once.  Times are those at the
 * highest channel.  Prints the truth as shell assignments. */
#include "tap.h"
#include <string.h>

enum { NCHAN = 128, NSAMP = 40000, SEED = 1967 };

/* A DM constant of our own, so that the demo does not agree with the library by construction. */
static const double dmconst = 1e4 / 2.41;
static const double tsamp_s = 512e-6, fch1_mhz = 1500, foff_mhz = -2;
static const double noise_mean = 96, noise_sigma = 16;

/* A train of top-hat pulses; one pulse where the period is longer than the observation. */
struct train {
    double dm, first_s, period_s, width_s;
    double snr; /* of all pulses together, matched filter */
};

static const struct train pulsar = {68.0, 0.031, 0.0893, 0.0045, 40};
static const struct train burst = {212.0, 8.125, 1e9, 0.004, 25};

static int pulses_in(const struct train *p)
{
    return 1 + (int)((NSAMP * tsamp_s - p->first_s) / p->period_s);
}

/* Height in noise sigmas of one channel. */
static double height(const struct train *p)
{
    return p->snr / sqrt(pulses_in(p) * NCHAN * p->width_s / tsamp_s);
}

/* Adds one pulse to a channel; samples that it covers in part get their part. */
static void add_pulse(float *x, double from_s, double width_s, double value)
{
    double from = from_s / tsamp_s, to = (from_s + width_s) / tsamp_s;
    for (int t = (int)from; t < to && t < NSAMP; t++)
        x[t] += (float)(value * (fmin(to, t + 1) - fmax(from, t)));
}

static void add_train(float *x, int c, const struct train *p)
{
    double f = fch1_mhz + c * foff_mhz;
    double delay_s = dmconst * p->dm * (1 / (f * f) - 1 / (fch1_mhz * fch1_mhz));
    for (int k = 0; k < pulses_in(p); k++)
        add_pulse(x, p->first_s + k * p->period_s + delay_s, p->width_s, height(p));
}

static double gaussian(uint64_t *state)
{
    double u = 1 - tap_uniform(state), v = tap_uniform(state);
    return sqrt(-2 * log(u)) * cos(2 * 3.14159265358979 * v);
}

/* One channel of the file, [NSAMP] with a stride of NCHAN. */
static void make_channel(unsigned char *out, int c, uint64_t *state)
{
    static float x[NSAMP];
    for (int t = 0; t < NSAMP; t++)
        x[t] = (float)gaussian(state);
    add_train(x, c, &pulsar);
    add_train(x, c, &burst);
    for (int t = 0; t < NSAMP; t++) {
        double value = rint(noise_mean + noise_sigma * x[t]);
        out[(size_t)t * NCHAN] = (unsigned char)fmin(fmax(value, 0), 255);
    }
}

static void put_text(FILE *f, const char *text)
{
    int32_t n = (int32_t)strlen(text);
    fwrite(&n, sizeof n, 1, f);
    fwrite(text, 1, (size_t)n, f);
}

static void put_int(FILE *f, const char *key, int32_t value)
{
    put_text(f, key);
    fwrite(&value, sizeof value, 1, f);
}

static void put_double(FILE *f, const char *key, double value)
{
    put_text(f, key);
    fwrite(&value, sizeof value, 1, f);
}

static void put_header(FILE *f)
{
    put_text(f, "HEADER_START");
    put_text(f, "source_name");
    put_text(f, "demo");
    put_int(f, "machine_id", 0);
    put_int(f, "telescope_id", 0);
    put_int(f, "data_type", 1);
    put_double(f, "fch1", fch1_mhz);
    put_double(f, "foff", foff_mhz);
    put_int(f, "nchans", NCHAN);
    put_int(f, "nbits", 8);
    put_double(f, "tstart", 60000);
    put_double(f, "tsamp", tsamp_s);
    put_int(f, "nifs", 1);
    put_text(f, "HEADER_END");
}

static void print_truth(const char *name, const struct train *p)
{
    printf("%s_dm=%g %s_time=%.4f %s_width=%g %s_period=%g %s_snr=%g\n", name, p->dm, name,
           p->first_s + p->width_s / 2, name, p->width_s, name, p->period_s, name, p->snr);
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "wb") : NULL;
    unsigned char *x = malloc((size_t)NSAMP * NCHAN);
    uint64_t state = SEED;
    if (!f || !x) {
        fprintf(stderr, "usage: make_demo FILE.fil\n");
        return EXIT_FAILURE;
    }
    for (int c = 0; c < NCHAN; c++)
        make_channel(x + c, c, &state);
    put_header(f);
    bool written = fwrite(x, NCHAN, NSAMP, f) == NSAMP;
    free(x);
    if (fclose(f) != 0 || !written) {
        perror(argv[1]);
        return EXIT_FAILURE;
    }
    print_truth("pulsar", &pulsar);
    print_truth("burst", &burst);
    return EXIT_SUCCESS;
}
