/*
 * The line is parsed strictly, exactly as printed: a file is ours as a whole or not at all. Errors
 * show only a little of a foreign file, made printable.
 */
#include "node/host/saver_header.h"

#include <inttypes.h>

#include "base/text/print.h"
#include "net/loop/gzip.h"

#define MAGIC "devplane-state"

enum { CRC_DIGITS = 8, SHOWN_MAX = 32 };

int saver_header_add(struct buf *out, const char *kind, unsigned version, struct str body)
{
	return buf_printf(out, MAGIC " %s %u %08" PRIx32 " %zu\n", kind, version, gzip_crc32(body),
			  body.n);
}

struct header {
	struct str kind;
	uint64_t version, n;
	uint32_t crc;
};

static bool read_crc(struct str s, uint32_t *ret_crc)
{
	uint32_t crc = 0;
	int digit;

	if (s.n != CRC_DIGITS)
		return false;
	for (size_t i = 0; i < s.n; i++) {
		digit = str_hex_digit(s.p[i]);
		if (digit < 0 || (s.p[i] >= 'A' && s.p[i] <= 'F'))
			return false;
		crc = crc << 4 | (uint32_t)digit;
	}
	*ret_crc = crc;
	return true;
}

static bool saver_header_read_number(struct str s, uint64_t *ret_value)
{
	return s.n > 0 && (s.n == 1 || s.p[0] != '0') && str_to_u64(s, ret_value);
}

static bool read_header(struct str line, struct header *ret)
{
	struct str word[5];

	for (size_t i = 0; i < ARRAY_SIZE(word); i++) {
		if (!str_split(&line, ' ', &word[i]))
			return false;
	}
	ret->kind = word[1];
	return line.p == NULL && str_eqz(word[0], MAGIC) && word[1].n > 0 &&
	       saver_header_read_number(word[2], &ret->version) && read_crc(word[3], &ret->crc) &&
	       saver_header_read_number(word[4], &ret->n);
}

static int check_body(const struct header *h, struct str body, struct error *err)
{
	if (body.n < h->n)
		return error_set(err, ERR_CONFLICT, "it ends after %zu of %" PRIu64 " bytes",
				 body.n, h->n);
	if (body.n > h->n)
		return error_set(err, ERR_CONFLICT, "it has %zu bytes instead of %" PRIu64, body.n,
				 h->n);
	if (gzip_crc32(body) != h->crc)
		return error_set(err, ERR_CONFLICT,
				 "its checksum is %08" PRIx32 " instead of %08" PRIx32,
				 gzip_crc32(body), h->crc);
	return 0;
}

int saver_header_check(struct str content, const char *kind, unsigned version, struct str *ret_body,
		       struct error *err)
{
	CLEANUP(buf_release) struct buf shown = BUF_INIT(4 * SHOWN_MAX + 2);
	ptrdiff_t end = str_chr(content, '\n');
	struct header h;
	struct str body;
	int r;

	if (end < 0 || !read_header(str_of(content.p, (size_t)end), &h))
		return error_set(err, ERR_CONFLICT, "it does not begin as a state file does");
	if (!str_eqz(h.kind, kind)) {
		(void)print_quoted(&shown, str_of(h.kind.p, MIN(h.kind.n, SHOWN_MAX)));
		return error_set(err, ERR_CONFLICT, "it is of kind %s, not %s", shown.p, kind);
	}
	if (h.version != version)
		return error_set(err, ERR_CONFLICT, "it has version %" PRIu64 ", not %u", h.version,
				 version);
	body = str_skip(content, (size_t)end + 1);
	r = check_body(&h, body, err);
	if (r == 0)
		*ret_body = body;
	return r;
}
