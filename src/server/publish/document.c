/*
 * The hash is 128-bit FNV-1a. No secret is involved and nobody else chooses the content, so it
 * only has to differ if the content does.
 */
#include "server/publish/document.h"

#include "net/loop/gzip.h"
#include "server/server_limits.h"

static void hash_hex(struct str s, char hex[33])
{
	/* Offset basis and prime (2^88 + 0x13b) of FNV's 128-bit variant. */
	const unsigned __int128 prime = ((unsigned __int128)1 << 88) + 0x13b;
	unsigned __int128 h = ((unsigned __int128)0x6c62272e07bb0142 << 64) | 0x62b821756295c58d;

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * prime;
	(void)snprintf(hex, 33, "%016llx%016llx", (unsigned long long)(h >> 64),
		       (unsigned long long)h);
}

/* Done once for all requests, so it need not be split into steps. */
static struct bytes *zip(struct str content)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(content.n);

	if (content.n <= GZIP_FROM || gzip_deflate(content, 1, &out, NULL) < 0)
		return NULL;
	return bytes_copy(buf_str(&out));
}

void document_init(struct document *d, struct buf *content, const char *content_type)
{
	char hex[33];

	hash_hex(buf_str(content), hex);
	*d = (struct document){ .bytes = bytes_copy(buf_str(content)),
				.zipped = zip(buf_str(content)),
				.content_type = content_type };
	(void)snprintf(d->etag, sizeof(d->etag), "\"%s\"", hex);
	buf_release(content);
}

void document_release(struct document *d)
{
	bytes_unref(d->bytes);
	bytes_unref(d->zipped);
	*d = (struct document){ 0 };
}

struct str document_hash(const struct document *d)
{
	return str_of(d->etag + 1, 32);
}

bool document_tag_matches(const char *etag, struct str if_none_match)
{
	struct str piece;

	while (str_split(&if_none_match, ',', &piece)) {
		piece = str_trim(piece);
		/* A weak tag means the same content here (RFC 9110, 13.1.2). */
		if (str_starts(piece, STR("W/")))
			piece = str_skip(piece, 2);
		if (str_eqz(piece, "*") || str_eqz(piece, etag))
			return true;
	}
	return false;
}

bool document_matches(const struct document *d, struct str if_none_match)
{
	return document_tag_matches(d->etag, if_none_match);
}
