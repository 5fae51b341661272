/*
 * Frames from WebSocket clients. The same bytes, whole or cut at random places, give the same pings
 * and closes, and end in the same way. Replies to pings fit into a relay's buffer. As a list of
 * protocols, the bytes name the one that is chosen. Byte 0 is the seed of the cuts.
 */
#include <stdint.h>

#include "base/core/map.h"
#include "base/core/random.h"
#include "net/http/http.h"
#include "net/relay/websocket.h"
#include "target.h"

struct outcome {
	uint64_t hash; /* of all payloads in order */
	size_t pings;
	int result; /* 0, WEBSOCKET_CLOSE or the failure */
};

/* Feeds one piece; false when that was the last. */
static bool feed(struct websocket_reader *r, struct str piece, struct outcome *o)
{
	struct buf pongs = BUF_INIT(piece.n + WEBSOCKET_CONTROL_FRAME_MAX);
	struct str payload;

	while ((o->result = websocket_read(r, &piece, &payload, NULL)) > 0) {
		require(payload.n <= WEBSOCKET_CONTROL_MAX);
		o->hash = hash_bytes(payload, o->hash);
		if (o->result == WEBSOCKET_CLOSE)
			break;
		o->pings++;
		websocket_frame(&pongs, WEBSOCKET_PONG, payload);
	}
	require(!pongs.overflow);
	require(o->result != 0 || piece.n == 0);
	buf_release(&pongs);
	return o->result == 0;
}

static struct outcome hear(struct str in, struct prng *cuts)
{
	struct websocket_reader r = { 0 };
	struct outcome o = { 0 };
	size_t n;

	for (; in.n; in = str_skip(in, n)) {
		n = cuts ? 1 + (size_t)prng_below(cuts, MIN(in.n, (size_t)64)) : in.n;
		if (!feed(&r, str_of(in.p, n), &o))
			break;
	}
	return o;
}

static void choose(struct str asked)
{
	static const struct websocket_protocol table[] = { { "", false },
							   { "binary.k8s.io", false },
							   { "base64.binary.k8s.io", true } };
	struct http_field v[] = { HTTP_FIELD("sec-websocket-key", asked.n ? asked : STR("k")),
				  HTTP_FIELD("sec-websocket-version", STR("13")),
				  HTTP_FIELD("sec-websocket-protocol", asked) };
	struct http_fields f = { .v = v, .n = 3 };
	char accept[WEBSOCKET_ACCEPT_LEN + 1];
	const struct websocket_protocol *p = NULL;
	int r = websocket_handshake(&f, table, 3, accept, &p, NULL);

	require(r == 0 || (r == -ERR_FORBIDDEN && !p));
	if (r < 0)
		return;
	require(strlen(accept) == WEBSOCKET_ACCEPT_LEN && accept[WEBSOCKET_ACCEPT_LEN - 1] == '=');
	require(p >= table && p < table + 3 && str_find(asked, str_from(p->name)) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, cut;
	struct prng g;
	struct str in;

	if (size == 0)
		return 0;
	in = str_of(data + 1, size - 1);
	prng_init(&g, data[0]);
	whole = hear(in, NULL);
	cut = hear(in, &g);
	require(whole.hash == cut.hash && whole.pings == cut.pings && whole.result == cut.result);
	choose(in);
	return 0;
}
