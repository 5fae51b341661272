/*
 * The header, 48 bytes: magic and checksum (4 bytes each), salt, sequence, time, bytes of the
 * entries, number of entries (8 bytes each). The checksum covers everything after itself, without
 * the padding. An entry: revision, prev, length of the value (8 bytes each), a kind (1: deleted),
 * lengths of key and of the resource's name (2 bytes each), 3 bytes of 0; then key, name and value.
 * All numbers are big-endian.
 */
#include "store/journal/record.h"

#include "base/core/mem.h"
#include "net/loop/gzip.h"

enum { MAGIC = 0x64704a31, SUM_AT = 4, SALT_AT = 8, ENTRY = 32 };

struct record_cursor {
	struct str rest;
	bool bad;
};

static void put_number(char *p, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (char)(v >> 8 * (n - 1 - i));
}

static uint64_t get_number(const char *p, size_t n)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		v = v << 8 | (unsigned char)p[i];
	return v;
}

/* --- in memory ----------------------------------------------------------------------- */

struct journal_record *journal_record_new(size_t max, size_t text)
{
	struct journal_record *r = XNEW(struct journal_record);

	list_init(&r->link);
	r->entries = xcalloc(MAX(max, (size_t)1), sizeof(*r->entries));
	r->max = max;
	r->text = text ? xmalloc(text) : NULL;
	return r;
}

void journal_record_free(struct journal_record *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		bytes_unref(r->entries[i].owner);
	free(r->entries);
	free(r->text);
	free(r);
}

int64_t journal_record_revision(const struct journal_record *r)
{
	return r->entries[r->n - 1].revision;
}

struct journal_entry *journal_record_add(struct journal_record *r, struct str key)
{
	struct journal_entry *e = &r->entries[r->n++];
	char *text = r->text + r->text_n;

	r->text_n += key.n;
	str_put(text, key);
	*e = (struct journal_entry){ .key = str_of(text, key.n) };
	return e;
}

/* --- as bytes ------------------------------------------------------------------------- */

static size_t size_of_entry(const struct journal_entry *e)
{
	return ENTRY + e->key.n + e->resource.n + e->value.n;
}

static char *put_entry(char *p, const struct journal_entry *e)
{
	put_number(p, (uint64_t)e->revision, 8);
	put_number(p + 8, (uint64_t)e->prev, 8);
	put_number(p + 16, e->value.n, 8);
	put_number(p + 24, e->deleted, 1);
	put_number(p + 25, e->key.n, 2);
	put_number(p + 27, e->resource.n, 2);
	put_number(p + 29, 0, 3);
	p = str_put(p + ENTRY, e->key);
	p = str_put(p, e->resource);
	return str_put(p, e->value);
}

int journal_record_encode(const struct journal_record *r, uint64_t salt, struct buf *out)
{
	size_t length = 0, total, start = out->n;
	char *head, *p;

	for (size_t i = 0; i < r->n; i++)
		length += size_of_entry(&r->entries[i]);
	total = ALIGN_UP(JOURNAL_RECORD_HEAD + length, JOURNAL_RECORD_BLOCK);
	if (buf_reserve(out, total) < 0)
		return -ERR_TOO_LARGE;
	head = out->p + start;
	put_number(head, MAGIC, 4);
	put_number(head + SALT_AT, salt, 8);
	put_number(head + 16, (uint64_t)r->sequence, 8);
	put_number(head + 24, (uint64_t)r->time_ms, 8);
	put_number(head + 32, length, 8);
	put_number(head + 40, r->n, 8);
	p = head + JOURNAL_RECORD_HEAD;
	for (size_t i = 0; i < r->n; i++)
		p = put_entry(p, &r->entries[i]);
	put_number(head + SUM_AT, gzip_crc32(str_of(head + SALT_AT, (size_t)(p - head) - SALT_AT)),
		   4);
	memset(p, 0, total - (size_t)(p - head));
	out->n = start + total;
	return 0;
}

bool journal_record_is_at(struct str bytes, uint64_t salt, int64_t *ret_sequence, size_t *ret_size)
{
	uint64_t length;
	uint32_t sum;

	if (bytes.n < JOURNAL_RECORD_HEAD || get_number(bytes.p, 4) != MAGIC ||
	    get_number(bytes.p + SALT_AT, 8) != salt)
		return false;
	length = get_number(bytes.p + 32, 8);
	if (length > bytes.n - JOURNAL_RECORD_HEAD)
		return false;
	sum = gzip_crc32(str_of(bytes.p + SALT_AT, JOURNAL_RECORD_HEAD - SALT_AT + length));
	if (get_number(bytes.p + SUM_AT, 4) != sum)
		return false;
	*ret_sequence = (int64_t)get_number(bytes.p + 16, 8);
	*ret_size = ALIGN_UP(JOURNAL_RECORD_HEAD + (size_t)length, JOURNAL_RECORD_BLOCK);
	return true;
}

static struct str take_piece(struct record_cursor *c, uint64_t n)
{
	struct str piece = str_of(c->rest.p, (size_t)MIN(n, (uint64_t)c->rest.n));

	c->bad |= n > c->rest.n;
	c->rest = str_skip(c->rest, piece.n);
	return piece;
}

static void parse_entry(struct record_cursor *c, struct journal_entry *e)
{
	struct str head = take_piece(c, ENTRY);

	if (c->bad)
		return;
	e->revision = (int64_t)get_number(head.p, 8);
	e->prev = (int64_t)get_number(head.p + 8, 8);
	e->deleted = head.p[24] == 1;
	e->key = take_piece(c, get_number(head.p + 25, 2));
	e->resource = take_piece(c, get_number(head.p + 27, 2));
	e->value = take_piece(c, get_number(head.p + 16, 8));
	if (get_number(head.p + 29, 3) != 0 || (unsigned char)head.p[24] > 1 ||
	    e->resource.n == 0 || e->key.n == 0 || e->key.n > JOURNAL_KEY_MAX || e->prev < 0 ||
	    e->prev >= e->revision || (e->deleted && (e->value.n || !e->prev)))
		c->bad = true;
}

struct journal_record *journal_record_parse(struct str bytes)
{
	uint64_t length = get_number(bytes.p + 32, 8), n = get_number(bytes.p + 40, 8);
	struct record_cursor c = { .rest = str_of(bytes.p + JOURNAL_RECORD_HEAD, (size_t)length) };
	struct journal_record *r;

	if (n == 0 || n > length / ENTRY)
		return NULL;
	r = journal_record_new((size_t)n, 0);
	r->sequence = (int64_t)get_number(bytes.p + 16, 8);
	r->time_ms = (int64_t)get_number(bytes.p + 24, 8);
	for (; r->n < n && !c.bad; r->n++) {
		struct journal_entry *e = &r->entries[r->n];

		parse_entry(&c, e);
		r->bytes += e->key.n + e->value.n;
		c.bad |= r->n && e->revision <= e[-1].revision;
	}
	if (!c.bad && c.rest.n == 0)
		return r;
	journal_record_free(r);
	return NULL;
}
