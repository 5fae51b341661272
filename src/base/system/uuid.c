/*
 * The text form is sixteen bytes in hexadecimal with four hyphens between; both
 * directions ask the same question, whether a hyphen precedes byte i.
 */
#include "base/system/uuid.h"

#include "base/core/random.h"

static bool hyphen_before(size_t i)
{
	return i == 4 || i == 6 || i == 8 || i == 10;
}

static void set_version(struct uuid *u)
{
	u->bytes[6] = (uint8_t)((u->bytes[6] & 0x0f) | 0x40);
	u->bytes[8] = (uint8_t)((u->bytes[8] & 0x3f) | 0x80);
}

void uuid_make(struct uuid *ret_uuid)
{
	random_bytes(ret_uuid->bytes, sizeof(ret_uuid->bytes));
	set_version(ret_uuid);
}

void uuid_make_seeded(struct uuid *ret_uuid, struct prng *g)
{
	prng_bytes(g, ret_uuid->bytes, sizeof(ret_uuid->bytes));
	set_version(ret_uuid);
}

struct str uuid_print(const struct uuid *u, char out[static UUID_TEXT_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	size_t at = 0;

	for (size_t i = 0; i < sizeof(u->bytes); i++) {
		if (hyphen_before(i))
			out[at++] = '-';
		out[at++] = hex[u->bytes[i] >> 4];
		out[at++] = hex[u->bytes[i] & 15];
	}
	out[at] = '\0';
	return str_of(out, at);
}
