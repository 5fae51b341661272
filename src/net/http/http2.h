/*
 * http2 - private to the http2 files: an HTTP/2 session on nghttp2.
 *
 * nghttp2 implements the frames, HPACK and the state machine of RFC 9113. We add streams, limits on
 * floods, and the order of callbacks. http2.c has the session, http2_in.c the callbacks for
 * reading, http2_out.c those for writing.
 */
#ifndef NET_HTTP_HTTP2_H
#define NET_HTTP_HTTP2_H

#include <nghttp2/nghttp2.h>

#include "net/http/session.h"
#include "net/net_limits.h"

/* A token bucket: a burst, refilled at a rate per second. */
struct http2_bucket {
	int64_t tokens;
	int64_t at; /* ms of the last refill */
};

/* How a stream ended, which decides what a late frame on it means (RFC 9113, 5.1). */
enum http2_end {
	HTTP2_END_NONE, /* unknown: never opened, or long ago */
	HTTP2_END_BOTH, /* both sides ended it */
	HTTP2_END_BY_PEER, /* the peer reset it */
	HTTP2_END_BY_US, /* we reset it; frames may still be in flight */
};

/*
 * The streams that ended last. nghttp2 can also remember closed streams, but needs some 250 bytes
 * for each, and keeps as many as may be open at once.
 */
struct http2_ended {
	int32_t id;
	uint8_t how;
};

enum { HTTP2_ENDED = 16 };

/* Memory from the kernel (http2_mem.c). */
struct http2_pages {
	void *p;
	size_t size;
};

struct http2 {
	struct http_session h;
	nghttp2_session *ng;
	struct http2_pages pages[2];
	struct outbuf *out; /* while gathering */
	int64_t moved_at; /* ms: when the peer last read some of a body */
	int64_t head_since; /* ms: a header block began, or the preface is awaited; or -1 */
	struct http2_bucket control; /* frames that cost us work without a request */
	struct http2_bucket resets; /* streams that the peer cancelled */
	int32_t reset_by_peer, reset_by_us; /* stream whose reset is being processed */
	struct http2_ended ended[HTTP2_ENDED]; /* ring */
	unsigned nended;
	uint8_t scan[13]; /* frame header, and payload of a WINDOW_UPDATE, as far as received */
	uint8_t nscan;
	int32_t scan_last; /* highest stream that the peer has opened, or tried to */
	bool scan_found; /* `scan` is complete and must be checked */
	uint32_t scan_skip; /* payload bytes to skip; initially the preface */
	bool preface_seen; /* the peer's first SETTINGS came */
	bool flooded;
	bool goaway_final; /* the second GOAWAY of a drain is queued */
};

static inline struct http2 *http2_of(struct http_session *h)
{
	return CONTAINER_OF(h, struct http2, h);
}

/* A peer may cancel all its open streams at once. */
static inline int64_t http2_resets_burst(const struct http2 *x)
{
	return MAX((int64_t)HTTP2_RESETS_BURST, (int64_t)x->h.config->streams_max);
}

/* The allocator of this session. */
nghttp2_mem http2_mem(struct http2 *x);

void http2_set_in_callbacks(nghttp2_session_callbacks *cb);
void http2_set_out_callbacks(nghttp2_session_callbacks *cb);

/*
 * Tracks the frames (http2_late.c). Returns how many of n > 0 bytes to feed now: up to the end of
 * the next frame header that may need http2_late_frame().
 */
size_t http2_scan(struct http2 *x, const uint8_t *p, size_t n);

/* Call it after feeding: handles a frame that came too late for its stream, if any. */
void http2_late_frame(struct http2 *x);

/* Records how a stream ended. */
void http2_remember_end(struct http2 *x, int32_t id, enum http2_end how);

/* Counts a frame that costs us work without a request. Sets x->flooded if there are too many. */
void http2_count_control(struct http2 *x);

/* We sent data, so allow another PING: gRPC for Go measures the link with one after each piece. */
void http2_earn_control(struct http2 *x);

/* Takes one token; returns false if none is left. */
bool http2_bucket_take(struct http2_bucket *b, int64_t now, int64_t burst, int64_t per_s);

/*
 * The announcement of a drain is written: sends its PING. Not earlier, because nghttp2 lets a PING
 * overtake queued frames.
 */
void http2_goaway_sent(struct http2 *x);

/* The drain's PING was acknowledged: no request can be in flight any more. */
void http2_drain_acked(struct http2 *x);

/* The ops that write (http2_out.c). */
int http2_request(struct http_session *h, struct http_stream *s, struct error *err);
void http2_respond(struct http_session *h, struct http_stream *s);
void http2_wake(struct http_session *h, struct http_stream *s);
bool http2_output(struct http_session *h, struct outbuf *o);
void http2_continue(struct http2 *x, struct http_stream *s);

#endif
