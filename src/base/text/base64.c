/*
 * Both directions work on groups: three bytes, four characters. The room is
 * reserved once, so appending a group cannot fail. Decoding finds a character's value by
 * ranges, not by a table of 256 bytes for each alphabet: it needs no cache
 * lines and has the two alphabets differ in two characters only.
 */
#include "base/text/base64.h"

struct form {
	char plus, slash; /* the characters for 62 and 63 */
	bool padded;
};

static const struct form forms[] = {
	[BASE64_STD] = { .plus = '+', .slash = '/', .padded = true },
	[BASE64_STD_RAW] = { .plus = '+', .slash = '/', .padded = false },
	[BASE64_URL] = { .plus = '-', .slash = '_', .padded = true },
	[BASE64_URL_RAW] = { .plus = '-', .slash = '_', .padded = false },
};

static char encode_char(const struct form *f, unsigned v)
{
	static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "abcdefghijklmnopqrstuvwxyz0123456789";

	v &= 63;
	return v < 62 ? alphabet[v] : v == 62 ? f->plus : f->slash;
}

/* The value of a character, or -1. */
static int decode_char(const struct form *f, char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == f->plus)
		return 62;
	return c == f->slash ? 63 : -1;
}

/* Encodes up to three bytes; returns the characters written. */
static size_t encode_group(const struct form *f, const unsigned char *in, size_t n, char *out)
{
	unsigned bits = (unsigned)in[0] << 16;

	if (n > 1)
		bits |= (unsigned)in[1] << 8;
	if (n > 2)
		bits |= in[2];
	out[0] = encode_char(f, bits >> 18);
	out[1] = encode_char(f, bits >> 12);
	out[2] = n > 1 ? encode_char(f, bits >> 6) : '=';
	out[3] = n > 2 ? encode_char(f, bits) : '=';
	return f->padded || n > 2 ? 4 : n + 1;
}

int base64_encode(struct buf *out, struct str in, enum base64_form form)
{
	const struct form *f = &forms[form];
	size_t padding = (3 - in.n % 3) % 3, n;
	char group[4];
	int r;

	r = buf_reserve(out, base64_encoded_size(in.n) - (f->padded ? 0 : padding));
	if (r < 0)
		return r;
	for (; in.n > 0; in = str_skip(in, n)) {
		n = MIN(in.n, (size_t)3);
		(void)buf_add(out, group, encode_group(f, (const unsigned char *)in.p, n, group));
	}
	return 0;
}

/*
 * Decodes n (2 to 4) characters into n - 1 bytes. Returns the index of the
 * first character that is wrong, or -1; trailing bits that are not zero make
 * the last one wrong.
 */
static int decode_group(const struct form *f, const char *in, size_t n, char *out)
{
	unsigned bits = 0;

	for (size_t i = 0; i < 4; i++) {
		int v = i < n ? decode_char(f, in[i]) : 0;

		if (v < 0)
			return (int)i;
		bits = bits << 6 | (unsigned)v;
	}
	if (bits & ((1U << 8 * (4 - n)) - 1))
		return (int)n - 1;
	out[0] = (char)(bits >> 16);
	if (n > 2)
		out[1] = (char)(bits >> 8);
	if (n > 3)
		out[2] = (char)bits;
	return -1;
}

/* Takes the padding off a text whose length is right for a padded one. */
static struct str strip_padding(struct str in)
{
	for (int i = 0; i < 2 && in.n && in.p[in.n - 1] == '='; i++)
		in.n--;
	return in;
}

int base64_decode(struct buf *out, struct str in, enum base64_form form, struct error *err)
{
	const struct form *f = &forms[form];
	struct str body = f->padded && in.n % 4 == 0 ? strip_padding(in) : in;
	char bytes[3];
	size_t before = out->n, n;
	int wrong;

	/* A single character left over stands for no whole byte. */
	if ((f->padded && in.n % 4 != 0) || body.n % 4 == 1)
		return error_set(err, ERR_BAD_REQUEST, "base64 text ends too early, at byte %zu",
				 in.n);
	if (buf_reserve(out, body.n - (body.n + 3) / 4) < 0)
		return error_set(err, ERR_TOO_LARGE, "base64 text of %zu bytes is too long", in.n);
	for (; body.n > 0; body = str_skip(body, n)) {
		n = MIN(body.n, (size_t)4);
		wrong = decode_group(f, body.p, n, bytes);
		if (wrong >= 0) {
			out->n = before;
			out->p[before] = '\0';
			return error_set(err, ERR_BAD_REQUEST, "illegal base64 data at byte %zu",
					 (size_t)(body.p - in.p) + (size_t)wrong);
		}
		(void)buf_add(out, bytes, n - 1);
	}
	return 0;
}
