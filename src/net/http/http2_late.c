/*
 * Frames on streams that have ended. nghttp2 is configured to forget closed streams, since it would
 * keep some 250 bytes for each of as many as may be open at once; it then ignores late frames
 * silently. RFC 9113 requires replies to those (5.1 "closed", 5.1.1, 6.9), so we track the frame
 * headers ourselves and remember how the last few streams ended.
 */
#include "net/http/http2.h"

enum { FRAME_HEAD = 9, WINDOW_UPDATE_SIZE = 13 };

void http2_remember_end(struct http2 *x, int32_t id, enum http2_end how)
{
	x->ended[x->nended++ % HTTP2_ENDED] = (struct http2_ended){ .id = id, .how = (uint8_t)how };
}

static enum http2_end how_ended(const struct http2 *x, int32_t id)
{
	for (unsigned i = 0; i < HTTP2_ENDED; i++)
		if (x->ended[i].id == id)
			return x->ended[i].how;
	return HTTP2_END_NONE;
}

/* --- following the frames ---------------------------------------------------------- */

static int32_t scanned_id(const struct http2 *x)
{
	const uint8_t *p = x->scan;

	return (int32_t)((uint32_t)(p[5] & 0x7f) << 24 | (uint32_t)p[6] << 16 |
			 (uint32_t)p[7] << 8 | p[8]);
}

static size_t scan_size(const struct http2 *x)
{
	bool update = x->nscan >= FRAME_HEAD && x->scan[3] == NGHTTP2_WINDOW_UPDATE;

	return update ? WINDOW_UPDATE_SIZE : FRAME_HEAD;
}

/* The frame is on a stream that the peer has opened before, and of a relevant kind. */
static bool may_be_late(struct http2 *x)
{
	uint8_t type = x->scan[3];
	int32_t id = scanned_id(x);

	if (type == NGHTTP2_HEADERS && id > x->scan_last) {
		x->scan_last = id;
		return false;
	}
	return (type == NGHTTP2_DATA || type == NGHTTP2_HEADERS || type == NGHTTP2_WINDOW_UPDATE) &&
	       id % 2 == 1 && id <= x->scan_last;
}

size_t http2_scan(struct http2 *x, const uint8_t *p, size_t n)
{
	size_t at = 0, pass;

	while (at < n) {
		pass = MIN(n - at, (size_t)x->scan_skip);
		x->scan_skip -= (uint32_t)pass;
		at += pass;
		while (at < n && x->nscan < scan_size(x))
			x->scan[x->nscan++] = p[at++];
		if (x->scan_skip || x->nscan < scan_size(x))
			return n;
		x->scan_skip = (uint32_t)x->scan[0] << 16 | (uint32_t)x->scan[1] << 8 | x->scan[2];
		if (x->nscan == WINDOW_UPDATE_SIZE)
			x->scan_skip -= MIN(x->scan_skip,
					    (uint32_t)(WINDOW_UPDATE_SIZE - FRAME_HEAD));
		x->nscan = 0;
		x->scan_found = may_be_late(x);
		if (x->scan_found)
			return at;
	}
	return n;
}

/* --- late frames -------------------------------------------------------------------- */

static void reset_stream(struct http2 *x, int32_t id, uint32_t code)
{
	http2_count_control(x);
	(void)nghttp2_submit_rst_stream(x->ng, NGHTTP2_FLAG_NONE, id, code);
}

/* A WINDOW_UPDATE may come late, but one of 0 is always an error. */
static void late_window_update(struct http2 *x, int32_t id)
{
	const uint8_t *p = x->scan + FRAME_HEAD;

	if (((p[0] & 0x7f) | p[1] | p[2] | p[3]) == 0)
		reset_stream(x, id, NGHTTP2_PROTOCOL_ERROR);
}

void http2_late_frame(struct http2 *x)
{
	int32_t id = scanned_id(x);
	uint8_t type = x->scan[3];
	enum http2_end how;

	if (!x->scan_found)
		return;
	x->scan_found = false;
	how = how_ended(x, id);
	/*
	 * After our own reset or GOAWAY, frames in flight are not an error. A client that had many
	 * requests rejected at once sends bodies to streams that are forgotten by now.
	 */
	if (nghttp2_session_find_stream(x->ng, id) || how == HTTP2_END_BY_US || x->h.draining)
		return;
	if (type == NGHTTP2_WINDOW_UPDATE)
		late_window_update(x, id);
	else if (how == HTTP2_END_BY_PEER)
		reset_stream(x, id, NGHTTP2_STREAM_CLOSED);
	else if (how == HTTP2_END_NONE && type == NGHTTP2_HEADERS)
		(void)nghttp2_session_terminate_session(x->ng, NGHTTP2_PROTOCOL_ERROR);
	else if (how != HTTP2_END_NONE)
		(void)nghttp2_session_terminate_session(x->ng, NGHTTP2_STREAM_CLOSED);
}
