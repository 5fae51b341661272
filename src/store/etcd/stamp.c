/*
 * A character's index in `digits` is its two bits.
 */
#include "store/etcd/stamp.h"

static const char digits[4] = { ' ', '\t', '\n', '\r' };

void etcd_stamp_print(uint64_t stamp, char *out)
{
	for (size_t i = 0; i < ETCD_STAMP_SIZE; i++)
		out[i] = digits[stamp >> (2 * i) & 3];
}

/* Returns -1 if not a digit. */
static int digit_of(char c)
{
	for (int i = 0; i < 4; i++)
		if (digits[i] == c)
			return i;
	return -1;
}

uint64_t etcd_stamp_split(struct str stored, struct str *ret_value)
{
	size_t n = stored.n < ETCD_STAMP_SIZE ? 0 : stored.n - ETCD_STAMP_SIZE;
	uint64_t stamp = 0;

	*ret_value = stored;
	if (stored.n < ETCD_STAMP_SIZE)
		return 0;
	for (size_t i = 0; i < ETCD_STAMP_SIZE; i++) {
		int digit = digit_of(stored.p[n + i]);

		if (digit < 0)
			return 0;
		stamp |= (uint64_t)digit << (2 * i);
	}
	ret_value->n = n;
	return stamp;
}
