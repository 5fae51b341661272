/*
 * http2 - private to the http2 files: an HTTP/2 session on nghttp2.
 *
 * nghttp2 knows the frames, HPACK and the state machine of RFC 9113; ours are
 * the streams, the limits on floods, and the order of callbacks. http2.c has
 * the session, http2_in.c what is called while reading, http2_out.c what is
 * called while writing.
 */
#ifndef NET_HTTP_HTTP2_H
#define NET_HTTP_HTTP2_H

#include <nghttp2/nghttp2.h>

#include "base/core/limits.h"
#include "net/http/session.h"

/* So many tokens at once, so many more each second. */
struct http2_bucket {
	int64_t tokens;
	int64_t at; /* ms of the last refill */
};

/* How a stream ended: it decides what a late frame on it means (RFC 9113, 5.1). */
enum http2_end {
	HTTP2_END_NONE, /* not known: never opened, or long ago */
	HTTP2_END_BOTH, /* both sides ended it */
	HTTP2_END_BY_PEER, /* the peer reset it */
	HTTP2_END_BY_US, /* we did; what was on its way may still come */
};

/*
 * The streams that ended last. nghttp2 could remember closed streams too, but
 * at some 250 bytes each and as many as may be open at once.
 */
struct http2_ended {
	int32_t id;
	uint8_t how;
};

enum { HTTP2_ENDED = 16 };

/* Memory that was asked of the kernel (http2_mem.c). */
struct http2_pages {
	void *p;
	size_t size;
};

struct http2 {
	struct http_session h;
	nghttp2_session *ng;
	struct http2_pages pages[2];
	struct outbuf *out; /* while gathering */
	int64_t moved_at; /* ms: some of a body was last taken by the peer */
	int64_t head_since; /* ms: a header block began, or the preface is awaited; -1 */
	struct http2_bucket control; /* frames that cost us and bring no work */
	struct http2_bucket resets; /* streams that the peer cancelled */
	int32_t reset_by_peer, reset_by_us; /* stream whose reset is being processed */
	struct http2_ended ended[HTTP2_ENDED]; /* ring */
	unsigned nended;
	uint8_t scan[13]; /* frame header, and payload of a WINDOW_UPDATE, as far as seen */
	uint8_t nscan;
	int32_t scan_last; /* highest stream that the peer has opened, or tried to */
	bool scan_found; /* `scan` is complete and to be looked at */
	uint32_t scan_skip; /* payload still to be passed over; the preface at first */
	bool preface_seen; /* the peer's first SETTINGS came */
	bool flooded;
	bool goaway_final; /* the second GOAWAY of a drain is queued */
};

static inline struct http2 *http2_of(struct http_session *h)
{
	return CONTAINER_OF(h, struct http2, h);
}

/* Whoever may have so many streams open may also cancel them all at once. */
static inline int64_t http2_resets_burst(const struct http2 *x)
{
	return MAX((int64_t)HTTP2_RESETS_BURST, (int64_t)x->h.config->streams_max);
}

/* The allocator of this session. */
nghttp2_mem http2_mem(struct http2 *x);

void http2_set_in_callbacks(nghttp2_session_callbacks *cb);
void http2_set_out_callbacks(nghttp2_session_callbacks *cb);

/*
 * Follows the frames (http2_late.c). Returns how many of n > 0 bytes to feed
 * now: up to the end of the next frame header that may need http2_late_frame().
 */
size_t http2_scan(struct http2 *x, const uint8_t *p, size_t n);

/* After feeding: deals with a frame that came too late for its stream, if there is one. */
void http2_late_frame(struct http2 *x);

/* Remembers how a stream ended. */
void http2_remember_end(struct http2 *x, int32_t id, enum http2_end how);

/* A frame that costs us and brings no work: sets x->flooded when there are too many. */
void http2_count_control(struct http2 *x);

/* We sent a piece of work: gRPC's Go implementation measures the link by a PING after each. */
void http2_earn_control(struct http2 *x);

/* Takes one token; false when there is none. */
bool http2_bucket_take(struct http2_bucket *b, int64_t now, int64_t burst, int64_t per_s);

/*
 * The announcement of a drain is written: now its PING. Not before, since
 * nghttp2 lets a PING overtake what is queued.
 */
void http2_goaway_sent(struct http2 *x);

/* The drain's PING came back: no request can be on its way any more. */
void http2_drain_acked(struct http2 *x);

/* The ops that write (http2_out.c). */
int http2_request(struct http_session *h, struct http_stream *s, struct error *err);
void http2_respond(struct http_session *h, struct http_stream *s);
void http2_wake(struct http_session *h, struct http_stream *s);
bool http2_output(struct http_session *h, struct outbuf *o);
void http2_continue(struct http2 *x, struct http_stream *s);

#endif
