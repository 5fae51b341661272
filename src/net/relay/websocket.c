/*
 * Heads of frames are collected byte by byte, since a client may send them so, and checked when the
 * first two bytes are there. Payloads are skipped, except those of control frames, which are
 * unmasked into a buffer.
 *
 * We follow RFC 6455 strictly where upstream's library is lenient: reserved bits, unknown opcodes
 * and fragmented control frames end the connection. In the handshake we are as lenient: any key is
 * accepted.
 */
#include "net/relay/websocket.h"

#include "base/text/base64.h"
#include "net/http/http.h"
#include "net/net_limits.h"
#include "net/tls/pki_sign.h"

/* RFC 6455, 1.3. */
#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

enum { FIN = 0x80, RESERVED = 0x70, OPCODE = 0x0f, CONTROL = 0x08, MASK = 0x80, LENGTH = 0x7f };
enum { LENGTH_16 = 126, LENGTH_64 = 127, MASK_SIZE = 4, HEAD_MAX = 10 };

/* --- handshake -------------------------------------------------------------------- */

bool websocket_is_asked(const struct http_stream *s)
{
	return http_stream_wants_upgrade(s) &&
	       str_ieq(http_fields_get(&s->in.fields, STR("upgrade")), STR("websocket"));
}

static void print_accept(struct str key, char ret_accept[static WEBSOCKET_ACCEPT_LEN + 1])
{
	CLEANUP(buf_release) struct buf in = BUF_INIT(key.n + sizeof(GUID));
	CLEANUP(buf_release) struct buf out = BUF_INIT(WEBSOCKET_ACCEPT_LEN);
	uint8_t hash[PKI_SHA1_SIZE];

	(void)buf_add_str(&in, key);
	(void)buf_addz(&in, GUID);
	pki_sha1(buf_str(&in), hash);
	(void)base64_encode(&out, str_of(hash, sizeof(hash)), BASE64_STD);
	memcpy(ret_accept, out.p, WEBSOCKET_ACCEPT_LEN + 1);
}

static const struct websocket_protocol *websocket_find(const struct websocket_protocol *table,
						       size_t n, struct str name)
{
	for (size_t i = 0; i < n; i++)
		if (str_eqz(name, table[i].name))
			return &table[i];
	return NULL;
}

static const struct websocket_protocol *websocket_choose(const struct websocket_protocol *table,
							 size_t n, struct str asked)
{
	const struct websocket_protocol *p = NULL;
	struct str name;

	asked = str_trim(asked);
	if (!asked.n)
		return websocket_find(table, n, STR(""));
	while (!p && str_split(&asked, ',', &name))
		p = websocket_find(table, n, str_trim(name));
	return p;
}

int websocket_handshake(const struct http_fields *in, const struct websocket_protocol *table,
			size_t n, char ret_accept[static WEBSOCKET_ACCEPT_LEN + 1],
			const struct websocket_protocol **ret_protocol, struct error *err)
{
	struct str key = http_fields_get(in, STR("sec-websocket-key"));
	const struct websocket_protocol *p;

	if (!key.n)
		return error_set(err, ERR_BAD_REQUEST, "mismatch challenge/response");
	if (!str_eqz(http_fields_get(in, STR("sec-websocket-version")), WEBSOCKET_VERSION))
		return error_set(err, ERR_BAD_REQUEST, "missing or bad WebSocket Version");
	p = websocket_choose(table, n, http_fields_get(in, STR("sec-websocket-protocol")));
	if (!p)
		return error_set(err, ERR_FORBIDDEN, "%s", "");
	print_accept(key, ret_accept);
	*ret_protocol = p;
	return 0;
}

/* --- frames out ------------------------------------------------------------------- */

static size_t put_head(uint8_t to[static HEAD_MAX], enum websocket_opcode op, uint64_t n)
{
	size_t more = n < LENGTH_16 ? 0 : n <= UINT16_MAX ? 2 : 8;

	to[0] = (uint8_t)(FIN | op);
	to[1] = (uint8_t)(more == 0 ? n : more == 2 ? LENGTH_16 : LENGTH_64);
	for (size_t i = 0; i < more; i++)
		to[2 + i] = (uint8_t)(n >> 8 * (more - 1 - i));
	return 2 + more;
}

void websocket_frame(struct buf *out, enum websocket_opcode op, struct str payload)
{
	uint8_t head[HEAD_MAX];

	(void)buf_add(out, head, put_head(head, op, payload.n));
	(void)buf_add_str(out, payload);
}

void websocket_close(struct buf *out, enum websocket_code code)
{
	const uint8_t payload[] = { (uint8_t)(code >> 8), (uint8_t)code };

	websocket_frame(out, WEBSOCKET_CLOSE, str_of(payload, sizeof(payload)));
}

static void put_message(struct buf *out, const struct websocket_protocol *p, struct str piece)
{
	uint8_t head[HEAD_MAX];

	if (!p->base64) {
		websocket_frame(out, WEBSOCKET_BINARY, piece);
		return;
	}
	(void)buf_add(out, head, put_head(head, WEBSOCKET_TEXT, base64_encoded_size(piece.n)));
	(void)base64_encode(out, piece, BASE64_STD);
}

