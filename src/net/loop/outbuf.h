/*
 * outbuf - collects a protocol's output for one writev.
 *
 * Small pieces are copied into a scratch area, large ones are held by reference. One outbuf serves
 * all connections of a loop. A connection collects, writes, and keeps (outbuf_keep) only the bytes
 * that the socket did not take, so an idle connection owns no output memory.
 */
#ifndef NET_LOOP_OUTBUF_H
#define NET_LOOP_OUTBUF_H

#include <sys/uio.h>

#include "base/core/bytes.h"
#include "base/core/str.h"

enum {
	OUTBUF_IOVS = 256,
	OUTBUF_SCRATCH = 68 * 1024, /* four frames of 16 KiB, and a few small ones */
	OUTBUF_FULL = 192 * 1024, /* collect no more than about this per round */
	OUTBUF_COPY_MAX = 1024, /* slices up to this size are copied: cheaper than an iovec */
};

struct outbuf {
	struct iovec iov[OUTBUF_IOVS];
	struct bytes *owner[OUTBUF_IOVS]; /* reference that keeps iov[i] alive, or NULL */
	int n;
	size_t total;
	size_t scratch_n;
	char scratch[OUTBUF_SCRATCH];
};

struct outbuf *outbuf_new(void);
void outbuf_free(struct outbuf *o);

/* True if another frame of up to 16 KiB, in pieces of any size, fits. */
bool outbuf_room(const struct outbuf *o);

/* Copies. A frame may be added in several calls after outbuf_room() returned true. */
void outbuf_add(struct outbuf *o, const void *p, size_t n);

/* Holds the slice, or copies a small one. Takes over its reference. */
void outbuf_add_slice(struct outbuf *o, struct slice s);

/*
 * After `written` bytes were written, appends the rest to `ret_rest` (at least OUTBUF_IOVS long) as
 * slices that own their bytes. Returns their number. The outbuf is empty afterwards.
 */
int outbuf_keep(struct outbuf *o, size_t written, struct slice *ret_rest);

/* Empties it, dropping the references. */
void outbuf_clear(struct outbuf *o);

#endif
