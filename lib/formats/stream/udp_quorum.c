/* Holds the last datagrams until enough of them are of one stream. */
#include "udp.h"

#include <stdlib.h>
#include <string.h>

struct psr_udp_quorum {
    psr_udp_alike *alike;
    struct psr_udp_held held[PSR_UDP_QUORUM_OF];
    size_t room[PSR_UDP_QUORUM_OF]; /* bytes of each packet */
    size_t first, n;                /* a ring */
};

psr_status psr_udp_quorum_create(psr_udp_quorum **out, psr_udp_alike *alike, psr_err *err)
{
    *out = calloc(1, sizeof **out);
    if (!*out)
        return psr_fail_nomem(err, "datagrams", sizeof **out);
    (*out)->alike = alike;
    return PSR_OK;
}

void psr_udp_quorum_destroy(psr_udp_quorum *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < PSR_UDP_QUORUM_OF; i++)
        free(q->held[i].packet);
    free(q);
}

void psr_udp_quorum_clear(psr_udp_quorum *q)
{
    q->n = 0;
}

size_t psr_udp_quorum_count(const psr_udp_quorum *q)
{
    return q->n;
}

const struct psr_udp_held *psr_udp_quorum_at(const psr_udp_quorum *q, size_t i)
{
    return &q->held[(q->first + i) % PSR_UDP_QUORUM_OF];
}

static size_t count_alike(const psr_udp_quorum *q, const struct psr_udp_held *like)
{
    size_t n = 0;
    for (size_t i = 0; i < q->n; i++)
        n += q->alike(psr_udp_quorum_at(q, i), like);
    return n;
}

size_t psr_udp_quorum_hold(psr_udp_quorum *q, const unsigned char *packet, size_t n,
                           double arrival_s)
{
    if (q->n == PSR_UDP_QUORUM_OF) {
        q->first = (q->first + 1) % PSR_UDP_QUORUM_OF;
        q->n--;
    }
    const size_t slot = (q->first + q->n) % PSR_UDP_QUORUM_OF;
    struct psr_udp_held *h = &q->held[slot];
    if (n > q->room[slot]) {
        unsigned char *larger = realloc(h->packet, n);
        if (!larger)
            return 0;
        h->packet = larger;
        q->room[slot] = n;
    }
    memcpy(h->packet, packet, n);
    h->n = n;
    h->arrival_s = arrival_s;
    q->n++;
    return count_alike(q, h);
}

const struct psr_udp_held *psr_udp_quorum_most(const psr_udp_quorum *q)
{
    for (size_t i = q->n; i-- > 0;)
        if (2 * count_alike(q, psr_udp_quorum_at(q, i)) > q->n)
            return psr_udp_quorum_at(q, i);
    return NULL;
}
