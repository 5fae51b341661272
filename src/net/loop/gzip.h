/*
 * gzip - compression in bounded steps.
 *
 * One step consumes some input and produces some output, at most as much as the buffer has room
 * for. So a large reply is compressed over many turns, and a hostile one cannot expand beyond its
 * reader's limit.
 */
#ifndef NET_LOOP_GZIP_H
#define NET_LOOP_GZIP_H

#include "base/core/buf.h"
#include "base/core/error.h"

struct gzip;

/* Level 1 (fast) to 9. */
struct gzip *gzip_deflate_new(int level);
/* Takes gzip streams, one or several in a row. */
struct gzip *gzip_inflate_new(void);
void gzip_free(struct gzip *z);

/*
 * Consumes input from the front of *in and appends at most `out_max` bytes to *out. `last`: *in is
 * the end of the input. Returns 1 if the stream is complete, 0 if it needs more input or more room,
 * or an error.
 */
int gzip_step(struct gzip *z, struct str *in, bool last, struct buf *out, size_t out_max,
	      struct error *err);

/* A whole gRPC message or small body at once, at most `max` bytes out. */
int gzip_inflate(struct str in, struct buf *out, size_t max, struct error *err);
int gzip_deflate(struct str in, int level, struct buf *out, struct error *err);

/* CRC-32 as in gzip, zip and Ethernet. */
uint32_t gzip_crc32(struct str s);

DEFINE_CLEANUP(gzip_free, struct gzip *);

#endif
