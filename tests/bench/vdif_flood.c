/* vdif_flood: the two ends of a fast network stream, for tests/bench/bench_udp.sh: VDIF frames of noise, made
 * before they are sent, of one thread of complex voltages of 8 bits, at a rate in GB/s of payload; 8 leave at
 * once.
 *   vdif_flood send PORT RATE SECONDS      over the loopback interface
 *   vdif_flood write FILE RATE SECONDS [LOST]     the same frames, but this part of each STRETCH is not there
 *   vdif_flood receive PORT                takes packets until none come for half a second, and says how fast
 * Prints a line. */
#include "bench.h"
#include "formats/stream/udp.h"

#include "base/base.h"
#include "fake/fake_internal.h"
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <psrkit/fake.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { STRETCH = 4096 }; /* frames: 33 MB, as what a full receiver drops */
enum { PAYLOAD = 8000, AT_ONCE = 8, SETS = 64, BATCH = 64, BYTES = PSR_VDIF_HEADER + PAYLOAD };

static unsigned char frames[SETS][AT_ONCE][BYTES];

/* Noise with the standard deviation that levels are meant for. */
static void fill_frames(void)
{
    float x[PAYLOAD];
    for (size_t i = 0; i < SETS * AT_ONCE; i++) {
        psr_rng_normal(1, 0, i * PAYLOAD, PAYLOAD, x);
        for (size_t k = 0; k < PAYLOAD; k++) {
            const float level = x[k] * 35.5F + 128;
            frames[i / AT_ONCE][i % AT_ONCE][PSR_VDIF_HEADER + k] =
                (unsigned char)(level < 0     ? 0
                                : level > 255 ? 255
                                              : level);
        }
    }
}

static void number_frames(unsigned char (*set)[BYTES], int64_t first, int64_t per_second)
{
    for (int64_t k = 0; k < AT_ONCE; k++) {
        const struct psr_vdif_frame f = {.complex = true,
                                         .second = (uint32_t)((first + k) / per_second),
                                         .frame = (uint32_t)((first + k) % per_second),
                                         .epoch = 46,
                                         .bytes = BYTES,
                                         .nchan = 1,
                                         .nbit = 8,
                                         .rate_hz = (double)per_second * PAYLOAD / 2};
        psr_vdif_pack(set[k], &f);
    }
}

static void wait_until(double when_s)
{
    const double left_s = when_s - psr_seconds();
    if (left_s > 0)
        nanosleep(&(struct timespec){(time_t)left_s, (long)((left_s - floor(left_s)) * 1e9)}, NULL);
}

static int open_sender(const char *port)
{
    struct psr_udp_name name = {.address = "127.0.0.1"};
    psr_err err;
    int fd;
    snprintf(name.port, sizeof name.port, "%s", port);
    if (psr_udp_open_sender(&fd, &name, &err))
        bench_stop(err.msg);
    const int bytes = BYTES; /* of each datagram */
    if (setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &bytes, sizeof bytes))
        bench_stop("UDP_SEGMENT");
    return fd;
}

/* Sends or writes the frames that are not lost, and says so. */
static void put_frames(int fd, bool paced, int64_t per_second, double seconds, double lost)
{
    const int64_t n = (int64_t)(seconds * (double)per_second);
    int64_t failed = 0;
    const double began_s = psr_seconds();
    for (int64_t i = 0; i < n; i += AT_ONCE) {
        if ((double)(i % STRETCH) >= (1 - lost) * STRETCH)
            continue;
        unsigned char(*set)[BYTES] = frames[i / AT_ONCE % SETS];
        number_frames(set, i, per_second);
        if (paced)
            wait_until(began_s + (double)i / (double)per_second);
        failed += write(fd, set, AT_ONCE * BYTES) < 0 ? AT_ONCE : 0;
    }
    const double took_s = psr_seconds() - began_s;
    printf("%lld frames in %.2f s: %.3f GB/s of payload; %lld failed\n", (long long)n, took_s,
           (double)n * PAYLOAD / took_s * 1e-9, (long long)failed);
}

static void receive(const char *port)
{
    static unsigned char packet[BATCH][PSR_UDP_PACKET_MAX];
    struct psr_udp_name name = {.address = "127.0.0.1"};
    struct mmsghdr message[BATCH] = {0};
    struct iovec part[BATCH];
    psr_err err;
    int fd;
    int64_t buffer;
    double bytes = 0, began_s = 0, last_s = 0;
    snprintf(name.port, sizeof name.port, "%s", port);
    if (psr_udp_open_receiver(&fd, &buffer, &name, &err))
        bench_stop(err.msg);
    for (int i = 0; i < BATCH; i++) {
        part[i] = (struct iovec){packet[i], PSR_UDP_PACKET_MAX};
        message[i].msg_hdr = (struct msghdr){.msg_iov = part + i, .msg_iovlen = 1};
    }
    for (struct pollfd p = {fd, POLLIN, 0}; poll(&p, 1, began_s > 0 ? 500 : 10000) > 0;) {
        const int n = recvmmsg(fd, message, BATCH, MSG_DONTWAIT, NULL);
        last_s = psr_seconds();
        began_s = began_s > 0 ? began_s : last_s;
        for (int i = 0; i < n; i++)
            bytes += message[i].msg_len;
    }
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("receive only: %.3f GB/s, %.2f of a core, socket buffer %lld bytes\n",
           bytes / (last_s - began_s) * 1e-9,
           ((double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec) / (last_s - began_s),
           (long long)buffer);
}

int main(int argc, char **argv)
{
    if (argc == 3 && !strcmp(argv[1], "receive")) {
        receive(argv[2]);
        return 0;
    }
    if (argc < 5 || argc > 6)
        bench_stop("vdif_flood send PORT RATE SECONDS | write FILE RATE SECONDS [LOST] | "
                   "receive PORT");
    const bool sends = !strcmp(argv[1], "send");
    const int64_t per_second = (int64_t)(atof(argv[3]) * 1e9 / PAYLOAD);
    fill_frames();
    const int fd = sends ? open_sender(argv[2]) : open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd < 0)
        bench_stop(argv[2]);
    put_frames(fd, sends, per_second, atof(argv[4]), argc > 5 ? atof(argv[5]) : 0);
    return 0;
}
