/* Stub of psrdada's interface, as far as the library uses it: compiled in floors.bats, never linked. */
#ifndef DADA_HDU_H
#define DADA_HDU_H

#include <inttypes.h>
#include <sys/types.h>

typedef struct multilog multilog_t;

typedef struct {
    uint64_t nbufs, w_buf_next;
    unsigned n_readers;
} ipcsync_t;

typedef struct {
    ipcsync_t *sync;
    char *count;
    int iread;
} ipcbuf_t;

typedef struct {
    ipcbuf_t buf;
} ipcio_t;

typedef struct {
    ipcio_t *data_block;
    ipcbuf_t *header_block;
    char *header;
} dada_hdu_t;

multilog_t *multilog_open(const char *program, char syslog);
int multilog_close(multilog_t *log);

dada_hdu_t *dada_hdu_create(multilog_t *log);
void dada_hdu_set_key(dada_hdu_t *hdu, key_t key);
void dada_hdu_destroy(dada_hdu_t *hdu);
int dada_hdu_connect(dada_hdu_t *hdu);
int dada_hdu_lock_read(dada_hdu_t *hdu);
int dada_hdu_unlock_read(dada_hdu_t *hdu);
int dada_hdu_lock_write(dada_hdu_t *hdu);
int dada_hdu_unlock_write(dada_hdu_t *hdu);

uint64_t ipcbuf_get_nfull_iread(ipcbuf_t *ring, int reader);
uint64_t ipcbuf_get_nclear_iread(ipcbuf_t *ring, int reader);
uint64_t ipcbuf_get_bufsz(ipcbuf_t *ring);
char *ipcbuf_get_next_read(ipcbuf_t *ring, uint64_t *n);
char *ipcbuf_get_next_write(ipcbuf_t *ring);
int ipcbuf_mark_cleared(ipcbuf_t *ring);
int ipcbuf_mark_filled(ipcbuf_t *ring, uint64_t n);
int ipcbuf_eod(ipcbuf_t *ring);
int ipcbuf_reset(ipcbuf_t *ring);

char *ipcio_open_block_read(ipcio_t *data, uint64_t *n, uint64_t *which);
ssize_t ipcio_close_block_read(ipcio_t *data, uint64_t n);
ssize_t ipcio_write(ipcio_t *data, char *bytes, size_t n);

#endif