void websocket_messages(struct buf *out, const struct websocket_protocol *p, struct str piece)
{
	do {
		put_message(out, p, str_of(piece.p, MIN(piece.n, (size_t)WEBSOCKET_MESSAGE)));
		piece = str_skip(piece, WEBSOCKET_MESSAGE);
	} while (piece.n);
}

size_t websocket_messages_max(size_t n)
{
	return (n / WEBSOCKET_MESSAGE + 1) * (HEAD_MAX + base64_encoded_size(WEBSOCKET_MESSAGE));
}

/* --- frames in -------------------------------------------------------------------- */

static enum websocket_opcode opcode(const struct websocket_reader *r)
{
	return (enum websocket_opcode)(r->head[0] & OPCODE);
}

static bool is_control(const struct websocket_reader *r)
{
	return r->head[0] & CONTROL;
}

static size_t length_size(const struct websocket_reader *r)
{
	switch (r->head[1] & LENGTH) {
	case LENGTH_16:
		return 2;
	case LENGTH_64:
		return 8;
	default:
		return 0;
	}
}

static size_t head_size(const struct websocket_reader *r)
{
	return r->nhead < 2 ? 2 : 2 + length_size(r) + MASK_SIZE;
}

/* The violation of RFC 6455 in the first two bytes of a frame; NULL if valid. */
static const char *websocket_fault(const struct websocket_reader *r)
{
	enum websocket_opcode op = opcode(r);
	bool fin = r->head[0] & FIN;

	if (r->head[0] & RESERVED)
		return "a frame has reserved bits";
	if (!(r->head[1] & MASK))
		return "a client's frame is not masked";
	if ((op > WEBSOCKET_BINARY && op < WEBSOCKET_CLOSE) || op > WEBSOCKET_PONG)
		return "a frame has an unknown opcode";
	if (is_control(r) && (!fin || (r->head[1] & LENGTH) > WEBSOCKET_CONTROL_MAX))
		return "a control frame is broken up or too long";
	if (!is_control(r) && (op == WEBSOCKET_CONTINUATION) != r->in_message)
		return "a fragment is of no message";
	return NULL;
}

static uint64_t payload_length(const struct websocket_reader *r)
{
	size_t more = length_size(r);
	uint64_t n = 0;

	if (!more)
		return r->head[1] & LENGTH;
	for (size_t i = 0; i < more; i++)
		n = n << 8 | r->head[2 + i];
	return n;
}

/* RFC 6455, 5.2: a length has as few bytes as possible. */
static bool is_length_minimal(const struct websocket_reader *r)
{
	switch (length_size(r)) {
	case 0:
		return true;
	case 2:
		return r->left >= LENGTH_16;
	default:
		return r->left > UINT16_MAX;
	}
}

/* Returns 1 if a head is complete, 0 if it needs more. */
static int read_head(struct websocket_reader *r, struct str *in, struct error *err)
{
	const char *what;

	for (; in->n && r->nhead < head_size(r); *in = str_skip(*in, 1)) {
		r->head[r->nhead++] = (uint8_t)in->p[0];
		what = r->nhead == 2 ? websocket_fault(r) : NULL;
		if (what)
			return error_set(err, ERR_PROTOCOL, "%s", what);
	}
	if (r->nhead < head_size(r))
		return 0;
	r->left = payload_length(r);
	if (!is_length_minimal(r))
		return error_set(err, ERR_PROTOCOL, "a frame's length has more bytes than needed");
	if (r->left > WEBSOCKET_FRAME_MAX)
		return error_set(err, ERR_TOO_LARGE, "a frame is larger than %lu bytes",
				 WEBSOCKET_FRAME_MAX);
	r->in_payload = true;
	r->ncontrol = 0;
	if (!is_control(r))
		r->in_message = !(r->head[0] & FIN);
	return 1;
}

static void websocket_keep(struct websocket_reader *r, struct str piece)
{
	const uint8_t *mask = r->head + r->nhead - MASK_SIZE;

	for (size_t i = 0; i < piece.n; i++, r->ncontrol++)
		r->control[r->ncontrol] = (uint8_t)piece.p[i] ^ mask[r->ncontrol % MASK_SIZE];
}

/* Returns 1 if the frame is complete, 0 if it needs more. */
static int read_payload(struct websocket_reader *r, struct str *in)
{
	struct str piece = str_of(in->p, (size_t)MIN((uint64_t)in->n, r->left));

	if (is_control(r))
		websocket_keep(r, piece);
	*in = str_skip(*in, piece.n);
	r->left -= piece.n;
	if (r->left)
		return 0;
	r->in_payload = false;
	r->nhead = 0;
	return 1;
}

int websocket_read(struct websocket_reader *r, struct str *in, struct str *ret_payload,
		   struct error *err)
{
	enum websocket_opcode op;
	int ret;

	for (;;) {
		ret = r->in_payload ? 1 : read_head(r, in, err);
		if (ret <= 0)
			return ret;
		if (!read_payload(r, in))
			return 0;
		op = opcode(r);
		if (op == WEBSOCKET_CLOSE && r->ncontrol == 1)
			return error_set(err, ERR_PROTOCOL, "a close has half a code");
		if (op != WEBSOCKET_PING && op != WEBSOCKET_CLOSE)
			continue;
		*ret_payload = str_of(r->control, r->ncontrol);
		return (int)op;
	}
}
