/*
 * outbuf - what a protocol wants written now, gathered for one writev.
 *
 * Small things are copied into a scratch area, large ones are carried by
 * reference. One outbuf serves all connections of a loop: a connection gathers,
 * writes, and keeps (outbuf_keep) only what the socket did not take, so an idle
 * connection owns no output memory.
 */
#ifndef NET_LOOP_OUTBUF_H
#define NET_LOOP_OUTBUF_H

#include <sys/uio.h>

#include "base/core/bytes.h"
#include "base/core/str.h"

enum {
	OUTBUF_IOVS = 256,
	OUTBUF_SCRATCH = 64 * 1024,
	OUTBUF_FULL = 192 * 1024, /* gather no more than about this per round */
	OUTBUF_COPY_MAX = 1024, /* slices up to this are copied: cheaper than an iovec */
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

/* True while another frame of up to 16 KiB, in pieces of any size, is welcome. */
bool outbuf_room(const struct outbuf *o);

/* Copies. A frame may be added in several calls after outbuf_room() said yes. */
void outbuf_add(struct outbuf *o, const void *p, size_t n);

/* Carries the slice, or copies a small one; its reference is taken over. */
void outbuf_add_slice(struct outbuf *o, struct slice s);

/*
 * After `written` bytes went out: the rest as slices that own their bytes,
 * appended to `ret_rest` (at least OUTBUF_IOVS long). Returns how many. The
 * outbuf is empty afterwards.
 */
int outbuf_keep(struct outbuf *o, size_t written, struct slice *ret_rest);

/* Empties it, dropping the references. */
void outbuf_clear(struct outbuf *o);

#endif
